"""Where a provider is looked through: the options that `gc` and `doctor` share."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from diskbench.cli.rent import CaFile, EndpointUrl, Insecure, ProfileName, Project, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from diskbench.model.rental import Scope


@dataclass(frozen=True)
class Where:
    """The options as typed; each field is one of them."""

    profile_name: ProfileName = None
    subscription: Subscription = None
    project: Project = None
    endpoint_url: EndpointUrl = None
    ca_file: CaFile = None
    insecure: Insecure = False

    @property
    def accounts(self) -> Mapping[str, str | None]:
        """What is paid by, by the option that names it."""
        names = ("profile_name", "subscription", "project")
        return {name: getattr(self, name) for name in names}

    def scope(self, provider: str, *, account: str | None, region: str | None) -> Scope:
        """That place of a provider."""
        from diskbench.model.rental import Scope
        from diskbench.plan.rent_options import check_endpoint

        check_endpoint(self.endpoint_url, "--endpoint-url")
        return Scope(
            provider=provider,
            account=account,
            region=region,
            endpoint=self.endpoint_url,
            ca_file=self.ca_file,
            insecure=self.insecure,
        )


def scoped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of Where in place of its argument `where`."""
    known = inspect.signature(command, eval_str=True)
    shared = inspect.signature(Where, eval_str=True).parameters.values()
    own = [one for one in known.parameters.values() if one.name != "where"]
    every = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own, *shared)]

    @functools.wraps(command)
    def typed(**options: Any) -> None:  # noqa: ANN401 - each has the type of its option
        where = Where(**{field.name: options.pop(field.name) for field in fields(Where)})
        command(**options, where=where)

    # What Typer reads: the signature, and the types that it names.
    typed.__signature__ = known.replace(parameters=every)  # type: ignore[attr-defined]
    typed.__annotations__ = {one.name: one.annotation for one in every}
    return typed

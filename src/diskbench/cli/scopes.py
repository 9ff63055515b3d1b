"""Where a provider is looked through: the options that `gc` and `doctor` share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from diskbench.cli.run_command import options_of, own_parameter, taking
from diskbench.cli.terminal import option
from diskbench.errors import InvalidValue
from diskbench.model.options import Option, all_options, owners
from diskbench.model.rental import Scope
from diskbench.plan.rent_options import check_endpoint
from diskbench.plugin import Plugin
from diskbench.plugins import plugins


@dataclass(frozen=True)
class Where:
    """The options as typed: `own` are those that providers have of their own, by name."""

    endpoint_url: str | None = None
    own: Mapping[str, Any] = field(default_factory=dict)

    def account(self, provider: str) -> str | None:
        """What pays for a provider, as typed."""
        name = next((known.account_option for known in plugins() if known.name == provider), None)
        typed: str | None = self.own.get(name) if name else None
        return typed

    def check_asked(self, providers: frozenset[str], to_add: str) -> None:
        """Raise InvalidValue for an option whose providers are all not asked. `to_add` says what
        to do, with NAME for the provider."""

        for name, value in self.own.items():
            known = [owner.name for owner in owners(name)]
            if value not in (None, False) and not providers & set(known):
                raise InvalidValue(
                    f"--{name.replace('_', '-')} {value} is an option of {' and '.join(known)}, "
                    "which this command does not ask",
                    advice=to_add.replace("NAME", known[0]),
                    field=name,
                )

    def scope(self, provider: str, *, region: str | None) -> Scope:
        """That place of a provider."""
        check_endpoint(self.endpoint_url, "--endpoint-url")
        return Scope(
            provider=provider,
            account=self.account(provider),
            region=region,
            endpoint=self.endpoint_url,
            ca_file=self.own.get("ca_file"),
            insecure=bool(self.own.get("insecure")),
        )


def scoped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of Where in place of its argument `where`."""
    own = [parameter for parameter in options_of(command) if parameter.name != "where"]
    scoping = list(_scoping())

    def typed(**options: Any) -> None:  # noqa: ANN401 - each has the type of its option
        scope = {parameter.name: options.pop(parameter.name) for parameter in scoping}
        where = Where(options.pop("endpoint_url"), scope)
        command(**options, where=where)

    typed.__name__, typed.__doc__ = command.__name__, command.__doc__
    return taking(typed, [*own, *options_of(_endpoint), *scoping])


def _endpoint(
    endpoint_url: Annotated[
        str | None, option("URL", "Another API endpoint, for example an emulator.")
    ] = None,
) -> None:
    """The option that all providers share."""


def _scoping() -> Iterator[inspect.Parameter]:
    """The options of all providers that determine where leases are listed, and who pays for
    them."""
    by_name: dict[str, list[tuple[Plugin, Option]]] = {}
    for plugin, own in all_options():
        if own.scopes:
            by_name.setdefault(own.name, []).append((plugin, own))
    for several in by_name.values():
        first = several[0][1]
        titles = ", ".join(dict.fromkeys(plugin.title for plugin, _ in several))
        yield own_parameter(first, f"{titles}: {first.about}", in_panel=False)

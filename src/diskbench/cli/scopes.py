"""Where a provider is looked through: the options that `gc` and `doctor` share."""

import inspect
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any

from diskbench.cli.lazy import gathering, options_of
from diskbench.cli.run_command import parameter_of
from diskbench.cli.terminal import option
from diskbench.errors import InvalidValue
from diskbench.model.options import Option, all_options, owners
from diskbench.model.rental import Scope
from diskbench.plan.rent_options import check_endpoint
from diskbench.plugin import Plugin, plugins

Where = Mapping[str, Any]
"""The endpoint, and the options that providers have of their own, by name, as typed."""


def check_asked(where: Where, providers: Collection[str], to_add: str) -> None:
    """Raise InvalidValue for an option whose providers are all not asked. `to_add` says what to do,
    with NAME for the provider."""
    for name, value in where.items():
        known = [owner.name for owner in owners(name)]
        if known and value not in (None, False) and not set(providers) & set(known):
            raise InvalidValue(
                f"--{name.replace('_', '-')} {value} is an option of {' and '.join(known)}, "
                "which this command does not ask",
                advice=to_add.replace("NAME", known[0]),
                field=name,
            )


def scope_of(where: Where, provider: str, *, region: str | None) -> Scope:
    """That place of a provider."""
    check_endpoint(where["endpoint_url"], "--endpoint-url")
    payer = next((known.account_option for known in plugins() if known.name == provider), None)
    return Scope(
        provider=provider,
        account=where.get(payer or ""),
        region=region,
        endpoint=where["endpoint_url"],
        ca_file=where.get("ca_file"),
        insecure=bool(where.get("insecure")),
    )


def _endpoint(
    endpoint_url: Annotated[
        str | None, option("URL", "Another API endpoint, for example an emulator.")
    ] = None,
) -> None:
    """The option that all providers share."""


def _scoping() -> Iterator[inspect.Parameter]:
    """The options of all providers that determine where leases are listed, and who pays for
    them."""
    yield from options_of(_endpoint)
    by_name: dict[str, list[tuple[Plugin, Option]]] = {}
    for plugin, own in all_options():
        if own.scopes:
            by_name.setdefault(own.name, []).append((plugin, own))
    for several in by_name.values():
        first = several[0][1]
        titles = ", ".join(dict.fromkeys(plugin.title for plugin, _ in several))
        yield parameter_of(first, f"{titles}: {first.about}", in_panel=False)


scoped = gathering("where", list(_scoping()))
"""Decorates a command: it has these options in place of its argument `where`."""

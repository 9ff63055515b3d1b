"""What the shell offers when Tab is pressed: `autocompletion` of the options that take names.

Here are names that need no database; those that do are in cli/selecting.py. A Tab never prints an
error. Catalogue and profiles are imported inside functions: every command imports this module.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from typer import Context

from diskbench.plugin import plugin_names

Offer = tuple[str, str]
"""A value, and a few words on it."""


def offering(
    values: Callable[[Context, str], Iterable[Offer]],
) -> Callable[[Context, str], Sequence[Offer]]:
    """`values` as Typer's callback: those that begin as what was typed."""

    def offer(ctx: Context, incomplete: str) -> Sequence[Offer]:
        try:
            return [each for each in values(ctx, incomplete) if each[0].startswith(incomplete)]
        except Exception:  # noqa: BLE001 - whatever is wrong, the command itself reports it
            return []

    return offer


def named(names: Iterable[str], words: str = "") -> list[Offer]:
    """Each name once, with the same few words."""
    return [(name, words) for name in dict.fromkeys(names)]


@offering
def providers(_ctx: Context, _incomplete: str) -> Iterable[Offer]:
    """The installed providers."""
    return named(plugin_names())


@offering
def providers_with_catalogue(_ctx: Context, _incomplete: str) -> Iterable[Offer]:
    """The providers that bring a catalogue."""
    from diskbench.catalog.shipped import catalogues

    return named(catalogues())


@offering
def profiles(_ctx: Context, _incomplete: str) -> Iterable[Offer]:
    """The shipped profiles, and job files of the working directory."""
    from diskbench.fio.profiles import shipped_names

    return named([*shipped_names(), *sorted(path.name for path in Path().glob("*.fio*"))])


@offering
def matrices(_ctx: Context, _incomplete: str) -> Iterable[Offer]:
    """The shipped matrices, and YAML files of the working directory."""
    from diskbench.fio.profiles import shipped_directory

    shipped = sorted(path.stem for path in shipped_directory("matrices").glob("*.yaml"))
    return named([*shipped, *sorted(path.name for path in Path().glob("*.yaml"))])


@offering
def disks(ctx: Context, _incomplete: str) -> Iterable[Offer]:
    """The disk types of the provider that is typed; of every cloud where it has none of its own."""
    from diskbench.catalog.lookup import disk_types
    from diskbench.catalog.shipped import clouds

    asked = ctx.params.get("provider")
    of = (asked,) if asked in clouds() else clouds()
    return [(name, cloud) for cloud in of for name in disk_types(cloud)]


@offering
def regions(ctx: Context, _incomplete: str) -> Iterable[Offer]:
    """The regions of the provider that is typed, or of every cloud."""
    from diskbench.catalog.books import regions as regions_of

    asked = ctx.params.get("provider")
    of = (asked,) if asked else plugin_names()
    return [(name, cloud) for cloud in of for name in regions_of(cloud)]

"""A command that takes the options of `diskbench run` for the provider that is typed with it.

Every command line is read with the options of its provider alone. Help shows the most used common
options; `--provider NAME --help` shows all that this provider takes.
"""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer._click import Context
from typer._click.exceptions import NoSuchOption

from diskbench.cli.lazy import PanelledCommand, TypedCommand
from diskbench.cli.run_options import COMPLETIONS, MORE_HELP, beside_cells
from diskbench.errors import InvalidValue
from diskbench.model.matrix import WHAT, CellFields
from diskbench.model.options import (
    Option,
    RentSpec,
    all_options,
    options_of_model,
    own_options,
    rent_options,
)
from diskbench.model.spec import Cell
from diskbench.plan.cells import cells
from diskbench.plan.rent_options import RENT_OPTIONS, foreign_option, key_values, rent_spec
from diskbench.plugin import Plugin
from diskbench.plugins import plugin, plugin_names
from diskbench.settings import load_settings

_RARE = frozenset({
    "max_replicates", "deadline", "timing", "junit", "promise", "if_busy", "allow", "assume_price",
    "ask_metadata",
})  # fmt: skip
"""Common options that plain help leaves out."""
_THERE = frozenset({"host", "path", "device", "destroy_data", "allow", "ask_metadata"})
"""Common options that name an existing machine or disk: a provider that rents has no use for
them."""
_OF_RENTERS = frozenset({"disk", "region", "max_cost", "assume_price", "replicates", "until_ci"})
"""Common options that only a provider which rents takes."""
_WITH_UNTIL = ("max_replicates", "deadline")


def typed_for(flag: str, arguments: Sequence[str]) -> str | None:
    """What was typed last for an option, as `--flag VALUE` or `--flag=VALUE`; None for nothing."""
    value, words = None, takewhile(lambda word: word != "--", arguments)
    for word, after in zip(words, (*arguments[1:], None), strict=False):
        if word == flag and after is not None:
            value = after
        elif word.startswith(f"{flag}="):
            value = word.partition("=")[2]
    return value


def with_run_options(
    command: Callable[..., None], arguments: Sequence[str], *, more: Callable[..., None]
) -> TypedCommand:
    """`command`, which takes all options by their names, with the options that `run` has for the
    provider named in `arguments`, and those of `more`. Raises UnknownName for an unknown
    provider."""
    name, names = typed_for("--provider", arguments), plugin_names()
    chosen = None if name is None else plugin(name)
    function = taking(command, [*_parameters(chosen), *options_of(more)])
    how_to_see_all = (
        "These are the options used most. All that a provider takes: diskbench run --provider NAME "
        f"--help, where NAME is {', '.join(names[:-1])} or {names[-1]}."
    )
    return TypedCommand(function, RunCommand, how_to_see_all if chosen is None else None)


def options_of(function: Callable[..., None]) -> Iterator[inspect.Parameter]:
    """The options that a function declares by its parameters."""
    types = typing.get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        yield parameter.replace(
            annotation=types[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY
        )


def taking(
    command: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """`command`, which takes all options by their names, as a function with these `parameters`."""
    typed: Any = partial(command)
    typed.__name__, typed.__doc__ = command.__name__, command.__doc__
    typed.__signature__ = inspect.Signature(parameters)  # what Typer reads
    typed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return cast("Callable[..., None]", typed)


def common_options(*names: str) -> Iterator[inspect.Parameter]:
    """Some of the options that `run` always takes, for another command that measures."""
    return (parameter for parameter in _of_all() if parameter.name in names)


class RunCommand(PanelledCommand):
    """A command with the options of `run`: an option of another provider is refused by name."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read `args`. Raises InvalidValue for an option that other providers have."""
        before = list(args)
        try:
            return super().parse_args(ctx, args)
        except NoSuchOption as error:
            _refuse_foreign(error.option_name, before)
            raise


def _refuse_foreign(flag: str, arguments: Sequence[str]) -> None:
    known = [(plugin.name, option) for plugin, option in all_options() if option.flag == flag]
    if known:
        here = "ssh" if "--host" in arguments else "local"
        provider = typed_for("--provider", arguments) or here
        value = None if known[0][1].kind is bool else typed_for(flag, arguments)
        typed = flag if value is None else f"{flag} {value}"
        owners = [name for name, _ in known]
        raise foreign_option(typed, provider, owners, flag[2:].replace("-", "_"))


def _parameters(plugin: Plugin | None) -> Iterator[inspect.Parameter]:
    """The options for a provider; without one those that every provider takes."""
    own = [] if plugin is None else list(map(own_parameter, own_options(plugin.name)))
    of_all = [_shown(parameter, plugin) for parameter in _of_all()]
    of_renting = [_shown(own_parameter(option), plugin) for option in rent_options()]
    what, renting = (
        [of for of in of_all if typing.get_args(of.annotation)[1].rich_help_panel == panel]
        for panel in (WHAT, RentSpec.panel)
    )
    first = [*what, *of_renting, *renting]
    last = [parameter for parameter in of_all if parameter not in first]
    replaced = {parameter.name for parameter in own}
    yield from (parameter for parameter in first if parameter.name not in replaced)
    yield from (*own, *last)


def _of_all() -> Iterator[inspect.Parameter]:
    """The options that `run` takes for every provider, but for those that say what to rent."""
    for option in options_of_model(CellFields):
        more = MORE_HELP.get(option.field)
        about = option.about if more is None else option.about.removesuffix(".") + more
        yield own_parameter(option, about, name=option.field)
    yield from options_of(beside_cells)


def _shown(parameter: inspect.Parameter, plugin: Plugin | None) -> inspect.Parameter:
    """The option, hidden from help where it means nothing, in the provider's own units."""
    kind, declared = typing.get_args(parameter.annotation)
    option = copy(declared)
    common = option.rich_help_panel != RentSpec.panel or parameter.name in _OF_RENTERS
    if plugin is None:
        option.hidden = parameter.name in _RARE or not common
    else:
        option.hidden = not _means(parameter.name, plugin, common=common)
        unit = "MiB/s" if plugin.throughput_unit_bytes == 2**20 else "MB/s (10^6 bytes)"
        if parameter.name == "size" and plugin.rents:
            option.help = "Size of the disk to rent, in whole GiB (2^30)."
        option.help = (option.help or "").format(unit=unit)
    return parameter.replace(annotation=Annotated[kind, option])


def _means(name: str, plugin: Plugin, *, common: bool) -> bool:
    if name in plugin.refuses:
        return False
    if name == "promise":
        return plugin.promise_by_owner
    elsewhere = _OF_RENTERS.union(_WITH_UNTIL)
    return name not in _THERE if plugin.rents else common and name not in elsewhere


def own_parameter(
    own: Option, about: str | None = None, *, name: str | None = None, in_panel: bool = True
) -> inspect.Parameter:
    """An option as Typer reads it; None or False if it is not typed, unless it has a usual value.
    `about` is its help and `name` its parameter, where they are not the option's own."""

    def values(incomplete: str) -> list[str]:
        return [value for value in own.values if value.startswith(incomplete)]

    option = typer.Option(
        own.flag,
        help=about or own.about,
        metavar=None if own.kind is bool else own.metavar or "N",
        rich_help_panel=own.panel if in_panel else None,
        autocompletion=values if own.values else COMPLETIONS.get(own.field),
    )
    usual = False if own.kind is bool else own.usual
    kind: Any = list[str] if own.repeats else own.kind
    return inspect.Parameter(
        name or own.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=usual,
        annotation=Annotated[kind | None if usual is None else kind, option],
    )


def asked_for(typed: Mapping[str, Any], *, writes: bool = False) -> tuple[Cell, ...]:
    """The cells that the options of a command line say, by their names. Without a target they are
    of the working directory, unless the command `writes` there. Raises UserError."""
    for name in _WITH_UNTIL:
        if typed.get("until_ci") is None and typed.get(name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise InvalidValue(
                f"{flag} {typed[name]} has no effect without --until-ci", advice="add --until-ci 5%"
            )
    provider, path = provider_of(typed), typed.get("path")
    may_rent = (*RENT_OPTIONS, "size", *(option.name for option in own_options(provider)))
    options = {name: typed[name] for name in may_rent if name in typed}
    if plugin(provider).takes_tags:
        # Those that were typed, and those of the settings with other keys.
        tags = typed.get("tag") or ()
        keys, own = {key for key, _ in key_values("--tag", tags)}, load_settings().settings.tags
        options["tag"] = [*(f"{k}={text}" for k, text in own if k not in keys), *tags] or None
    rent = rent_spec(provider, options)
    usd = typed.get("max_cost"), typed.get("assume_price")
    check_cost_limit(provider, *usd, rents=rent is not None)
    if not (rent or typed.get("host") or (path is None and (writes or typed.get("device")))):
        path = str(Path(path or ".").absolute())
    return cells({**typed, "provider": provider, "path": path}, rent)


def check_cost_limit(
    provider: str, max_cost: float | None, assume_price: float | None, *, rents: bool
) -> None:
    """Raise InvalidValue for an amount that is not a valid sum, and for a limit where nothing is
    rented and so nothing is paid."""
    for name, value in (("--max-cost", max_cost), ("--assume-price", assume_price)):
        if value is None:
            continue
        if not 0 <= value < math.inf:
            raise InvalidValue(
                f"{name} {value:g} is not a price", advice="give US dollars, 0 or more"
            )
        if not rents:
            raise InvalidValue(
                f"{name} {value:g} cannot be used with --provider {provider}, which rents nothing",
                advice="leave it out: measuring an existing machine costs nothing",
                field="provider",
            )
    if assume_price is not None and max_cost is None:
        raise InvalidValue(
            f"--assume-price {assume_price:g} has no effect without --max-cost",
            advice="add --max-cost USD",
        )


def provider_of(typed: Mapping[str, Any]) -> str:
    """The provider that was typed, or that follows from --host."""
    return typed.get("provider") or ("ssh" if typed["host"] else "local")

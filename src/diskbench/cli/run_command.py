"""The request of `run`, and a command that takes its options (`run`, `plan`).

Options that say what is measured and rented are fields of models (model/matrix.py,
model/options.py); those that no cell has are the fields of Request. Every command line is read with
the options of its provider alone. Help shows the most used common options; `--provider NAME --help`
shows all that this provider takes.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ConfigDict
from typer._click import Command, Context
from typer._click.exceptions import NoSuchOption

from diskbench.cli import completion
from diskbench.cli.lazy import PanelledCommand, command_of, options_of, taking
from diskbench.cli.selecting import labels
from diskbench.cli.stores import DATABASE, EVIDENCE
from diskbench.cli.terminal import Output
from diskbench.errors import InvalidValue
from diskbench.model.base import Frozen
from diskbench.model.matrix import HOW, WHAT, CellFields
from diskbench.model.options import (
    Option,
    RentSpec,
    all_options,
    option,
    options_of_model,
    own_options,
    rent_options,
)
from diskbench.model.spec import Cell
from diskbench.plan.cells import cells
from diskbench.plan.rent_options import check_cost_limit, foreign_option, key_values, rent_spec
from diskbench.plugin import Plugin, plugin, plugin_names
from diskbench.settings import load_settings

COMPLETIONS = {
    "provider": completion.providers,
    "disk": completion.disks,
    "region": completion.regions,
    "profile": completion.profiles,
    "labels": labels,
}
"""The options whose values the shell is offered."""
_how, _show, _rent = (
    partial(option, panel=panel) for panel in (HOW, "What is printed and kept", RentSpec.panel)
)
_until = partial(_how, None, rare=True, only="rented", needs="--until-ci 5%")


class Request(Frozen):
    """The command line of `run`: what no cell has by its fields, and beside them, as typed, the
    options of a cell, of what is rented and of the provider."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=True)

    ask_metadata: bool = option(
        default=False,
        about="Ask the cloud's metadata service for the machine's type, so that its limits count "
        "beside --promise; no credentials are read.",
        panel=WHAT,
        rare=True,
        only="there",
    )
    max_cost: float | None = _rent(
        None,
        "Refuse to rent if the total may cost more US dollars than this.",
        metavar="USD",
        rare=False,
    )
    assume_price: float | None = _rent(
        None,
        "US dollars an hour to assume if no price is known (with --max-cost).",
        metavar="USD_PER_HOUR",
    )
    until_ci: str | None = _how(
        None,
        "Add replicates (10 or more) until the median's confidence interval is within "
        "this share of it in every step: 5%.",
        metavar="SHARE",
        only="rented",
    )
    max_replicates: int | None = _until("With --until-ci: the most replicates (30).", metavar="N")
    deadline: str | None = _until(
        "With --until-ci: start no replicate that would end later than this (6h, 90m).",
        metavar="TIME",
    )
    allow: tuple[str, ...] | None = _how(
        None,
        "Let a job file use this option on your own machine, such as exec_prerun.",
        metavar="OPTION",
        rare=True,
        only="there",
    )
    install_fio: bool = _how(default=False, about="Install fio on the target when it has none.")
    output: Output = _show("table", "What to print on stdout.", usual="table")
    verbose: bool = _show(
        default=False, about="The whole plan and result, with all warnings.", letter="-v"
    )
    junit: Path | None = _show(
        None, "Write the steps as a JUnit report, for CI.", metavar="FILE", rare=True, judges=True
    )
    quiet: bool = _show(default=False, about="Print no plan and no progress.", letter="-q")
    detach: bool = _show(default=False, about="Run in the background; print the run's id.")
    timing: bool = _show(
        default=False, about="Print at the end how long each part took.", rare=True
    )
    database_url: str | None = option(None, DATABASE, metavar="URL")
    evidence_url: str | None = option(None, EVIDENCE, metavar="URL")
    dry_run: bool = _show(
        default=False,
        about="Measure nothing; print the plan, like `diskbench plan`.",
        command="run",
    )
    offline: bool = _how(
        default=False, about="Ask no cloud: plan from the catalogue only.", command="plan"
    )

    @property
    def typed(self) -> dict[str, Any]:
        """Every option by its name; None and False where nothing was typed."""
        return dict(self)

    @property
    def provider_name(self) -> str:
        """The provider that was typed, or that follows from --host."""
        typed = self.typed
        return typed.get("provider") or ("ssh" if typed["host"] else "local")


def common() -> tuple[Option, ...]:
    """The options that `run` takes for every provider, but for those that say what to rent."""
    return (*options_of_model(CellFields), *options_of_model(Request))


def check_judges(typed: Mapping[str, Any], why: str, advice: str) -> None:
    """Raise InvalidValue, with the flag before `why` and in `advice`, for a typed option that
    judges figures, where they are not there in the end."""
    for judging in common():
        if judging.judges and typed.get(judging.name):
            raise InvalidValue(f"{judging.flag} {why}", advice=advice.format(flag=judging.flag))


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
    command: Callable[..., None],
    arguments: Sequence[str],
    more: Callable[..., None] | None = None,
) -> Command:
    """`command`, which takes all options by their names, with the options that `run` has for the
    provider named in `arguments`, and those of `more`. Raises UnknownName for an unknown
    provider."""
    name, names = typed_for("--provider", arguments), plugin_names()
    chosen = None if name is None else plugin(name)
    how_to_see_all = (
        "These are the most common options. For all options of a provider: diskbench run "
        "--provider NAME "
        f"--help, where NAME is {', '.join(names[:-1])} or {names[-1]}."
    )
    shown = how_to_see_all if chosen is None else None
    return command_of(_with_options(command, chosen, more), RunCommand, shown)


@lru_cache  # so that `command_of` meets it again
def _with_options(
    command: Callable[..., None], chosen: Plugin | None, more: Callable[..., None] | None
) -> Callable[..., None]:
    own = [*_parameters(chosen, command.__name__), *(options_of(more) if more else ())]
    return taking(command, own)


def common_options(*names: str) -> Iterator[inspect.Parameter]:
    """Some of the options that `run` always takes, for another command that measures."""
    return (parameter_of(option, option.help) for option in common() if option.name in names)


class RunCommand(PanelledCommand):
    """A command with the options of `run`: an option of another provider is refused by name."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read `args`. Raises InvalidValue for an option that other providers have."""
        before = list(args)
        try:
            return super().parse_args(ctx, args)
        except NoSuchOption as error:
            flag = error.option_name
            known = [(plugin.name, own) for plugin, own in all_options() if own.flag == flag]
            if not known:
                raise
            here = "ssh" if "--host" in before else "local"
            value = None if known[0][1].kind is bool else typed_for(flag, before)
            raise foreign_option(
                flag if value is None else f"{flag} {value}",
                typed_for("--provider", before) or here,
                [name for name, _ in known],
                flag[2:].replace("-", "_"),
            ) from error


def _parameters(plugin: Plugin | None, command: str) -> Iterator[inspect.Parameter]:
    """The options for a provider; without one those that every provider takes. Those that none owns
    are hidden from help where they mean nothing, and in the provider's own units."""
    own = () if plugin is None else own_options(plugin.name)
    replaced = {option.name for option in own}
    of_all = [option for option in common() if option.command in ("", command)]
    what, renting = (
        [option for option in of_all if option.panel == panel] for panel in (WHAT, RentSpec.panel)
    )
    first = [*what, *rent_options(), *renting]
    for one in (one for one in first if one.name not in replaced):
        yield _shown(one, plugin)
    yield from map(parameter_of, own)
    yield from (_shown(option, plugin) for option in of_all if option not in first)


def _shown(option: Option, plugin: Plugin | None) -> inspect.Parameter:
    if plugin is None:
        is_rare = option.panel == RentSpec.panel if option.rare is None else option.rare
        return parameter_of(option, option.help, hidden=is_rare)
    about = option.help
    if option.name == "size" and plugin.rents:
        about = "Size of the disk to rent, in whole GiB (2^30)."
    unit = "MiB/s" if plugin.throughput_unit_bytes == 2**20 else "MB/s (10^6 bytes)"
    return parameter_of(option, about.format(unit=unit), hidden=not _means(option, plugin))


def _means(option: Option, plugin: Plugin) -> bool:
    if option.name in plugin.refuses:
        return False
    if option.name == "promise":
        return plugin.promise_by_owner
    if plugin.rents:
        return option.only != "there"
    return option.only != "rented" and option.panel != RentSpec.panel


def parameter_of(
    own: Option, about: str | None = None, *, in_panel: bool = True, hidden: bool = False
) -> inspect.Parameter:
    """An option as Typer reads it; None or False if it is not typed, unless it has a usual value.
    `about` is its help, where that is not the option's own."""

    def values(incomplete: str) -> list[str]:
        return [value for value in own.values if value.startswith(incomplete)]

    option = typer.Option(
        *filter(None, (own.flag, own.letter)),
        help=about or own.about,
        metavar=own.metavar or ("N" if own.kind in (str, int, float) else None),
        rich_help_panel=own.panel if in_panel and own.panel else None,
        autocompletion=values if own.values else COMPLETIONS.get(own.field),
        hidden=hidden,
    )
    usual = False if own.kind is bool else own.usual
    kind: Any = list[str] if own.repeats else own.kind
    return inspect.Parameter(
        own.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=usual,
        annotation=Annotated[kind | None if usual is None else kind, option],
    )


def asked_for(request: Request, *, writes: bool = False) -> tuple[Cell, ...]:
    """The cells that the options of a command line say. Without a target they are of the working
    directory, unless the command `writes` there. Raises UserError."""
    typed = request.typed
    for one in common():
        value, needed = typed.get(one.name), one.needs.partition(" ")[0]
        if needed and value is not None and typed[needed[2:].replace("-", "_")] is None:
            raise InvalidValue(
                f"{one.flag} {value} has no effect without {needed}", advice=f"add {one.needs}"
            )
    chosen, path = plugin(request.provider_name), typed.get("path")
    check_cost_limit(chosen, request.max_cost, request.assume_price)
    if chosen.takes_tags:
        # Those that were typed, and those of the settings with other keys.
        tags = typed.get("tag") or ()
        keys, own = {key for key, _ in key_values("--tag", tags)}, load_settings().tags
        typed["tag"] = [*(f"{k}={text}" for k, text in own if k not in keys), *tags] or None
    rent = rent_spec(chosen, typed)
    if not (rent or typed.get("host") or (path is None and (writes or typed.get("device")))):
        path = str(Path(path or ".").absolute())
    return cells(chosen, {**typed, "path": path}, rent)

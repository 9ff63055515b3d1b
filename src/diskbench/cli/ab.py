"""`diskbench ab`: two states of one machine, measured alternately and compared."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diskbench.cli.ab_runs import measure_in_turn
from diskbench.cli.compare import ComparedAs, MoreFigures
from diskbench.cli.compare_selections import ALL_METRICS, METRICS, print_comparison
from diskbench.cli.panels import PanelledCommand, TypedCommand
from diskbench.cli.run_command import common_options, taking
from diskbench.cli.stores import database
from diskbench.errors import InvalidValue
from diskbench.model.comparison import SERIES, SIDE

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.model.comparison import Comparison
    from diskbench.plan.cells import Request

_TAKEN = (
    "host", "path", "size", "profile", "set_", "label", "install_fio", "quiet", "database_url",
    "evidence_url",
)  # fmt: skip
_MOST_BLOCKS = 1000
_SIDES = ("before", "after")
_END_OF_HELP = (
    "A block is four runs: A B B A. The command of a state runs before each run of it, so it must "
    "be repeatable; after the last run the machine is in state A."
)


@dataclass(frozen=True)
class _Series:
    """What was typed: the states A and B, the commands that make them, and how many blocks."""

    name: str
    sides: tuple[str, str]
    commands: tuple[str, str] | None
    blocks: int


def _own(
    states: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B", help="Names of the two states (default: before after)."),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="COMMAND",
            help="Shell command that brings the machine into state A. It runs on the machine on "
            "which you type, also with --host.",
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            "--after",
            metavar="COMMAND",
            help="The same for state B. Without both commands you switch by hand when asked.",
        ),
    ] = None,
    blocks: Annotated[
        int,
        typer.Option(
            "--blocks",
            metavar="N",
            min=1,
            max=_MOST_BLOCKS,
            help="Blocks of four runs; an interval needs six.",
        ),
    ] = 6,
    series: Annotated[
        str | None,
        typer.Option(
            "--series",
            metavar="NAME",
            help="Name of the series; the name of an interrupted one continues it.",
        ),
    ] = None,
    fail_worse: Annotated[
        str | None,
        typer.Option(
            "--fail-worse",
            metavar="SHARE",
            help="Exit 1 if B differs from A and is worse by this share or more: 5%.",
        ),
    ] = None,
    output: ComparedAs = "table",
    verbose: MoreFigures = False,
) -> None:
    """The options of `ab` beside those that it shares with `run`."""


def ab(**typed: Any) -> None:  # noqa: ANN401 - each has the type of its option
    """Measure two states of one machine in the order A B B A, and compare B with A.

    For a new kernel, driver, mount option or setting: commands switch the machine between the
    states. The interval covers this machine only.
    """
    from diskbench.cli.asked import asked_for

    series = _series(typed)
    worse = _share(typed["fail_worse"])
    nothing = dict.fromkeys(
        ("provider", "device", "destroy_data", "filesystem", "promise", "disk", "max_cost",
         "assume_price", "fail_if", "allow")
    )  # fmt: skip
    usual = {"runs": 1, "replicates": 1, "if_busy": "wait"}
    request = asked_for(nothing | usual | typed).request
    expected_s = _expected_s(request, install_fio=typed["install_fio"])
    engine = database(typed["database_url"])
    measure_in_turn(engine, typed, series, expected_s)
    comparison = _compared(engine, series, verbose=typed["verbose"])
    print_comparison(comparison, output=typed["output"], verbose=typed["verbose"])
    if not typed["quiet"]:
        a, b = (f"ab-side={side}" for side in series.sides)
        print(f"again: diskbench compare {a} {b} -f ab={series.name}", file=sys.stderr)
    raise typer.Exit(_judge(comparison, worse))


def command_for(_arguments: Sequence[str]) -> TypedCommand:
    """`ab` with its options."""
    types = typing.get_type_hints(_own, include_extras=True)
    own = [
        parameter.replace(annotation=types[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(_own).parameters.values()
    ]
    function = taking(ab, [*common_options(*_TAKEN), *own])
    return TypedCommand(function, PanelledCommand, _END_OF_HELP)


def _series(typed: dict[str, Any]) -> _Series:
    """What was typed of the series. Raises InvalidValue."""
    from diskbench.engine.processes import new_id
    from diskbench.model.ids import short

    sides = tuple(typed["states"] or _SIDES)
    if len(sides) != 2 or sides[0] == sides[1]:
        raise InvalidValue(
            f"two different states are compared, not {' '.join(sides)!r}",
            advice="name two, such as: diskbench ab old new",
        )
    before, after = typed["before"], typed["after"]
    if (before is None) != (after is None):
        present, lacking = ("--before", "--after") if after is None else ("--after", "--before")
        raise InvalidValue(
            f"{present} without {lacking}: nothing switches the machine back",
            advice=f"add {lacking} 'COMMAND' ('true' where nothing is to be done)",
        )
    if before is None and not sys.stdin.isatty():
        raise InvalidValue(
            "nothing switches the machine between the two states",
            advice="add --before 'COMMAND' and --after 'COMMAND', or type it in a terminal, which "
            "asks you to switch",
        )
    if len(typed["host"] or ()) > 1:
        raise InvalidValue(
            "two states of one machine are compared, and several --host are given",
            advice="name one --host",
        )
    return _Series(
        typed["series"] or short(new_id()),
        (sides[0], sides[1]),
        None if before is None else (before, after),
        typed["blocks"],
    )


def _share(text: str | None) -> float | None:
    """The share of `--fail-worse`. Raises InvalidValue."""
    if text is None:
        return None
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not text.strip().endswith("%") or not 0 <= share < 1:
        raise InvalidValue(
            f"--fail-worse {text!r} is not a share", advice="write it like --fail-worse 5%"
        )
    return share


def _expected_s(request: Request, *, install_fio: bool) -> float:
    """The seconds that one run should take, from a look at the machine. Raises what is wrong."""
    from diskbench.engine.trial.planning import preview
    from diskbench.results.refreshed_catalogue import open_books

    previewed = preview(request, open_books(), install_fio=install_fio)
    for _, error in previewed.refused:
        raise error
    return sum(plan.expected_s for plan, _ in previewed.plans)


def _compared(engine: Engine, series: _Series, *, verbose: bool) -> Comparison:
    from diskbench.results.compare_runs import compare_metrics
    from diskbench.store.where import Filter

    a, b = (f"label.{SIDE}={side}" for side in series.sides)
    within = [Filter(f"label.{SERIES}", "=", series.name)]
    metrics = ALL_METRICS if verbose else METRICS
    return compare_metrics(engine, a, b, metrics=metrics, within=within)


def _judge(comparison: Comparison, worse: float | None) -> int:
    """1 where a figure of B is worse than that of A by the share or more, else 0; says which."""
    if worse is None:
        return 0
    code = 0
    for compared in comparison.compared:
        loss = (
            1 - compared.ratio if compared.metric in ("iops", "bytes_per_s") else compared.ratio - 1
        )
        if compared.finding in ("differs", "small") and loss >= worse:
            print(
                f"failed: {compared.step} {compared.direction}: {compared.sentence}",
                file=sys.stderr,
            )
            code = 1
    return code

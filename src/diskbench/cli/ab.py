"""`diskbench ab`: two states of one machine, measured alternately and compared."""

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Annotated, Any

import typer
from sqlalchemy.engine import Engine
from typer._click import Command

from diskbench.cli.compare import ALL_METRICS, METRICS, MoreFigures, print_comparison
from diskbench.cli.lazy import command_of, options_of, taking
from diskbench.cli.main import main
from diskbench.cli.run_command import Request, asked_for, common_options
from diskbench.cli.stores import database
from diskbench.cli.terminal import TableOrJson, argument, option
from diskbench.engine.processes import new_id
from diskbench.engine.trial.planning import preview
from diskbench.errors import InvalidValue
from diskbench.model.comparison import (
    BLOCK,
    ORDER,
    SERIES,
    SIDE,
    Comparison,
    labels_at,
    turns,
)
from diskbench.model.ids import short
from diskbench.results.compare_runs import compare_metrics
from diskbench.results.refreshed_catalogue import open_books
from diskbench.store.query import find_runs
from diskbench.store.where import Filter
from diskbench.units import counted, format_duration_s, parse_share

_TAKEN = (
    "host", "path", "size", "profile", "parameters", "labels", "install_fio", "quiet",
    "database_url", "evidence_url",
)  # fmt: skip
_MOST_BLOCKS = 1000
_SIDES = ("before", "after")
_END_OF_HELP = (
    "A block is four runs: A B B A. The command of a state runs before each of its runs, so it "
    "must be repeatable; after the last run the machine is in state A."
)


@dataclass(frozen=True)
class _Series:
    """What was typed: its name, which is the value of the label `ab`; the states A and B; the
    commands that make them (None: the user does); and how many blocks."""

    name: str
    sides: tuple[str, str]
    commands: tuple[str, str] | None
    blocks: int


def _own(
    states: Annotated[
        list[str] | None, argument("A B", "Names of the two states (default: before after).")
    ] = None,
    before: Annotated[
        str | None,
        option(
            "COMMAND",
            "Shell command that puts the machine into state A. It runs on the machine where you "
            "type, even with --host.",
        ),
    ] = None,
    after: Annotated[
        str | None,
        option(
            "COMMAND",
            "The same for state B. Without these commands you are asked to switch by hand.",
        ),
    ] = None,
    blocks: Annotated[
        int,
        option(
            "N", "Blocks of four runs; an interval needs at least six.", min=1, max=_MOST_BLOCKS
        ),
    ] = 6,
    series: Annotated[
        str | None,
        option("NAME", "Name of the series; give an interrupted one's name to continue it."),
    ] = None,
    fail_worse: Annotated[
        str | None,
        option("SHARE", "Exit 1 if B differs from A and is worse by this share or more: 5%."),
    ] = None,
    output: TableOrJson = "table",
    verbose: MoreFigures = False,
) -> None:
    """The options of `ab` beside those that it shares with `run`."""


def ab(**typed: Any) -> None:  # noqa: ANN401 - each has the type of its option
    """Measure two states of one machine in the order A B B A, and compare B with A.

    For a new kernel, driver, mount option or setting: commands switch the machine between the
    states. The interval covers this machine only.
    """
    series = _series(typed)
    share = typed["fail_worse"]
    worse = None if share is None else parse_share("--fail-worse", share)
    cells = asked_for(Request(**typed))
    previewed = preview(cells, open_books(), install_fio=typed["install_fio"])
    for _, error in previewed.refused:
        raise error
    expected_s = sum(plan.expected_s for plan in previewed.plans)
    engine = database(typed["database_url"])
    measure_in_turn(engine, typed, series, expected_s)
    of_sides = (f"label.{SIDE}={side}" for side in series.sides)
    within = [Filter(f"label.{SERIES}", "=", series.name)]
    metrics = ALL_METRICS if typed["verbose"] else METRICS
    comparison = compare_metrics(engine, *of_sides, metrics=metrics, within=within)
    print_comparison(comparison, output=typed["output"], verbose=typed["verbose"])
    if not typed["quiet"]:
        a, b = (f"ab-side={side}" for side in series.sides)
        print(f"again: diskbench compare {a} {b} -f ab={series.name}", file=sys.stderr)
    raise typer.Exit(_judge(comparison, worse))


def command_for(_arguments: Sequence[str]) -> Command:
    """`ab` with its options."""
    function = taking(ab, [*common_options(*_TAKEN), *options_of(_own)])
    return command_of(function, end_of_help=_END_OF_HELP)


def _series(typed: dict[str, Any]) -> _Series:
    sides = tuple(typed["states"] or _SIDES)
    if len(sides) != 2 or sides[0] == sides[1]:
        raise InvalidValue(
            f"ab compares two different states, not {' '.join(sides)!r}",
            advice="name two, such as: diskbench ab old new",
        )
    before, after = typed["before"], typed["after"]
    if (before is None) != (after is None):
        present, lacking = ("--before", "--after") if after is None else ("--after", "--before")
        raise InvalidValue(
            f"{present} without {lacking}: nothing switches the machine back",
            advice=f"add {lacking} 'COMMAND' ('true' if nothing needs to be done)",
        )
    if before is None and not sys.stdin.isatty():
        raise InvalidValue(
            "nothing switches the machine between the two states",
            advice="add --before 'COMMAND' and --after 'COMMAND', or run ab in a terminal, where "
            "it asks you to switch",
        )
    if len(typed["host"] or ()) > 1:
        raise InvalidValue(
            "ab compares two states of one machine, but several --host are given",
            advice="give one --host",
        )
    commands = None if before is None else (before, after)
    name = typed["series"] or short(new_id())
    return _Series(name, (sides[0], sides[1]), commands, typed["blocks"])


def _judge(comparison: Comparison, worse: float | None) -> int:
    """1 where a figure of B is worse than that of A by the share or more, else 0; says which."""
    code, worse = 0, math.inf if worse is None else worse
    for compared in comparison.compared:
        gain = compared.ratio - 1
        loss = -gain if compared.metric in ("iops", "bytes_per_s") else gain
        if compared.finding in ("differs", "small") and loss >= worse:
            failed = f"{compared.step} {compared.direction}: {compared.sentence}"
            print(f"failed: {failed}", file=sys.stderr)
            code = 1
    return code


def measure_in_turn(
    database: Engine, typed: Mapping[str, Any], series: _Series, expected_s: float
) -> None:
    """Do the runs of the series that are not done yet. Ends the command where a run fails or is
    interrupted, with its exit code; raises InvalidValue where a command fails."""
    filters = [Filter(f"label.{SERIES}", "=", series.name), Filter("state", "=", "done")]
    done = Counter(
        (int(run.labels[BLOCK]), run.labels[SIDE])
        for run in find_runs(database, filters)
        if run.labels.get(BLOCK, "").isdecimal() and SIDE in run.labels
    )
    to_measure = turns(series.sides, series.blocks, done)
    if not typed["quiet"]:
        _say_plan(series, len(to_measure), expected_s)
    for number, (block, side) in enumerate(to_measure, 1):
        if not typed["quiet"]:
            place = f"block {block} of {series.blocks}"
            print(f"{number}/{len(to_measure)}  {place}: {side}", file=sys.stderr, flush=True)
        _switch(series, side, block)
        with redirect_stdout(StringIO()):  # its figures are in the database
            code = main(arguments_of(typed, labels_at(series.name, side, block)))
        if code != 0:
            print(
                f"error: the run of {side} in block {block} ended with exit code {code}\n"
                f"  earlier runs are kept; continue with the same command and --series "
                f"{series.name}",
                file=sys.stderr,
            )
            raise typer.Exit(code)


def arguments_of(typed: Mapping[str, Any], labels_of_turn: Mapping[str, str]) -> list[str]:
    """The words of the `diskbench run` of a turn. This process reads them: none is an argument of
    another, which everybody on the machine could read."""
    words = ["run", "--quiet", "--output", "json", "--profile", typed["profile"]]
    for name in ("path", "size", "database_url", "evidence_url"):
        if typed[name] is not None:
            words += [f"--{name.replace('_', '-')}", str(typed[name])]
    labels = [f"{key}={value}" for key, value in labels_of_turn.items()]
    labels = [*(typed["labels"] or ()), *labels]
    several = {"--host": typed["host"], "--set": typed["parameters"], "--label": labels}
    words += [word for flag, of in several.items() for value in of or () for word in (flag, value)]
    return [*words, "--install-fio"] if typed["install_fio"] else words


def _say_plan(series: _Series, count: int, expected_s: float) -> None:
    (a, b), planned = series.sides, series.blocks * len(ORDER)
    before = f" ({planned - count} already done)" if count < planned else ""
    print(
        f"series {series.name}: A {a}, B {b}, {counted(series.blocks, 'block')} of A B B A\n"
        f"{counted(count, 'run')}{before}, each about {format_duration_s(expected_s)}, in all "
        f"{format_duration_s(expected_s * count)} plus the commands",
        file=sys.stderr,
    )


def _switch(series: _Series, side: str, block: int) -> None:
    """Bring the machine into the state of a side. Raises InvalidValue where its command fails."""
    if series.commands is None:
        print(f"put the machine into state {side!r}, then press Enter", file=sys.stderr)
        if not sys.stdin.readline():
            raise KeyboardInterrupt
        return
    at = series.sides.index(side)
    # The user's own command, typed for this purpose; what it prints does not belong to the result.
    done = subprocess.run(  # noqa: S602
        series.commands[at], shell=True, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False
    )
    if done.returncode != 0:
        raise InvalidValue(
            f"the command of {('--before', '--after')[at]} ended with exit code {done.returncode} "
            f"before a run of block {block}",
            advice=f"earlier runs are kept; correct the command and continue with --series "
            f"{series.name}",
        )

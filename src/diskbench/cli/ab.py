"""`diskbench ab`: two states of one machine, measured alternately and compared."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import typing
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from sqlalchemy.engine import Engine

from diskbench.cli.compare import ALL_METRICS, METRICS, MoreFigures, print_comparison
from diskbench.cli.lazy import PanelledCommand, TypedCommand
from diskbench.cli.run_command import asked_for, common_options, taking
from diskbench.cli.stores import database
from diskbench.cli.terminal import TableOrJson
from diskbench.engine.processes import new_id
from diskbench.engine.trial.planning import preview
from diskbench.errors import InvalidValue
from diskbench.model.comparison import (
    BLOCK,
    ORDER,
    SERIES,
    SIDE,
    Comparison,
    RunInTurn,
    labels_at,
    turns,
)
from diskbench.model.ids import short
from diskbench.plan.cells import Request
from diskbench.report.assemble.words import counted
from diskbench.results.compare_runs import compare_metrics
from diskbench.results.refreshed_catalogue import open_books
from diskbench.store.query import find_runs
from diskbench.store.where import Filter
from diskbench.units import format_duration_s, parse_share

_TAKEN = (
    "host", "path", "size", "profile", "parameters", "labels", "install_fio", "quiet",
    "database_url", "evidence_url",
)  # fmt: skip
_MOST_BLOCKS = 1000
_SIDES = ("before", "after")
_END_OF_HELP = (
    "A block is four runs: A B B A. The command of a state runs before each run of it, so it must "
    "be repeatable; after the last run the machine is in state A."
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
    request = asked_for(typed).request
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


def _expected_s(request: Request, *, install_fio: bool) -> float:
    """The seconds that one run should take, from a look at the machine. Raises what is wrong."""
    previewed = preview(request, open_books(), install_fio=install_fio)
    for _, error in previewed.refused:
        raise error
    return sum(plan.expected_s for plan, _ in previewed.plans)


def _compared(engine: Engine, series: _Series, *, verbose: bool) -> Comparison:
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


INTERRUPTED = 130


def measure_in_turn(
    database: Engine, typed: Mapping[str, Any], series: _Series, expected_s: float
) -> None:
    """Do the runs of the series that are not done yet. Ends the command where a run fails or is
    interrupted, with its exit code; raises InvalidValue where a command fails."""
    to_measure = turns(series.sides, series.blocks, _done_before(database, series.name))
    _say_plan(series, len(to_measure), expected_s, quiet=typed["quiet"])
    for number, turn in enumerate(to_measure, 1):
        if not typed["quiet"]:
            place = f"block {turn.block} of {series.blocks}"
            print(f"{number}/{len(to_measure)}  {place}: {turn.side}", file=sys.stderr, flush=True)
        _switch(series, turn)
        code = _run(arguments_of(typed, series.name, turn), _environment(typed))
        if code != 0:
            print(
                f"error: the run of {turn.side} in block {turn.block} ended with exit code {code}\n"
                f"  the runs before it are kept; continue with the same command and --series "
                f"{series.name}",
                file=sys.stderr,
            )
            raise typer.Exit(code if code > 0 else INTERRUPTED)


def _done_before(database: Engine, series: str) -> Mapping[RunInTurn, int]:
    """How many runs of each turn of a series are done."""
    filters = [Filter(f"label.{SERIES}", "=", series), Filter("state", "=", "done")]
    return Counter(
        RunInTurn(int(run.labels[BLOCK]), run.labels[SIDE])
        for run in find_runs(database, filters)
        if run.labels.get(BLOCK, "").isdigit() and SIDE in run.labels
    )


def arguments_of(typed: Mapping[str, Any], series: str, turn: RunInTurn) -> list[str]:
    """The words of the `diskbench run` of a turn. Those that may hold a password go by the
    environment."""
    words = ["run", "--quiet", "--output", "json", "--profile", typed["profile"]]
    for flag, name in (("--path", "path"), ("--size", "size")):
        if typed[name] is not None:
            words += [flag, str(typed[name])]
    labels = [f"{key}={value}" for key, value in labels_at(series, turn.side, turn.block).items()]
    for flag, values in (
        ("--host", typed["host"]),
        ("--set", typed["parameters"]),
        ("--label", [*(typed["labels"] or ()), *labels]),
    ):
        words += [word for value in values or () for word in (flag, value)]
    return [*words, "--install-fio"] if typed["install_fio"] else words


def _say_plan(series: _Series, count: int, expected_s: float, *, quiet: bool) -> None:
    planned = series.blocks * len(ORDER)
    before = f" ({planned - count} were done before)" if count < planned else ""
    if not quiet:
        a, b = series.sides
        print(
            f"series {series.name}: A {a}, B {b}, {counted(series.blocks, 'block')} of A B B A\n"
            f"{counted(count, 'run')}{before}, each about {format_duration_s(expected_s)}, "
            f"in all {format_duration_s(expected_s * count)} and the commands",
            file=sys.stderr,
        )


def _switch(series: _Series, turn: RunInTurn) -> None:
    """Bring the machine into the state of a turn. Raises InvalidValue where its command fails."""
    if series.commands is None:
        print(f"bring the machine into state {turn.side!r}, then press Enter", file=sys.stderr)
        if not sys.stdin.readline():
            raise KeyboardInterrupt
        return
    at = series.sides.index(turn.side)
    flag = ("--before", "--after")[at]
    # The user's own command, typed for this purpose; what it prints does not belong to the result.
    done = subprocess.run(  # noqa: S602
        series.commands[at], shell=True, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False
    )
    if done.returncode != 0:
        raise InvalidValue(
            f"the command of {flag} ended with exit code {done.returncode} before a run of block "
            f"{turn.block}",
            advice=f"the runs before it are kept; correct the command and continue with --series "
            f"{series.name}",
        )


def _environment(typed: Mapping[str, Any]) -> dict[str, str]:
    names = {
        "DISKBENCH_DATABASE_URL": typed["database_url"],
        "DISKBENCH_EVIDENCE_URL": typed["evidence_url"],
    }
    return os.environ | {name: value for name, value in names.items() if value is not None}


def _run(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run diskbench and return its exit code; what stops this process stops it in order, too."""
    process = subprocess.Popen(
        [sys.executable, "-m", "diskbench", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # its figures are in the database
        env=environment,
        start_new_session=True,  # a key in the terminal reaches it once: from here
    )
    with _handed_on(process):
        return process.wait()


@contextmanager
def _handed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Hand SIGINT and SIGTERM on to a process instead of ending; only the main thread may."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [
        signal.signal(number, lambda *_: process.send_signal(signal.SIGINT)) for number in signals
    ]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)

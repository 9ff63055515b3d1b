"""The runs of `diskbench ab`: each is a `diskbench run` of its own, after the command of its side.

A process for each run, because a run expects to be the only one of its process; what switches the
machine may also replace fio or a library that the run loads.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import typer

from diskbench.errors import InvalidValue
from diskbench.model.comparison import BLOCK, ORDER, SERIES, SIDE, RunInTurn, labels_at, turns
from diskbench.report.assemble.words import counted
from diskbench.units import format_duration_s

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy.engine import Engine

INTERRUPTED = 130


class InTurn(Protocol):
    """A series of runs in blocks: its name, its states A and B, and the commands that make them
    (None: the user does)."""

    @property
    def name(self) -> str:
        """The value of the label `ab`."""

    @property
    def sides(self) -> tuple[str, str]:
        """A and B."""

    @property
    def commands(self) -> tuple[str, str] | None:
        """What brings the machine into A, and into B."""

    @property
    def blocks(self) -> int:
        """How many blocks are to be done."""


def measure_in_turn(
    database: Engine, typed: Mapping[str, Any], series: InTurn, expected_s: float
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
    from diskbench.store.query import find_runs
    from diskbench.store.where import Filter

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
        ("--set", typed["set_"]),
        ("--label", [*(typed["label"] or ()), *labels]),
    ):
        words += [word for value in values or () for word in (flag, value)]
    return [*words, "--install-fio"] if typed["install_fio"] else words


def _say_plan(series: InTurn, count: int, expected_s: float, *, quiet: bool) -> None:

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


def _switch(series: InTurn, turn: RunInTurn) -> None:
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

"""The table of benchmarks/README.md: what is declared in bench_rows.py and what was measured."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from benchmarks.bench_rows import BENCHES, Bench, Row

BEGIN = "<!-- table -->"
END = "<!-- end of table -->"
_HEAD = (
    "| what | command | measured | wanted | floor | peer | date, machine |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)


def replaced(page: str, kept: Mapping[str, Mapping[str, Any]]) -> str:
    """`page` with its table written anew from `kept`: benchmark and row → measurement."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(kept)}{END}{after}"


def table(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """One line for each row that is declared."""
    lines = [
        _line(bench, row, kept.get(key(bench, row.name))) for bench in BENCHES for row in bench.rows
    ]
    return "\n".join([*_HEAD, *lines]) + "\n"


def key(bench: Bench, row: str) -> str:
    """The name of a row in the file of what was measured."""
    return f"{bench.name}: {row}"


def command(bench: Bench, arguments: str) -> str:
    """What is typed for a benchmark."""
    return shlex.join(["python", bench.script, *shlex.split(arguments)])


def figure(value: float, unit: str) -> str:
    """A value with as many digits as it is worth: three."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 4
    return f"{value:,.{digits}f} {unit}".rstrip()


def is_as_wanted(row: Row, found: Mapping[str, Any]) -> bool:
    """Whether a measurement is what is wanted of the row; True for a row without a target."""
    if row.agrees is not None and found.get("ratio") is not None:
        lowest, highest = row.agrees
        return lowest <= float(found["ratio"]) <= highest
    return row.at_most is None or float(found["median"]) <= row.at_most


def _line(bench: Bench, row: Row, found: Mapping[str, Any] | None) -> str:
    if found is None:
        measured, floor, when = "–", row.floor, "–"
    else:
        unit = found["unit"]
        measured = (
            f"{figure(found['median'], unit)} ({figure(found['low'], '')}–"
            f"{figure(found['high'], '')}, n {found['n']})"
        )
        if not is_as_wanted(row, found):
            measured = f"**{measured}**"
        floor = row.floor
        if found.get("floor") is not None:
            floor += f": {figure(found['floor'], unit)} (× {figure(found['ratio'], '')})"
        when = f"{found['date']}, {found['machine']}{', loaded' if found.get('loaded') else ''}"
    typed = f"`{command(bench, bench.arguments)}`"
    cells = (row.name, typed, measured, row.wanted, floor, row.peer, when)
    return f"| {' | '.join(cells)} |"

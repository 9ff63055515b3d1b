"""Measurement rows for other programs, in which no mean spans a cliff (MR-3)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from diskbench.engine.levels import courses_of
from diskbench.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.phase import Phase, StepPhases
    from diskbench.ports import EvidenceStore

AFTER_CLIFF = "after_cliff"
"""The column that marks such rows: the kind of the level that stands in for the mean."""
_LATENCY = ("lat_", "clat_", "slat_")
_QUANTILES = ("p50_ns", "p90_ns", "p95_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "quantiles_of")
_NEAR_S = 3.0
"""The seconds of rounds are counted without their last ones, which are seldom whole."""


def levelled(
    database: Engine, rows: Sequence[Mapping[str, Any]], evidence: EvidenceStore | None = None
) -> list[dict[str, Any]]:
    """The rows (of `find_measurements`), each with the column `after_cliff`.

    Where a row's own seconds hold a cliff, its IOPS and bytes a second are the level after it
    (empty where it ended in none), by its share of the step's I/Os and bytes, and it has no
    latencies: they are of both levels. What fio counted (`ios`, `bytes`, `runtime_ns`) stays.
    """
    courses = courses_of(database, rows, evidence)
    wholes: dict[tuple[object, ...], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        if row["scope"] == "step" and row["direction"] != "sync":
            whole = wholes[_step(row)]
            whole[0] += row["ios"]
            whole[1] += row["bytes"]
    begins = _begins(rows)
    found = []
    for row in rows:
        course = courses.get((row["run_id"], row["step"]))
        level = _level(course, row, begins) if course and row["direction"] != "sync" else None
        if level is None:
            found.append({**row, AFTER_CLIFF: None})
        else:
            found.append(_with_level(row, level, wholes[_step(row)]))
    return found


def _step(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (row["run_id"], row["step_index"], row["round"])


def _begins(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[object, ...], float]:
    """At which second of its course each round begins."""
    lasted: dict[tuple[str, str], dict[tuple[object, ...], float]] = defaultdict(dict)
    for row in rows:
        of = lasted[row["run_id"], row["step"]]
        of[_step(row)] = max(of.get(_step(row), 0.0), row["runtime_ns"] / NS_PER_S)
    found: dict[tuple[object, ...], float] = {}
    for rounds in lasted.values():
        at = 0.0
        for key, seconds in rounds.items():
            found[key] = at
            at += int(seconds)
    return found


def _level(
    course: StepPhases, row: Mapping[str, Any], begins: Mapping[tuple[object, ...], float]
) -> Phase | None:
    """The level after the last cliff within this row's seconds; None where there is no cliff."""
    begin = begins[_step(row)]
    end = begin + row["runtime_ns"] / NS_PER_S
    if course.rounds is None:
        begin, end = 0.0, course.seconds
    inside = [one.at_s for one in course.cliffs if begin + _NEAR_S < one.at_s < end - _NEAR_S]
    if not inside:
        return None
    if course.rounds is None:
        return course.lasting or course.phases[-1]
    return next(one for one in course.phases if one.end_s > max(inside) and one.kind != "stall")


def _with_level(row: Mapping[str, Any], level: Phase, whole: Sequence[int]) -> dict[str, Any]:
    shares = [
        row[name] / total if total else 0.0
        for name, total in zip(("ios", "bytes"), whole, strict=True)
    ]
    values = (level.iops, level.bytes_per_s)
    figures = [
        None if one is None else one * share for one, share in zip(values, shares, strict=True)
    ]
    blank = {name: None for name in row if name.startswith(_LATENCY) or name in _QUANTILES}
    told = {"iops": figures[0], "bytes_per_s": figures[1], AFTER_CLIFF: level.kind}
    return {**row, **blank, **told}

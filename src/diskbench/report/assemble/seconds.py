"""Per-second figures of a step, ready to be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StepSeconds:
    """One step (its last round): direction → (second, IOPS), seconds ascending from 0."""

    step: str
    directions: Mapping[str, tuple[tuple[int, float], ...]]

    @property
    def n(self) -> int:
        """The number of seconds."""
        return max((len(points) for points in self.directions.values()), default=0)


def step_seconds(rows: Iterable[Mapping[str, Any]]) -> tuple[StepSeconds, ...]:
    """Series rows (from `diskbench.load_series`) by step, in the order of the steps.

    Directions without I/O are left out. Of a repeated step the last round is kept: its seconds are
    nearest to the steady state.
    """
    steps: dict[str, tuple[int, dict[str, list[tuple[int, float]]]]] = {}
    for row in rows:
        name, index = str(row["step"]), int(row["step_index"])
        if name not in steps or steps[name][0] < index:
            steps[name] = (index, {})
        if steps[name][0] == index:
            points = steps[name][1].setdefault(str(row["direction"]), [])
            points.append((int(row["second"]), float(row["iops"] or 0.0)))
    return tuple(
        StepSeconds(
            name, {d: tuple(sorted(p)) for d, p in directions.items() if any(v for _, v in p)}
        )
        for name, (_, directions) in sorted(steps.items(), key=lambda item: item[1][0])
    )

"""Whether consecutive runs of a step disagree: their variation, whatever their number.

    variation   the coefficient of variation of the runs' figures: of nine or fewer the standard
                deviation over the median, else half the distance of the 10th and 90th percentile
                over 1.28 times the median, which one odd run does not move
    at least    the lower end of its 95 % interval, as for normal figures:
                variation · √((n − 1) / χ²(0.975; n − 1)), with χ² by Wilson and Hilferty (1931)

Runs disagree where it is at least 3 %, which three runs 10 % apart are. A range would grow with the
number of runs: with a variation of 2 % it is above 10 % in 1 % of ten runs and 82 % of 215.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from diskbench.model.doubts import RUNS_DISAGREE
from diskbench.model.processor import percent

if TYPE_CHECKING:
    from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word

LEAST_VARIATION = 0.03
"""Our choice."""
FAR_APART = 0.25
"""From here on no run stands for the others; our choice."""
_FEW = 10
_Q90 = 1.2816
_Z = 1.96


def run_warnings(runs: Sequence[Sequence[Measurement]]) -> tuple[Warning, ...]:
    """Return a warning for each step in which consecutive runs disagree.

    `runs` holds the rows of each run. Only merged rows are compared, by step, round and direction;
    one run alone gives no warning.
    """
    values: dict[tuple[int, str, str], list[float]] = {}
    for rows in runs:
        for row in rows:
            if row.scope == "step" and row.role != "fill":
                values.setdefault((row.step_index, row.step, row.direction), []).append(row.iops)
    found = []
    for (_, name, direction), iops in sorted(values.items()):
        least = least_variation(iops)
        if least is not None and least >= LEAST_VARIATION:
            middle = statistics.median_low(iops)
            found.append(
                RUNS_DISAGREE.warning(
                    f"{direction} IOPS of {len(iops)} runs range from {min(iops):,.0f} (run "
                    f"{iops.index(min(iops)) + 1}) to {max(iops):,.0f} (run "
                    f"{iops.index(max(iops)) + 1}), median {middle:,.0f}; they vary by at least "
                    f"{percent(least)}",
                    step=name,
                )
            )
    return tuple(found)


def least_variation(values: Sequence[float]) -> float | None:
    """Return the lower end of the 95 % interval of the coefficient of variation; None below two
    values or for a median of 0."""
    n = len(values)
    if n < 2 or (middle := statistics.median(values)) <= 0:
        return None
    if n < _FEW:
        sigma = statistics.stdev(values)
    else:
        tenths = statistics.quantiles(values, n=10, method="inclusive")
        sigma = (tenths[-1] - tenths[0]) / (2 * _Q90)
    free = n - 1
    chi_squared = free * (1 - 2 / (9 * free) + _Z * math.sqrt(2 / (9 * free))) ** 3
    return sigma / middle * math.sqrt(free / chi_squared)

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
from diskbench.units import KIB, format_iops, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word

LEAST_VARIATION = 0.03
"""Our choice."""
FAR_APART = 0.25
"""From here on no run stands for the others; our choice."""
_FEW = 10
_Q90 = 1.2816
_Z = 1.96
_SHOWN_AS_BYTES = 64 * KIB - 1


def run_warnings(runs: Sequence[Sequence[Measurement]]) -> tuple[Warning, ...]:
    """Return a warning for each step in which consecutive runs disagree.

    `runs` holds the rows of each run. Only merged rows are compared, by step, round and direction;
    one run alone gives no warning.
    """
    values: dict[tuple[int, str, str], list[Measurement]] = {}
    for rows in runs:
        for row in rows:
            if row.scope == "step" and row.role != "fill" and row.iops is not None:
                values.setdefault((row.step_index, row.step, row.direction), []).append(row)
    warnings = []
    for (_, name, direction), of_runs in sorted(values.items(), key=lambda entry: entry[0]):
        iops = [row.iops for row in of_runs if row.iops is not None]
        least = least_variation(iops)
        if least is not None and least >= LEAST_VARIATION:
            low, high = iops.index(min(iops)), iops.index(max(iops))
            warnings.append(
                RUNS_DISAGREE.warning(
                    f"the {direction} rates of {len(iops)} runs range from {_shown(of_runs[low])} "
                    f"(run {low + 1}) to {_shown(of_runs[high])} (run {high + 1}) and vary by at "
                    f"least {percent(least)}",
                    step=name,
                )
            )
    return tuple(warnings)


def _shown(row: Measurement) -> str:
    """The rate in the unit in which the table of verdicts shows such blocks."""
    if row.bytes_per_s is not None and row.iops and row.bytes_per_s / row.iops >= _SHOWN_AS_BYTES:
        return f"{format_mb_per_s(row.bytes_per_s)} MB/s"
    return f"{format_iops(row.iops or 0.0)} IOPS"


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

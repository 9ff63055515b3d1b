"""Machines that deviate from their fleet, by the canary before and after each trial (MR-13;
docs/METHOD.md, "Canary"). Reports give the figures with and without the trials that are flagged."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

DEVIATIONS = 3.0
"""MR-13; no source gives it."""
_NORMAL = 1.4826
LEAST_READINGS = 6
"""The fewest readings for which a median deviation is meaningful; our choice."""
_LEAST_MAD = 0.02
"""The least deviation, as a fraction of the median; our choice: a checksum of 0.03 s varies by
as much on an idle machine, and with identical readings any other reading would stand out."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a canary. `quantity` is its name, `when` is before or after the trial,
    `others` the median of its fleet, where it stands out."""

    trial: str
    quantity: str
    when: str
    value: float
    others: float = math.nan

    def words(self) -> str:
        """`checksum of 8 MiB s 0.312 after, 0.204 on the others`."""
        value, others = (
            f"{shown:,.0f}" if shown >= 1000 else f"{shown:.3g}"
            for shown in (self.value, self.others)
        )
        return f"{self.quantity} {value} {self.when}, {others} on the others"


def off(fleet: Sequence[Reading]) -> Mapping[str, tuple[Reading, ...]]:
    """Return the readings of a fleet that stand out, by trial; trials without any are left out."""
    by_trial: dict[str, tuple[Reading, ...]] = {}
    for quantity in dict.fromkeys(reading.quantity for reading in fleet):
        readings = [reading for reading in fleet if reading.quantity == quantity]
        if len(readings) < LEAST_READINGS:
            continue
        middle = median(reading.value for reading in readings)
        mad = median(abs(reading.value - middle) for reading in readings)
        reach = DEVIATIONS * _NORMAL * max(mad, _LEAST_MAD * middle)
        for reading in readings:
            if abs(reading.value - middle) > reach:
                found = replace(reading, others=middle)
                by_trial[reading.trial] = (*by_trial.get(reading.trial, ()), found)
    return by_trial

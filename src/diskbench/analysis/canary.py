"""Machines that deviate from their fleet, by the canary before and after each trial (MR-13;
docs/METHOD.md, "Canary").

A fleet is the set of trials on machines of one kind. 1.4826 · MAD estimates the standard deviation
of a normal distribution. Deviating trials are flagged and never dropped: reports give the figures
with and without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """One reading of a canary. `quantity` is its name, `when` is before or after the trial."""

    trial: str
    quantity: str
    when: str
    value: float


@dataclass(frozen=True, slots=True)
class Off:
    """A reading that stands out, and the median of its fleet."""

    reading: Reading
    median: float

    def words(self) -> str:
        """`checksum of 8 MiB s 0.312 after, 0.204 on the others`."""
        reading = self.reading
        return (
            f"{reading.quantity} {_shown(reading.value)} {reading.when}, "
            f"{_shown(self.median)} on the others"
        )


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def off(fleet: Sequence[Reading]) -> Mapping[str, tuple[Off, ...]]:
    """Return the readings of a fleet that stand out, by trial; trials without any are left out."""
    by_trial: dict[str, tuple[Off, ...]] = {}
    for quantity in dict.fromkeys(reading.quantity for reading in fleet):
        readings = [reading for reading in fleet if reading.quantity == quantity]
        if len(readings) < LEAST_READINGS:
            continue
        middle = median(reading.value for reading in readings)
        mad = median(abs(reading.value - middle) for reading in readings)
        reach = DEVIATIONS * _NORMAL * max(mad, _LEAST_MAD * middle)
        for reading in readings:
            if abs(reading.value - middle) > reach:
                by_trial[reading.trial] = (*by_trial.get(reading.trial, ()), Off(reading, middle))
    return by_trial

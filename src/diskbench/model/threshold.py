"""What a figure of a step has to keep to: `sync p99 < 10ms`."""

from __future__ import annotations

import re
from typing import Final, Literal, Self, get_args

from diskbench.model.base import Frozen
from diskbench.model.result import Direction

ThresholdMetric = Literal["iops", "mb_per_s", "mean", "p50", "p99", "p99.9", "max"]
Bound = Literal["<", ">"]

_RATES: Final = ("iops", "mb_per_s")
_UNITS_NS: Final = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_FORM = re.compile(
    r"(?:(?P<direction>[a-z]+)\s+)?(?P<metric>[a-z_0-9.]+)\s*(?P<bound>[<>])\s*"
    r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[a-zµ]*)"
)


class Threshold(Frozen):
    """A figure must lie below (`<`) or above (`>`) a limit.

    `limit` is in ns for latencies, in operations/s for `iops`, in bytes/s for `mb_per_s`.
    `step` and `direction` of None mean every step and every direction. `source` says who asks it.
    """

    metric: ThresholdMetric
    bound: Bound
    limit: float
    step: str | None = None
    direction: Direction | None = None
    source: str = ""

    @property
    def is_latency(self) -> bool:
        """Whether its figure is a latency in ns."""
        return self.metric not in _RATES

    def holds(self, figure: float) -> bool:
        """Whether a figure (in the unit of `limit`) keeps to it."""
        return figure < self.limit if self.bound == "<" else figure > self.limit

    @classmethod
    def parse(cls, text: str, *, step: str | None = None, source: str = "") -> Self:
        """A threshold from `[DIRECTION] METRIC <|> NUMBER[UNIT]`, such as `sync p99 < 10ms`.

        Raises ValueError that says what was not understood.
        """
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a threshold: write for instance 'sync p99 < 10ms'")
        direction, metric, unit = match["direction"], match["metric"], match["unit"]
        if direction is not None and direction not in get_args(Direction):
            raise ValueError(
                f"{text!r}: {direction!r} is not a direction: {', '.join(get_args(Direction))}"
            )
        if metric not in get_args(ThresholdMetric):
            raise ValueError(
                f"{text!r}: {metric!r} is not a metric: {', '.join(get_args(ThresholdMetric))}"
            )
        if metric in _RATES:
            if unit:
                raise ValueError(f"{text!r}: {metric} has no unit, not {unit!r}")
            scale = 1e6 if metric == "mb_per_s" else 1.0
        elif unit in _UNITS_NS:
            scale = _UNITS_NS[unit]
        else:
            raise ValueError(f"{text!r}: a latency needs a unit: ns, us, ms or s")
        return cls.model_validate(
            {
                "metric": metric,
                "bound": match["bound"],
                "limit": float(match["number"]) * scale,
                "step": step,
                "direction": direction,
                "source": source,
            }
        )

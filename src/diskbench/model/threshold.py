"""What a figure of a step has to keep to: `sync p99 < 10ms`."""

import operator
import re
import shlex
from collections.abc import Callable, Iterable
from typing import Final, Literal, Self, get_args

from diskbench.errors import InvalidValue
from diskbench.model.base import Frozen
from diskbench.model.result import Direction

ThresholdMetric = Literal["iops", "mb_per_s", "mean", "p50", "p99", "p99.9", "max", "ratio", "sla"]
Bound = Literal["<", ">", "<=", ">="]

COLUMN_OF: Final[dict[ThresholdMetric, str]] = {
    "iops": "iops", "mb_per_s": "bytes_per_s", "mean": "lat_mean_ns", "p50": "p50_ns",
    "p99": "p99_ns", "p99.9": "p99_9_ns", "max": "lat_max_ns",
}  # fmt: skip
"""A metric of one row → its column (model/result.py)."""
_RATES: Final = ("iops", "mb_per_s", "sla")
_OPPOSITE: Final[dict[str, Bound]] = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}
_COMPARE: Final[dict[Bound, Callable[[float, float], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_UNITS_NS: Final = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_FORM = re.compile(
    r"(?:(?P<direction>[a-z]+)\s+)?(?P<metric>[a-z_0-9.]+)\s*(?P<bound>[<>]=?)\s*"
    r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[a-zµ%]*)"
)


class Threshold(Frozen):
    """A figure must lie below (`<`, `<=`) or above (`>`, `>=`) a limit.

    `limit` is in ns for latencies, in operations/s for `iops` and `sla` (the highest rate that kept
    to the target of a search), in bytes/s for `mb_per_s`; for `ratio` it is measured over promised,
    of the whole step.
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
        return self.metric not in (*_RATES, "ratio")

    @property
    def share(self) -> float | None:
        """The share of I/Os that a percentile covers: 0.99; None for another metric."""
        return round(float(self.metric[1:]) / 100, 6) if self.metric.startswith("p") else None

    @property
    def is_ceiling(self) -> bool:
        """Whether it is the highest figure that has to keep to it, not the lowest."""
        return self.bound in ("<", "<=")

    def holds(self, figure: float) -> bool:
        """Whether a figure (in the unit of `limit`) keeps to it."""
        return _COMPARE[self.bound](figure, self.limit)

    @classmethod
    def parse(cls, text: str, *, step: str | None = None, source: str = "") -> Self:
        """A threshold from `[DIRECTION] METRIC <|> NUMBER[UNIT]`, such as `sync p99 < 10ms`.

        Raises ValueError that says what was not understood.
        """
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a condition")
        direction, metric, unit = match["direction"], match["metric"], match["unit"]
        typed = {"direction": (direction, Direction), "metric": (metric, ThresholdMetric)}
        for kind, (word, known) in typed.items():
            if word is not None and word not in get_args(known):
                words = ", ".join(get_args(known))
                raise ValueError(f"{text!r}: {word!r} is not a {kind}: {words}")
        if metric == "ratio":
            scales, wrong = {"": 1.0, "%": 0.01}, f"a ratio is a number or in %, not in {unit!r}"
        elif metric in _RATES:
            scale = 1e6 if metric == "mb_per_s" else 1.0
            scales, wrong = {"": scale}, f"{metric} has no unit, not {unit!r}"
        else:
            scales, wrong = _UNITS_NS, "a latency needs a unit: ns, us, ms or s"
        if unit not in scales:
            raise ValueError(f"{text!r}: {wrong}")
        limit = float(match["number"]) * scales[unit]
        of = {"metric": metric, "direction": direction, "bound": match["bound"], "limit": limit}
        return cls.model_validate({**of, "step": step, "source": source})

    @classmethod
    def failing(cls, text: str, flag: str) -> Self:
        """The threshold that is missed where `[STEP:] [DIRECTION] METRIC <|>|<=|>= NUMBER[UNIT]`
        holds: `p99 > 10ms` fails a figure above 10 ms; `flag` is the option that says so.

        Raises ValueError that says what was not understood.
        """
        step, colon, condition = text.rpartition(":")
        if colon and not step.strip():
            raise ValueError(f"{text!r}: the name of a step is missing before ':'")
        source = f"{flag} {shlex.quote(text)}"
        wrong = cls.parse(condition, step=step.strip() or None, source=source)
        if not wrong.limit:
            raise ValueError(f"{text!r}: every figure of a disk is above 0")
        return wrong.model_copy(update={"bound": _OPPOSITE[wrong.bound]})

    @property
    def flag(self) -> str:
        """The option that it was typed for; empty for a threshold of a profile."""
        return self.source.partition(" ")[0] if self.source.startswith("--") else ""

    @property
    def typed(self) -> str | None:
        """What was typed for its option, quoted; None for a threshold of a profile."""
        return self.source.partition(" ")[2] if self.flag else None


def read_conditions(texts: Iterable[str], flag: str) -> tuple[Threshold, ...]:
    """The thresholds of what was typed for an option: `p99 > 10ms`. Raises InvalidValue."""
    try:
        return tuple(Threshold.failing(text, flag) for text in texts)
    except ValueError as error:
        raise InvalidValue(
            f"{flag} {error}",
            advice="write [STEP:] [DIRECTION] METRIC < or > NUMBER[UNIT]: 'p99 > 10ms', "
            "'ratio < 0.9', 'rand-read-4k-qd32: iops < 2900'",
            field=flag[2:].replace("-", "_"),
        ) from None

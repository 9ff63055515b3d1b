"""Is a series of rounds steady? (MR-2; SNIA SSS PTS 2.0.2, definition 2.1.24)"""

from collections.abc import Sequence
from statistics import fmean

from diskbench.model.phase import MOST_STALLED, Phase, Stall, Steadiness, SteadyState

EXCURSION_LIMIT = 0.20
SLOPE_LIMIT = 0.10
ROUNDS = 5
"""Of the window: the last ones of a step, and those that its figure is of (2.1.24)."""
ROUND_S = 60
"""A round of a step that was not cut into rounds: the least that the standard's tests last."""


def steady(values: Sequence[float]) -> Steadiness:
    """Judge the values of a window of equal rounds, five from the harness (docs/METHOD.md, "Steady
    state"). Both figures are fractions of their mean; `slope` is the rise (+) or fall (−) of the
    least-squares line from the first round to the last.

    With n = 5 the line's range is |b|·4. The rule finds drift, not noise: a stationary series whose
    coefficient of variation is 10 % passes one window in three, and a burst passes it throughout,
    so it never stands alone (MR-3, MR-4, MR-6). A mean of zero is not steady: nothing was measured.

    Raises ValueError for fewer than two values: one round has no slope.
    """
    count = len(values)
    if count < 2:
        raise ValueError(f"a window needs two rounds or more, not {count}")
    mean_y = sum(values) / count
    if mean_y <= 0:
        return Steadiness(state="not steady", excursion=0.0, slope=0.0)
    mean_x = (count - 1) / 2
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values))
    b = covariance / sum((x - mean_x) ** 2 for x in range(count))
    excursion = (max(values) - min(values)) / mean_y
    slope = b * (count - 1) / mean_y
    holds = _within(excursion, EXCURSION_LIMIT) and _within(abs(slope), SLOPE_LIMIT)
    state: SteadyState = "steady" if holds else "not steady"
    return Steadiness(state=state, excursion=excursion, slope=slope)


def last_rounds(
    values: Sequence[float],
    phases: Sequence[Phase],
    stalls: Sequence[Stall] = (),
    *,
    round_s: int = ROUND_S,
) -> Steadiness:
    """The verdict on the last five rounds of a step, from one value a second.

    A round is the mean of `round_s` seconds. Steady in a burst is said as such: it is not what
    lasts (MR-3). Where the rounds lie in several phases no figure stands for them, and they are not
    steady whatever the rule says; nor are those of which more than MOST_STALLED stalled.
    """
    count = ROUNDS * round_s
    if len(values) < count:
        return Steadiness(state="too short", round_s=round_s)
    begin = len(values) - count
    rounds = [fmean(values[i : i + round_s]) for i in range(begin, len(values), round_s)]
    result = steady(rounds)
    within = [phase for phase in phases if phase.end_s > begin and phase.start_s < len(values)]
    kind = within[0].kind if len(within) == 1 else None
    stalled = sum(max(0.0, min(s.end_s, len(values)) - max(s.start_s, begin)) for s in stalls)
    moves = kind not in ("ramp", "stall") and stalled <= MOST_STALLED * count
    holds = result.state == "steady" and kind is not None and moves
    state: SteadyState = "steady" if holds else "not steady"
    return result.model_copy(update={"state": state, "kind": kind, "round_s": round_s})


def _within(value: float, limit: float) -> bool:
    # Both limits are inclusive; 1e-12 keeps a value that lies on one there after rounding.
    return value <= limit + 1e-12

"""What no level says of a series: that it drifts, dips at a period, or goes between two rates.

    drift      a straight line through the logs of means of 10 s: it changes by 20 % or more from
               end to end, and by four standard errors, at the residuals' lag-1 correlation, and
               fits better than two levels
    dips       five or more stretches of seconds below 80 % of the median, and below it by four
               standard deviations (1.4826 MAD), in less than 40 % of the time, of which four in
               five intervals are within 15 % (or 2 s) of their median or a multiple of it
    two modes  the best division of the means of 5 s into two groups: their means differ by 20 %
               and by five times their spread, each has a tenth of the seconds, and the series goes
               between them five times or more, and stays for three seconds on average; over runs
               two runs each, and three times
    latency    the 99th percentile is 50 times the median: that of a log-normal distribution is
               33 times as high at a standard deviation of 1.5 of the logs

Of white and correlated noise at most 5 % are called any of these (benchmarks/rates.py). All
thresholds are our choice.
"""

import math
from collections.abc import Sequence

import numpy as np

from diskbench.analysis.changes import LEAST_CHANGE
from diskbench.analysis.figure import levels_of, main_of
from diskbench.analysis.segmentation import Floats
from diskbench.model.phase import Dips, Drifted, StepPhases, TwoModes

_DRIFT_BIN_S, _FEWEST_BINS, _DRIFT_ERRORS = 10, 12, 4.0
_MOST_PHI = 0.97
_FEWEST_DIPS, _MOST_LOW = 5, 0.4
_DIP_SIGMAS = 4.0
_LEAST_PERIOD_S = 10
"""A disk that serves I/O in batches of seconds has no level below them."""
_REGULAR, _REGULAR_S, _MOSTLY = 0.15, 2.0, 0.8
_MODE_BIN_S, _APART, _LEAST_SHARE, _FEWEST_TURNS = 5, 5.0, 0.1, 5
_LEAST_STAY_S = 3
_FEWEST_RUNS, _FEWEST_RUN_TURNS = 2, 3
_TAIL = 50.0
_LEAST_SIGMA = 1e-3
_FLOOR = 1e-3


def with_unsteady(course: StepPhases, values: Floats) -> StepPhases:
    """Return the phases of a step with what no level says of its seconds, of one that went through
    burst credit of those at the level of its figure."""
    levels = levels_of(course)
    kinds = {phase.kind for phase in course.phases}
    if "baseline" in kinds and levels:
        main = levels[main_of(levels)]
        values = values[int(main.start_s) : int(main.end_s)]
    drifted = drift(values) if not levels else None
    found = dips(values) if drifted is None else None
    modes = two_modes(values) if drifted is None and found is None else None
    return course.model_copy(update={"drifted": drifted, "dips": found, "modes": modes})


def drift(values: Floats) -> Drifted | None:
    """Return from where to where a series drifts; None if it does not."""
    many = values.size // _DRIFT_BIN_S
    if many < _FEWEST_BINS:
        return None
    y = _logs(values[: many * _DRIFT_BIN_S].reshape(many, _DRIFT_BIN_S).mean(axis=1))
    x = np.arange(many) - (many - 1) / 2
    slope = float((x * y).sum() / (x**2).sum())
    change = slope * (many - 1)
    if abs(change) < -math.log(1 - LEAST_CHANGE):
        return None
    residuals = y - y.mean() - slope * x
    squares = float((residuals**2).sum())
    sigma = max(math.sqrt(squares / (many - 2)), _LEAST_SIGMA)
    own = float((residuals[1:] * residuals[:-1]).sum()) / squares if squares > 0 else 0.0
    phi = min(max(own + 4 / many, 0.0), _MOST_PHI)  # a line takes some of the correlation away
    error = sigma / math.sqrt(float((x**2).sum())) * math.sqrt((1 + phi) / (1 - phi))
    # One cut between two levels may leave less than the line.
    before, after = _errors(y)
    if abs(slope) < _DRIFT_ERRORS * error or float(np.min(before + after)) < squares:
        return None
    fifth = max(1, values.size // 5)
    first, last = float(np.median(values[:fifth])), float(np.median(values[-fifth:]))
    return Drifted(first=first, last=last)


def _errors(y: Floats) -> tuple[Floats, Floats]:
    """Return the squared errors of what is before and after each cut between two levels."""
    counts, n = np.arange(1, y.size), y.size
    sums, squares = np.cumsum(y), np.cumsum(y**2)
    before = squares[:-1] - sums[:-1] ** 2 / counts
    return before, (squares[-1] - squares[:-1]) - (sums[-1] - sums[:-1]) ** 2 / (n - counts)


def dips(values: Floats) -> Dips | None:
    """Return the dips of a series that come at a period; None if there are none."""
    middle = float(np.median(values)) if values.size else 0.0
    if middle <= 0:
        return None
    logs = _logs(values)
    sigma = 1.4826 * float(np.median(np.abs(logs - math.log(middle))))
    low = logs < math.log(middle) + min(math.log(1 - LEAST_CHANGE), -_DIP_SIGMAS * sigma)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], low, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    apart = np.concatenate([[True], starts[1:] - ends[:-1] > 1]) if starts.size else starts > 0
    starts = starts[apart]
    share = float(low.mean())
    if starts.size < _FEWEST_DIPS or share > _MOST_LOW:
        return None
    between = np.diff(starts).astype(np.float64)
    period = float(np.median(between))
    times = np.maximum(np.round(between / period), 1.0)
    off = np.abs(between - times * period) / times
    is_regular = off <= max(_REGULAR * period, min(_REGULAR_S, period / 4))
    if period < _LEAST_PERIOD_S or is_regular.mean() < _MOSTLY or times.mean() > 1 / _MOSTLY:
        return None
    return Dips(
        every_s=period,
        share=share,
        to=float(np.median(values[low])),
        usual=float(np.median(values[~low])),
    )


def two_modes(values: Floats) -> TwoModes | None:
    """Return the two rates between which a series goes; None if it has one, or keeps to one."""
    many = values.size // _MODE_BIN_S
    if many < _FEWEST_BINS:
        return None
    means = values[: many * _MODE_BIN_S].reshape(many, _MODE_BIN_S).mean(axis=1)
    modes = _modes(means, round(_LEAST_SHARE * many), _FEWEST_TURNS)
    if modes is None:
        return None
    # Bins that lie in both are of neither: each second is of the nearer one.
    is_low = values < math.sqrt(modes.high * modes.low)
    turns = int(np.count_nonzero(is_low[1:] != is_low[:-1])) + 1
    is_one = is_low.all() or not is_low.any()
    if is_one or not values[is_low].any() or values.size < _LEAST_STAY_S * turns:
        return None  # of pauses the stalls tell
    return TwoModes(
        high=float(np.median(values[~is_low])),
        low=float(np.median(values[is_low])),
        low_share=float(is_low.mean()),
    )


def two_modes_of_runs(values: Sequence[float]) -> TwoModes | None:
    """Return the two rates between which runs go; None if they have one, or keep to one."""
    runs = np.asarray(values, dtype=np.float64)
    fewest = max(_FEWEST_RUNS, round(_LEAST_SHARE * runs.size))
    return _modes(runs, fewest, _FEWEST_RUN_TURNS)


def _modes(values: Floats, fewest: int, turns: int) -> TwoModes | None:
    n = values.size
    if n < 2 * fewest or float(np.median(values)) <= 0:
        return None
    logs = _logs(values)
    y = np.sort(logs)
    low, high = _errors(y)
    at = int(np.argmin(low + high))
    few = at + 1
    if min(few, n - few) < fewest:
        return None
    below, above = y[:few], y[few:]
    distance = float(above.mean() - below.mean())
    spread = max(math.sqrt(max(float(low[at] + high[at]), 0.0) / max(n - 2, 1)), _LEAST_SIGMA)
    is_above = logs >= y[few]
    changes = int(np.count_nonzero(is_above[1:] != is_above[:-1]))
    if distance < max(_APART * spread, -math.log(1 - LEAST_CHANGE)) or changes < turns:
        return None
    return TwoModes(
        high=float(np.median(values[is_above])),
        low=float(np.median(values[~is_above])),
        low_share=few / n,
    )


def two_latencies(p50_ns: float | None, p99_ns: float | None) -> bool:
    """Whether a median and a 99th percentile are of two kinds of I/O, and not of one."""
    return bool(p50_ns and p99_ns and p99_ns >= _TAIL * p50_ns)


def _logs(values: Floats) -> Floats:
    floor = max(float(np.median(values)) * _FLOOR, 1e-9)
    logs: Floats = np.log(np.maximum(values, floor))
    return logs

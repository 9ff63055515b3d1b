"""Fewer points for a long series, without losing its extremes and stalls.

Of each of n_out / 2 equal parts the lowest and the highest second are drawn (`tsdownsample`): with
600 points on 300 pixels those of each pixel, so that one second of a day that fell or rose beyond
its neighbours is seen, and the band of noise is as wide as it was. To these are added

    the first and the last second
    of each stall its first and last second, and the seconds around it, or the line would lean
    where the stalls are more than half of the points can show, the lowest second of each of
    n_out / 4 equal parts, which is a second of a stall in each part that has one
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

MOST_POINTS = 600
"""Points for a line of 300 pixels at double pixel density. Our choice."""
LEAST_POINTS = 16
STALLED = 0.01
"""Share of the median of the active seconds: a second below it counts as stalled."""


def kept(values: Floats, n_out: int = MOST_POINTS) -> Places:
    """The indices of at most `n_out` values (at least 16) that represent the series, ascending.

    NaN marks a second without data; NaNs are dropped when the series is thinned.
    """
    import numpy as np

    n_out = max(n_out, LEAST_POINTS)
    known = np.flatnonzero(~np.isnan(values))
    if known.size <= n_out:
        return known
    inside = _thinned(values[known], n_out)
    return np.asarray(known[inside], dtype=np.int64)


def _thinned(values: Floats, n_out: int) -> Places:
    import numpy as np
    from tsdownsample import MinMaxDownsampler

    extremes = np.array([0, values.argmin(), values.argmax(), values.size - 1])
    must = np.union1d(extremes, _stall_places(values, n_out // 2))
    room = (n_out - must.size) // 2 * 2  # a lowest and a highest of each part
    if room < 2:
        return must
    sampler = MinMaxDownsampler()  # type: ignore[no-untyped-call]
    shape = sampler.downsample(np.ascontiguousarray(values), n_out=room)
    return np.union1d(must, shape.astype(np.int64))


def _stall_places(values: Floats, most: int) -> Places:
    """The indices of at most `most` seconds that show the stalls."""
    import numpy as np

    still = stalled(values)
    if not still.any():
        return np.array([], dtype=np.int64)
    edges = np.diff(np.concatenate(([0], still.astype(np.int8), [0])))
    first, last = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    shown = np.unique(np.concatenate((first - 1, first, last, last + 1)))
    shown = shown[(shown >= 0) & (shown < values.size)]
    if shown.size <= most:
        return shown
    parts = np.array_split(np.arange(values.size), max(most // 2, 1))
    return np.array([part[values[part].argmin()] for part in parts], dtype=np.int64)


def stalled(values: Floats) -> NDArray[np.bool_]:
    """Whether each second did almost nothing, relative to the median of the active seconds."""
    import numpy as np

    moving = values[values > 0]
    if not moving.size:
        return np.zeros(values.size, dtype=np.bool_)
    return np.asarray(values <= STALLED * float(np.median(moving)), dtype=np.bool_)

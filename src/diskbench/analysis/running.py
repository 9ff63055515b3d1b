"""Running means and medians of a series: one value a figure, of the figures around it.

A window of even size reaches one figure further back than forward, and its median is the upper one
of the two in the middle. All as `scipy.ndimage` does it, which is 113 MB (2026-11-23).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Edge = Literal["edge", "symmetric"]
"""What lies beyond the ends: the first and the last figure repeated, or the series mirrored."""
_AT_ONCE = 8192
"""Windows held in memory at a time: 8 MB where they are two minutes wide."""


def running_mean(values: Floats, size: int) -> Floats:
    """Return the means of `size` figures around each; the ends are repeated."""
    import numpy as np

    means: Floats = np.convolve(_padded(values, size, "edge"), np.full(size, 1 / size), "valid")
    return means


def running_median(values: Floats, size: int, edge: Edge) -> Floats:
    """Return the medians of `size` figures around each."""
    import numpy as np

    windows = np.lib.stride_tricks.sliding_window_view(_padded(values, size, edge), size)
    medians = np.empty(values.size)
    for begin in range(0, values.size, _AT_ONCE):
        part = windows[begin : begin + _AT_ONCE]
        medians[begin : begin + _AT_ONCE] = np.partition(part, size // 2, axis=1)[:, size // 2]
    return medians


def _padded(values: Floats, size: int, edge: Edge) -> Floats:
    import numpy as np

    padded: Floats = np.pad(values, (size // 2, size - 1 - size // 2), mode=edge)
    return padded

"""A series in one line of text."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

_LEVELS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], *, width: int = 24) -> str:
    """`values` as at most `width` blocks, from zero to their maximum; empty for no values.

    The scale starts at zero, so that half the value has half the height. More values than `width`
    are averaged in groups of nearly equal size.
    """
    if not values or width < 1:
        return ""
    shown = list(values)
    if len(shown) > width:
        edges = [round(i * len(shown) / width) for i in range(width + 1)]
        shown = [fmean(values[a:b]) for a, b in pairwise(edges)]
    top = max(shown)
    if top <= 0:
        return _LEVELS[0] * len(shown)
    last = len(_LEVELS) - 1
    return "".join(_LEVELS[max(0, min(last, round(value / top * last)))] for value in shown)

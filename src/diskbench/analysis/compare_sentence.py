"""A comparison in one plain sentence."""

from __future__ import annotations

from diskbench.model.comparison import Compared

_RATES = {"iops": "IOPS", "bytes_per_s": "bytes a second"}
_TIMES = {
    "lat_mean_ns": "mean latency",
    "p50_ns": "median latency",
    "p99_ns": "99th percentile of latency",
    "p99_9_ns": "99.9th percentile of latency",
}


def sentence(compared: Compared) -> str:
    """What may be said of B against A, with the interval and the number of independent pairs."""
    unit = "blocks" if compared.blocks else "independent pairs"
    if compared.interval is None:
        return (
            f"B/A is {compared.ratio:.2f}{_of_pairs(compared)}; no interval (n = {compared.n}): at "
            f"least six {unit} are needed to tell a difference from noise"
        )
    count = f"n = {compared.n} blocks on one machine" if compared.blocks else f"n = {compared.n}"
    within = f"{percent(compared.interval.low)} to {percent(compared.interval.high)}, {count}"
    match compared.finding:
        case "differs":
            return f"{_difference(compared)}{_of_pairs(compared)} ({within})"
        case "alike":
            return f"A and B are alike within 5 % ({within})"
        case "small":
            below = ", which is below the 5 % that count"
            return f"{_difference(compared)}{_of_pairs(compared)}{below} ({within})"
        case _:
            return f"the difference is smaller than the noise ({within})"


def _of_pairs(compared: Compared) -> str:
    """What the ratio is of, where it is not that of the medians that stand beside it."""
    same = percent(compared.ratio) == percent(compared.of_medians)
    return "" if same else " in the median pair"


def _difference(compared: Compared) -> str:
    share = f"{abs(compared.ratio - 1):.{0 if abs(compared.ratio - 1) >= 0.095 else 1}%}".replace(
        "%", " %"
    )
    more = compared.ratio > 1
    if compared.metric in _RATES:
        return f"B does {share} {'more' if more else 'fewer'} {_RATES[compared.metric]} than A"
    higher = "higher" if more else "lower"
    return f"the {_TIMES[compared.metric]} of B is {share} {higher} than that of A"


def percent(ratio: float) -> str:
    """Return a ratio as a difference: `+4.0 %`, `−12 %`."""
    change = (ratio - 1) * 100
    return f"{'−' if change < 0 else '+'}{abs(change):.{0 if abs(change) >= 9.95 else 1}f} %"

"""Series, histograms and rows of runs with known answers, for charts inside a run."""

import numpy as np
import polars as pl
from tests.unit.report import made

from diskbench.model.expectation import Expectation, ExpectedLevel, Load


def series(values, *, step="burst", index=1, of_round=None, directions=("read",), latency=True):
    """A frame as load_series gives it; the values are divided among the directions."""
    share = len(directions)
    columns = {"second": list(range(len(values))), "iops": [float(v) / share for v in values]}
    columns["bytes_per_s"] = [4096.0 * v / share for v in values]
    least = {"lat_mean_ns": (32e9, 0), "p50_ns": (30e9, 0), "p99_ns": (60e9, 299),
             "lat_max_ns": (90e9, 0)}  # fmt: skip
    for name, (of, above) in least.items():
        latencies = [of / v if v > above and latency else None for v in values]
        columns[name] = pl.Series(latencies, dtype=pl.Float64)
    return pl.concat(_frame(step, index, of_round, way, **columns) for way in directions)


def level(iops, limit="disk-iops"):
    return ExpectedLevel(
        iops=iops, low_iops=iops, high_iops=iops, bytes_per_s=4096 * iops, limited_by=limit
    )


def expectation(begin=3000.0, lasting=100.0, lasts_s=310.0):
    levels = {"begin": level(begin), "lasting": level(lasting), "lasts_s": lasts_s}
    return Expectation(load=Load(block_bytes=4096, depth=32), reads=None, writes=None, **levels)


def histogram(counts, *, step="burst", index=1, direction="read", kind="lat", of_round=None):
    """A frame as load_histogram gives it, from {ns: count}."""
    return _frame(
        step, index, of_round, direction,
        kind=[kind] * len(counts), latency_ns=list(counts), count=list(counts.values()),
    )  # fmt: skip


def _frame(step, index, of_round, direction, **columns):
    n = max(map(len, columns.values()))
    same = {"run_id": "01run", "step_index": index, "step": step, "direction": direction}
    rounds = pl.Series([of_round] * n, dtype=pl.Int64)
    return pl.DataFrame({k: [v] * n for k, v in same.items()} | {"round": rounds} | columns)


def counted(rows, *, step="burst", index=1, of_round=None, direction="read"):
    """A frame as latency_seconds gives it, from (second, from_ns, to_ns, count)."""
    seconds, low, high, counts = map(list, zip(*rows, strict=True))
    edges = {"from_ns": list(map(float, low)), "to_ns": list(map(float, high))}
    return _frame(step, index, of_round, direction, second=seconds, count=counts, **edges)


def row(step, *, iops, iodepth=1, jobs=1, role="measure", p50=1e6, p99=5e6, run_id="01run", **more):
    return made.row(
        step, run_id=run_id, step_index=1, role=role, jobs=jobs, rw="randread", block_bytes=4096,
        iodepth=iodepth, iops=iops, bytes_per_s=4096 * iops, p50_ns=p50, p99_ns=p99, **more,
    )  # fmt: skip


def lognormal(n, seed=1):
    """{ns: count} of n latencies around 1 ms."""
    values = np.random.default_rng(seed).lognormal(np.log(1e6), 0.5, n).astype(int) // 10_000
    found, counts = np.unique(values * 10_000, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))

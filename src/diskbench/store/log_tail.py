"""The last seconds of a step, which fio leaves out of its averaged logs: what its JSON counts
beyond the logged windows is put there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from diskbench.fio.logs import SLIVER_S, LogKind
from diskbench.store.log_windows import Windows

if TYPE_CHECKING:
    import duckdb

_UNITS: dict[LogKind, tuple[str, int]] = {"iops": ("ios", 1), "bw": ("bytes", 1024)}
"""The column of `counted` that a log of rates fills, and its unit in units of the column."""


def fill_tail(
    db: duckdb.DuckDBPyConnection,
    windows: Sequence[Windows],
    zero_ms: int,
    *,
    ios: int,
    size: int,
    runtime_s: float,
) -> None:
    """Add to table `counted` what fio's JSON counts beyond the `windows` of one direction.

    Whether fio still logs the last window of a job is a matter of a millisecond, so each job's
    logged time is looked at, of its iops and its bw log apart; a kind without a log stays without.
    With t_j the time that job j did not log, every job gets the rate (total - sum logged) / sum t_j
    in the seconds that it did not log, but at most

    * the highest rate that its own log holds: fio rounds each window down and each second is
      counted as a whole one, so the difference to the JSON has the rounding of the whole log in it
      (a day at 3,000 IOPS ended in a second with 752,918), and windows lost in the middle as well;
    * in IOPS, what the bytes of the same second make in I/Os of the mean size of the JSON.

    What is left over is no part of any second. fio/audit.py says how far logs and JSON differ.
    """
    totals: dict[LogKind, float] = {"iops": ios, "bw": size / 1024}
    tails = {
        kind: _tail(
            db, [job_log for job_log in windows if job_log.kind == kind], total, runtime_s, zero_ms
        )
        for kind, total in totals.items()
    }
    kib_logs = {job_log.job: job_log for job_log in windows if job_log.kind == "bw"}
    for job, second in sorted({place for tail in tails.values() for place in tail}):
        rate, kib = (tails[kind].get((job, second)) for kind in totals)
        if rate is not None and size:
            known = kib
            if known is None and job in kib_logs:
                known = _highest_in(kib_logs[job], second, zero_ms)
            if known is not None:
                rate = min(rate, known * 1024 * ios / size)
        db.execute(
            "INSERT INTO counted VALUES (?, ?, ?, ?)",
            [second, windows[0].direction, rate, None if kib is None else kib * 1024],
        )


def _tail(
    db: duckdb.DuckDBPyConnection,
    windows: Sequence[Windows],
    total: float,
    runtime_s: float,
    zero_ms: int,
) -> dict[tuple[int, int], float]:
    """(job, second) that the `windows` of one kind and direction leave out, with the rate there, in
    the log's unit, as `total` is."""
    ends = {job_log.job: (int(job_log.times[-1]) - zero_ms) / 1000 for job_log in windows}
    short = [job_log for job_log in windows if runtime_s - ends[job_log.job] > SLIVER_S]
    if not short:
        return {}
    column, unit = _UNITS[short[0].kind]
    counted = db.execute(
        f"SELECT coalesce(sum({column}), 0) FROM counted WHERE direction = ?", [short[0].direction]
    ).fetchone()
    logged = counted[0] / unit if counted else 0.0
    rate = max(total - logged, 0.0) / sum(runtime_s - ends[job_log.job] for job_log in short)
    # A window ends a little after its second; the sliver keeps 1.001 s from being second 1.
    # Where no second is left, what is missing lies in one that other windows stand for.
    return {
        (job_log.job, second): min(rate, float(job_log.values.max()))
        for job_log in short
        for second in range(
            math.floor(ends[job_log.job] + SLIVER_S), math.ceil(runtime_s - SLIVER_S)
        )
    }


def _highest_in(job_log: Windows, second: int, zero_ms: int) -> float:
    """The highest value of a log in one second; 0 where it has none."""
    seconds, index = job_log.placed(zero_ms)
    return float(job_log.values[index[seconds == second]].max(initial=0))

"""Windows of fio's averaged logs that came late while I/O went on: they are no stalls.

fio's helper thread writes rates: what was done since it last looked, divided by the time since
then (`__add_samples` in fio's stat.c). Where it is kept from looking for three seconds, one row
stands for all three. Where nothing is done it looks and writes no row, and the next row stands for
its own second alone. In the log both leave the same gap. Which of both it was,

* the latency log of the same job says, where there is one: its rows are written as I/Os complete;
* else what fio counted: the gaps were I/O where what the windows lack of the JSON's total is nearer
  to the rates of the rows after them, over the gaps, than to nothing.

Without either a gap is a stall, as the log has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.fio.logs import LATE_WINDOWS, MOSTLY

if TYPE_CHECKING:
    import duckdb


def late_by_latencies(db: duckdb.DuckDBPyConnection) -> None:
    """Let rows of rates reach back over a gap in most of whose windows I/Os completed."""
    db.execute(
        f"""
        UPDATE gaps AS row SET late = true FROM usual
        WHERE kind IN ('iops', 'bw') AND gap >= {LATE_WINDOWS} * usual.width
            AND {MOSTLY} * (gap - usual.width) <= (
            SELECT count(DISTINCT seen.time // seen.usual) * any_value(seen.usual)
            FROM windows AS seen
            WHERE seen.kind IN ('lat', 'clat') AND seen.job = row.job
                AND seen.direction = row.direction
                AND seen.time > row.time - row.gap + seen.usual // 2
                AND seen.time < row.time - seen.usual // 2
        )
        """
    )


def late_by_total(
    db: duckdb.DuckDBPyConnection, direction: int, *, kind: str, total: float, runtime_s: float
) -> None:
    """The same where no latency was logged in this direction: by the `total` of fio's JSON, in the
    unit of the log. All gaps of its jobs are taken for the same thing."""
    row = db.execute(
        f"""
        SELECT sum(value * width) FILTER (of_kind) / 1000,
            sum(value * (gap - usual)) FILTER (of_kind AND gap >= {LATE_WINDOWS} * usual) / 1000,
            count(*) FILTER (kind IN ('lat', 'clat')),
            arg_max(value, time) FILTER (of_kind), max(time) FILTER (of_kind),
            count(DISTINCT job) FILTER (of_kind), any_value(ms)
        FROM (SELECT *, kind = ? AS of_kind FROM windows WHERE direction = ?), zero
        """,
        [kind, direction],
    ).fetchone()
    if row is None or row[0] is None or not row[1] or row[2]:
        return
    logged, within, _, last, end_ms, jobs, zero_ms = row
    tail_s = max(runtime_s - (end_ms - zero_ms) / 1000, 0.0)
    if total - logged - last * tail_s * jobs >= MOSTLY * within:
        db.execute(
            "UPDATE gaps SET late = true FROM usual "
            f"WHERE kind = ? AND direction = ? AND gap >= {LATE_WINDOWS} * usual.width",
            [kind, direction],
        )

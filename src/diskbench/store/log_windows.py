"""Averaged logs (log_avg_msec) as arrays: what time each of their windows stands for.

A window reaches back to the one before it in the same log, but no further than the usual width:
windows without I/O have no row. One that came late (store/log_late.py) stands for the whole gap.
DuckDB parses a file at a time and NumPy does the arithmetic a log at a time, so that the logs of a
day of 16 jobs take the memory of their times and values and no sort of all of them.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diskbench.fio.logs import LogKind
from diskbench.store.log_scan import FEW_BYTES, Log, columns, scan

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_Part = tuple[Ints, Ints, Ints | None]

if TYPE_CHECKING:
    import duckdb

_LOGS_AT_ONCE = 2
_USUAL_MS = 1000
"""Of a log of one window: fio's own default, and ours."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The rows of one kind, job and direction (fio's number), in order of time, in ms.

    `maxima`: the highest value of each window, where it was logged. `usual`: the usual width of a
    window of the step. `late`: whether a row stands for all of the gap before it; None for no row.
    `first_gap`: the time before the first row, where the job was at work for longer than a window.
    """

    kind: LogKind
    job: int
    direction: int
    times: Ints
    values: Ints
    maxima: Ints | None
    usual: int = _USUAL_MS
    late: Bools | None = None
    first_gap: int | None = None

    @property
    def gaps(self) -> Ints:
        """The time since the row before; for the first `first_gap`, else the usual width."""
        import numpy as np

        first = self.usual if self.first_gap is None else self.first_gap
        return np.diff(self.times, prepend=self.times[0] - first)

    @property
    def widths(self) -> Ints:
        """How long each row was measured: 0 for a second row at the same time."""
        import numpy as np

        gaps = self.gaps
        widths = np.minimum(gaps, self.usual)
        return widths if self.late is None else np.where(self.late, gaps, widths)

    @property
    def reaches(self) -> Ints:
        """How far back each row counts: the usual width, or more where it came late."""
        import numpy as np

        usual = np.full(self.times.size, self.usual, dtype=np.int64)
        return usual if self.late is None else np.where(self.late, self.gaps, usual)

    def placed(self, zero_ms: int) -> tuple[Ints, Ints]:
        """The second of each row's middle, and the row's index; a row that reaches over more than a
        second is there once for each second that it covers."""
        import numpy as np

        reaches = self.reaches
        first = whole(self.times - reaches - zero_ms + min(self.usual, 1000) // 2, 1000)
        index = np.arange(self.times.size)
        counts = np.maximum(np.floor(reaches / 1000 + 0.5).astype(np.int64), 1)
        if (counts == 1).all():
            return first, index
        index = np.repeat(index, counts)
        within = np.arange(index.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return first[index] + within, index


def whole(counts: Ints, by: int) -> Ints:
    """`counts / by` towards zero."""
    import numpy as np

    return np.where(counts >= 0, counts // by, -(-counts // by))


def read_windows(db: duckdb.DuckDBPyConnection, logs: Sequence[Log]) -> list[Windows]:
    """The averaged `logs`, by kind, job and direction. Raises FioOutputUnreadable."""
    parts: dict[tuple[LogKind, int, int], list[_Part]] = defaultdict(list)
    for log, by_way in zip(logs, _parts_of(db, logs), strict=True):
        for way, part in by_way:
            parts[log.name.kind, log.name.job, way].append(part)
    windows = [
        _in_order(Windows(kind, job, way, *_joined(several)))
        for (kind, job, way), several in sorted(parts.items())
    ]
    usual = _usual_ms(windows)
    return [replace(job_log, usual=usual) for job_log in windows]


def _parts_of(db: duckdb.DuckDBPyConnection, logs: Sequence[Log]) -> list[list[tuple[int, _Part]]]:
    """Times, values and maxima of each log, by direction. DuckDB reads a packed log with one
    thread, so two cores read two logs at a time; more of them would hold more logs in memory."""
    if sum(log.path.stat().st_size for log in logs) < FEW_BYTES or (os.cpu_count() or 1) == 1:
        return [_parts(db, log) for log in logs]
    db.execute("SET threads = 1")
    with ThreadPoolExecutor(_LOGS_AT_ONCE) as pool:
        parts = list(pool.map(lambda log: _parts(db.cursor(), log), logs))
    db.execute("RESET threads")
    return parts


def _parts(db: duckdb.DuckDBPyConnection, log: Log) -> list[tuple[int, _Part]]:
    import numpy as np

    arrays = columns(db, f"SELECT * EXCLUDE (bs) FROM ({scan(log)})")
    ways, parts = arrays["direction"], []
    for way in np.unique(ways).tolist():
        mine = slice(None) if (ways == way).all() else ways == way
        maxima = arrays["maximum"][mine] if "maximum" in arrays else None
        parts.append((int(way), (arrays["time"][mine], arrays["value"][mine], maxima)))
    return parts


def _joined(several: Sequence[_Part]) -> _Part:
    """Several logs of one name as one; without maxima where one has none."""
    import numpy as np

    if len(several) == 1:
        return several[0]
    times, values, maxima = zip(*several, strict=True)
    known = [values for values in maxima if values is not None]
    return (
        np.concatenate(times),
        np.concatenate(values),
        np.concatenate(known) if len(known) == len(several) else None,
    )


def _in_order(job_log: Windows) -> Windows:
    import numpy as np

    if (job_log.times[1:] >= job_log.times[:-1]).all():
        return job_log
    order = np.argsort(job_log.times, kind="stable")
    maxima = None if job_log.maxima is None else job_log.maxima[order]
    return replace(job_log, times=job_log.times[order], values=job_log.values[order], maxima=maxima)


def _usual_ms(windows: Sequence[Windows]) -> int:
    """The usual width of a window: the median of the gaps, to the tenth of a second. fio wakes up a
    little late, never early: the tenth is what was meant."""
    import numpy as np

    counts: Counter[int] = Counter()  # few gaps differ, and all of a day would take 100 MB
    for job_log in windows:
        gaps, many = np.unique(np.diff(job_log.times), return_counts=True)
        counts.update(dict(zip(gaps.tolist(), many.tolist(), strict=True)))
    positive = np.array(sorted(gap for gap in counts if gap > 0))
    if not positive.size:
        return _USUAL_MS
    reached = np.cumsum([counts[gap] for gap in positive.tolist()])
    half = reached[-1] / 2
    middle = positive[[np.searchsorted(reached, half, side) for side in ("left", "right")]].mean()
    return max(int(np.floor(middle / 100 + 0.5)) * 100, 1)

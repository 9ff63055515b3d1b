"""How many syncs a job made: fio counts some of them as short I/Os.

fio keeps one counter for each direction, `total_io_u[DDIR_RWDIR_SYNC_CNT]`, with places for read,
write, trim and fsync. fdatasync and sync_file_range have the next two numbers (io_ddir.h:
DDIR_DATASYNC 4, DDIR_SYNC_FILE_RANGE 5), so `io_completed` adds them beyond the end of that array:
into `short_io_u[read]` and `short_io_u[write]`, which follow it in `struct thread_stat` (stat.h).
`sync.total_ios` therefore counts fsync alone, while `sync.lat_ns.N` counts every sync (read in
fio's source of 2026, and observed with fio 3.33). Correct counts are left unchanged.
"""

from collections.abc import Mapping
from dataclasses import replace

from diskbench.fio.reported import DirectionStats
from diskbench.model.result import Direction

_HIDDEN_IN: tuple[Direction, ...] = ("read", "write")
_MISCOUNTED = ("fdatasync", "sync_file_range")


def count_syncs(
    directions: Mapping[Direction, DirectionStats],
) -> dict[Direction, DirectionStats]:
    """The directions of one job with every sync counted as a sync and no sync as a short I/O.

    The syncs among `short_ios` are those that `sync.lat_ns` counts and `sync.total_ios` lacks.
    Where fio timed no sync (disable_clat, gtod_reduce, or no N before fio 3.18), only the short
    I/Os of a direction in excess of its I/Os are known to be syncs.
    """
    by_direction = dict(directions)
    sync = by_direction.get("sync")
    if sync is None:
        return by_direction
    timed = sync.lat.samples if sync.lat else 0
    hidden = max(0, timed - sync.ios)
    counted = sync.ios
    for direction in _HIDDEN_IN:
        stats = by_direction.get(direction)
        if stats is None:
            continue
        moved = max(min(hidden, stats.short_ios), stats.short_ios - stats.ios)
        by_direction[direction] = replace(stats, short_ios=stats.short_ios - moved)
        hidden = max(0, hidden - moved)
        counted += moved
    counted = max(counted, timed)
    # fio 3.3 to 3.17 wrote a mean without N: then every sync that was counted was timed.
    lat = replace(sync.lat, samples=timed or counted) if sync.lat and counted else None
    by_direction["sync"] = replace(sync, ios=counted, lat=lat)
    return by_direction


def miscounts(options: Mapping[str, str]) -> bool:
    """Whether a job asks for syncs that fio counts as short I/Os."""
    return any(options.get(name, "0") not in {"0", ""} for name in _MISCOUNTED)

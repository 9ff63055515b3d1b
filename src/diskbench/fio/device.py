"""What the disk itself did beside what fio counted, from the counters that fio prints of it (text's
"Disk stats", JSON's `disk_util`, the end of a terse line).

They are of the whole process, with its ramp and its other steps, and of all that used the disk
meanwhile. So they give bounds:

    requests  those that ended, and those that were merged into others
    disks     those that lie on no other one that is listed; several together. Of two that are made
              of others one may lie on the other: then nothing is known
    fewer     with sectors: bytes < 95 % of fio's. Without them: requests < 95 % of fio's I/Os where
              each I/O is at least one request (direct, at random, blocks of 1,280 KiB and more);
              elsewhere the page cache may make one request of many blocks, of up to 1,280 KiB
              (BLK_DEF_MAX_SECTORS of Linux 4.3 to 6.14)
    all       95 % or more, and at most twice as much (a filesystem's own writes); beyond that other
              programs used the disk, and nothing follows. Requests show it for blocks of up to
              32 KiB, which no driver splits
    gathered  reads or writes in sequence, whose bytes the disk may all have moved, in less than
              half as many requests: the page cache read ahead, or gathered writes

Of several steps in one process, each did between what is left if the others did all of theirs on
the disk, and all that the disk did. The limits are our choice, the 95 % as in fio/warnings.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from diskbench.fio.declared import Options, is_set, options_of, rw_of
from diskbench.fio.reported import DiskUse, FioJob, FioOutput
from diskbench.units import KIB, NS_PER_S, format_bytes

ALL: Final = 0.95
_OTHERS: Final = 2.0
_ONE_EACH: Final = 0.05
_GATHERED: Final = 0.5
_SEGMENT: Final = 32 * KIB
_LARGEST: Final = 1280 * KIB
_UNREAD_S: Final = 0.25
"""fio reads the counters at this interval and not at its end (DISK_UTIL_MSEC of diskutil.h;
tried on 3.33: of 1 s of direct reads 13 to 19 % are missing, of 5 s 3 %)."""

Way = Literal["read", "write"]
WAYS: Final[tuple[Way, ...]] = ("read", "write")
_BLOCKS: Final[dict[Way, str]] = {"read": "reads", "write": "writes"}


@dataclass(frozen=True, slots=True)
class DeviceCount:
    """What the disks did of one direction of a step, as fractions of fio's I/O: `least` (None where
    it is not known) to `most`; and `of_all` steps of the process, where it had several.

    The disks did `requests`, fio `ios`, in all steps; `words` say of how much they did how much.
    `gathered_bytes` is the size of a request where the page cache made one of many blocks.
    """

    requests: int
    ios: int
    most: float
    least: float | None
    words: str
    of_all: float | None = None
    is_bound: bool = False
    gathered_bytes: int | None = None
    unseen: float = 0.0
    """The fraction of the step that ended after fio read the counters for the last time."""

    @property
    def share(self) -> float | None:
        """The fraction of fio's I/O that the disks did, 1 for all of it; None where the counters
        leave that open."""
        all_seen = ALL - self.unseen
        if self.most < all_seen:
            return self.most
        return 1.0 if self.least is not None and self.least >= all_seen else None

    @property
    def is_one_each(self) -> bool:
        """Whether each I/O of fio was one request of the disks."""
        return self.share == 1.0 and abs(self.requests / self.ios - 1) <= (_ONE_EACH + self.unseen)


def device_counts(output: FioOutput, options: Sequence[Options]) -> dict[Way, DeviceCount]:
    """What the disks did of a step, by direction; empty where fio lists no disk, or it is not known
    which it used. `options` are those of the step's jobs, as far as they are known."""
    disks = _used(output.disks)
    if not disks or any("mixed" in job.directions for job in (*output.jobs, *output.beside)):
        return {}
    counts = {way: _count(way, disks, output, options) for way in WAYS}
    return {way: count for way, count in counts.items() if count is not None}


def _used(disks: Sequence[DiskUse]) -> Sequence[DiskUse]:
    """The disks that fio's files are on, without those below them."""
    stacked = [disk for disk in disks if disk.stacked]
    if not stacked:
        return disks
    return stacked if len(stacked) == 1 else ()


def _count(
    way: Way, disks: Sequence[DiskUse], output: FioOutput, options: Sequence[Options]
) -> DeviceCount | None:
    of_step, of_beside = _sums(output.jobs, way), _sums(output.beside, way)
    if not of_step[0] or not of_step[1]:
        return None
    ios, size = of_step[0] + of_beside[0], of_step[1] + of_beside[1]
    requests = sum(_requests(disk, way) for disk in disks)
    of_disks = [disk.read_bytes if way == "read" else disk.write_bytes for disk in disks]
    moved_bytes = None if None in of_disks else sum(moved for moved in of_disks if moved)
    beside = [options_of(j, output, {}) for j in output.beside if _sums((j,), way)[0]]
    gathers = size < ios * _LARGEST and not all(
        # each of its I/Os becomes at least one request, if no memory answers it
        is_set(of_job, "direct") or (rw_of(of_job) or "").startswith("rand")
        for of_job in (*options, *beside)
    )
    if moved_bytes is not None:
        moved, part, total, is_exact = moved_bytes, of_step[1], size, True
        words = f"{format_bytes(moved)} of {format_bytes(total)}"
    elif gathers and requests < ALL * ios:
        moved, part, total, is_exact = requests * _LARGEST, of_step[1], size, False
        words = f"{requests:,} requests for {ios:,} {_BLOCKS[way]}"
    else:
        moved, part, total, is_exact = requests, of_step[0], ios, size <= ios * _SEGMENT
        words = f"{requests:,} of {ios:,} {_BLOCKS[way]}"
    least = None
    is_bound = moved_bytes is None and gathers and requests < ALL * ios
    if is_exact and moved <= _OTHERS * total:
        least = max(0.0, moved - (total - part)) / part
    seconds = _seconds(output.jobs, way)
    unseen = min(_UNREAD_S / seconds, 1.0) if seconds else 0.0
    is_gathered = (
        not of_beside[0]
        and all(rw_of(of_job) in ("read", "write", "rw", "readwrite") for of_job in options)
        and gathers
        and moved >= (ALL - unseen) * total
        and 0 < requests < _GATHERED * ios
    )
    return DeviceCount(
        requests=requests,
        ios=ios,
        most=min(moved / part, 1.0),
        least=least,
        words=words,
        of_all=min(moved / total, 1.0) if of_beside[0] else None,
        is_bound=is_bound,
        gathered_bytes=round((moved_bytes or size) / requests) if is_gathered else None,
        unseen=unseen,
    )


def _sums(jobs: Iterable[FioJob], way: Way) -> tuple[int, int]:
    """The I/Os and bytes of a direction."""
    stats = [job.directions[way] for job in jobs if way in job.directions]
    return sum(of_job.ios for of_job in stats), sum(of_job.bytes for of_job in stats)


def _seconds(jobs: Iterable[FioJob], way: Way) -> float:
    """The longest run time of a direction."""
    stats = [job.directions[way] for job in jobs if way in job.directions]
    return max((of_job.runtime_ns for of_job in stats), default=0) / NS_PER_S


def _requests(disk: DiskUse, way: Way) -> int:
    if way == "read":
        return disk.read_ios + disk.read_merges
    return disk.write_ios + disk.write_merges

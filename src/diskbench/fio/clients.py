"""What `fio --client` prints for several servers: the jobs of each, and their sum (client.c)."""

import re
from collections.abc import Sequence
from typing import Final

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.reported import FioJob

ALL_CLIENTS: Final = "All clients"
"""How fio names the sum, which it adds as one more job where it has more than one server."""
HOST: Final = re.compile(r"^<[^<>\s]{1,255}> ")
"""What stands before a line that a server printed."""
SERVER: Final = re.compile(
    r"^hostname=\S{1,255}, be=.{0,200}\bfio=(?P<version>fio-\d\S{0,40}?)(?:,|$)"
)
"""The line with which the client greets a server."""


def of_clients(jobs: Sequence[FioJob]) -> bool:
    """Whether the jobs are those of several servers: their sum is among them."""
    return any(job.name == ALL_CLIENTS for job in jobs)


def without_sum(jobs: Sequence[FioJob], *, where: str) -> tuple[FioJob, ...]:
    """The jobs of the servers; where only the sum was kept, the sum.

    Raises FioOutputUnreadable where the servers' I/Os do not make the sum, as in a text that was
    cut. Bytes stand in where I/Os are not counted.
    """
    own = tuple(job for job in jobs if job.name != ALL_CLIENTS)
    sums = [job for job in jobs if job.name == ALL_CLIENTS]
    if not own or not sums:
        return tuple(jobs)
    for words, count in (("I/Os", _ios), ("bytes", _bytes)):
        parts, summed = [count(job) for job in own], [count(job) for job in sums]
        if None in parts or None in summed:
            continue
        of_parts, of_sum = sum(n for n in parts if n), sum(n for n in summed if n)
        # Terse output has whole KiB, so each job may lack almost one.
        if abs(of_parts - of_sum) > (1024 * len(jobs) if words == "bytes" else 0):
            raise FioOutputUnreadable(
                f"{where}: its servers did {of_parts:,} {words}, and {ALL_CLIENTS!r} says "
                f"{of_sum:,}",
                advice="a server's part may be missing: import the whole output, or only that line",
            )
        break
    return own


def _ios(job: FioJob) -> int | None:
    counted = all(stats.counted for stats in job.directions.values())
    return job.ios if counted else None


def _bytes(job: FioJob) -> int:
    return sum(stats.bytes for name, stats in job.directions.items() if name != "sync")

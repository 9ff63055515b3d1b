"""The load that a step puts on its disk or disks, read from its job file: pure.

Jobs of one step that differ only in count and direction are one load. Others have `is_one` False:
the load is then that of the smallest blocks, which uses up credit soonest, and no expectation is
derived from it. In a job that waits for each write (fsync, O_SYNC) each block is one request; what
a filesystem's journal adds is unknown.

With a host cache the first pass reads data that is not cached yet, and each later pass reads what
the pass before left in the cache; one figure for both would be true of neither, so they are
measured apart. Data written before the first pass may already be cached if the cache keeps writes.
"""

import math
import re
from collections.abc import Mapping, Sequence

from diskbench.catalog.expect import Stage
from diskbench.fio.estimate import (
    MIXED,
    count,
    moved_bytes,
    request_sizes,
    seconds,
    size_bytes,
    syncs_each,
)
from diskbench.fio.jobfile import Section, jobs, parse
from diskbench.fio.offered import share_of
from diskbench.model.expectation import Load
from diskbench.model.spec import Step
from diskbench.units import KIB

READ_AHEAD_KB = 128
"""The kernel's default read-ahead, used if none was recorded
(Documentation/block/queue-sysfs.rst)."""
_IN_FLIGHT = frozenset({"libaio", "io_uring", "io_uring_cmd", "posixaio", "windowsaio"})
"""Engines that keep `iodepth` requests in flight; the others wait for each request."""
_NO_LOAD = frozenset({"filename", "description"})
COLD, WARM = "cold", "warm"


def asked_by(
    step: Step,
    *,
    capacity_bytes: int | None,
    read_ahead_kb: int | None = None,
    rates: Mapping[str, float] | None = None,
    disks: int = 1,
    says_direct: bool = True,
    direct: bool | None = None,
) -> Stage:
    """Return the load of a step. percentages of fio sizes are of `capacity_bytes`; `rates`
    are the expected IOPS of earlier steps by name, for steps whose rate is a share of them. On
    several `disks` it is one load if it loads all that it uses alike. Where the job file was made
    from what does not say whether I/O is direct (`says_direct`), it is what is known otherwise
    (`direct`); where that is nothing, the depth is the stated one, unless memory may have kept
    more or fewer in flight."""
    io_jobs = [
        job
        for job in jobs(parse(step.job))
        if request_sizes(job) and "trim" not in (job.get("rw") or "")
    ]
    if not io_jobs:
        return Stage(None, seconds=step.expected_s)
    ahead = (READ_AHEAD_KB if read_ahead_kb is None else read_ahead_kb) * KIB
    warm = not step.name.endswith(f"-{COLD}")
    loads = [
        _load(
            job, ahead, rates or {}, warm=warm, direct=job.flag("direct") if says_direct else direct
        )
        for job in io_jobs
    ]
    shapes = {(part.block_bytes, part.random, part.direct) for part in loads}
    is_one = len(shapes) == 1 and all(len(set(request_sizes(job))) == 1 for job in io_jobs)
    is_one = is_one and (disks == 1 or disks_loaded(step) is not None)
    load = _together(loads)
    timed = [
        runtime + seconds(job.get("startdelay")) + seconds(job.get("ramp_time"))
        for job in io_jobs
        if job.flag("time_based") and (runtime := seconds(job.get("runtime"))) > 0
    ]
    moved = sum(moved_bytes(job, capacity_bytes) * count(job, "numjobs") for job in io_jobs)
    if timed or not moved:
        return Stage(load, seconds=max(timed, default=step.expected_s), is_one=is_one)
    most = [seconds(job.get("runtime")) for job in io_jobs]
    at_most = max(most) if all(most) else math.inf
    return Stage(load, seconds=at_most, bytes=moved, is_one=is_one)


def _load(
    job: Section, ahead: int, rates: Mapping[str, float], *, warm: bool, direct: bool | None
) -> Load:
    clones = count(job, "numjobs")
    share = 1.0 if "read" in job.pattern else 0.0
    share = job.read_percent / 100 if job.pattern in MIXED else share
    waits = share < 1 and syncs_each(job)
    random = "rand" in job.pattern or waits
    block = min(request_sizes(job))
    stated, is_queued = count(job, "iodepth"), job.get("io_submit_mode") == "offload"
    is_queued = is_queued or (direct is not False and job.engine in _IN_FLIGHT)
    in_flight = stated if is_queued else 1
    depth: int | None = in_flight * clones
    if not direct and not waits and (not random or share < 1) and in_flight == 1:
        depth = None  # the page cache absorbs writes and reads ahead sequentially
    if not direct and stated > in_flight:
        depth = None  # Linux starts buffered I/O of libaio one by one; reads ahead and writes not
    return Load(
        block_bytes=block,
        read_share=share,
        random=random,
        direct=direct,
        depth=depth,
        max_per_s=_rate(job, block, rates),
        read_ahead_bytes=ahead,
        warm=warm,
    )


def _together(loads: Sequence[Load]) -> Load:
    """Combine the jobs' loads: depths and rates are summed, read shares averaged."""
    smallest = min(loads, key=lambda load: load.block_bytes)
    depths = [load.depth for load in loads if load.depth is not None]
    rates = [load.max_per_s for load in loads if load.max_per_s is not None]
    return smallest.model_copy(
        update={
            "read_share": sum(load.read_share for load in loads) / len(loads),
            "depth": sum(depths) if len(depths) == len(loads) else None,
            "max_per_s": sum(rates) if len(rates) == len(loads) else None,
        }
    )


def _rate(job: Section, block: int, rates: Mapping[str, float]) -> float | None:
    share = share_of(job.get("rate_iops"))
    if share is not None:
        reached = rates.get(share[1])
        return None if reached is None else share[0] * reached
    clones = count(job, "numjobs")
    if rate := count(job, "rate_iops", 0):
        return float(rate * clones)
    rate_bytes = size_bytes((job.get("rate") or "").split(",")[0]) or 0
    return rate_bytes * clones / block or None


def disks_loaded(step: Step) -> int | None:
    """How many devices a step does I/O on, if it loads each alike: jobs that differ in nothing but
    the device, or jobs on all of them. None where it loads one more than another; 0 without I/O."""
    asked: dict[str, list[tuple[tuple[str, str], ...]]] = {}
    for job in jobs(parse(step.job)):
        if not request_sizes(job):
            continue
        # What counts of the job's options but its device: the last of equal ones.
        options = {option.name: option.value or "" for option in job.options}
        others = sorted(item for item in options.items() if item[0] not in _NO_LOAD)
        shape = (("", str(len(job.files))), *others)
        for device in job.files:
            asked.setdefault(device, []).append(shape)
    of_each = [sorted(shapes) for shapes in asked.values()]
    return len(asked) if all(shapes == of_each[0] for shapes in of_each) else None


def cold_and_warm(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return each measuring step twice, as `NAME-cold` and `NAME-warm`, and the others unchanged.

    A rate given as a share of a step's rate refers to its warm pass, which is the lasting one.
    """
    measured = [step.name for step in steps if step.role == "measure"]
    of_measured = re.compile(rf"(% of (?:{'|'.join(map(re.escape, measured))}))(?=\s|$)")
    passes: list[Step] = []
    for step in steps:
        job = of_measured.sub(rf"\1-{WARM}", step.job) if measured else step.job
        names = [f"{step.name}-{way}" for way in (COLD, WARM)] if step.name in measured else []
        for name in names or [step.name]:
            index = len(passes)
            passes.append(step.model_copy(update={"index": index, "name": name, "job": job}))
    return tuple(passes)

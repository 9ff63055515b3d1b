"""Cliffs of real lab disks: how often they are found, and how many seconds off.

Each case is a lab host with a seeded disk (gp2 of some size, a small Azure premium disk, or one
that does not burst), noise in its limits, and a bucket that is scaled so that it runs out after 13
to 18 s of random reads. When it did is known from the catalogue's capacity and baseline and from
what the disk served: the first second by which more was taken out of the bucket than it held and
earned. Needs root.
"""

import os
import random
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

import numpy as np

from diskbench.analysis.phases import step_phases
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab import machines
from diskbench.providers.lab.places import VARIABLE
from diskbench.providers.lab.request import LabRequest, disk_limits

RUNTIME_S = 30
SHORTEST_S = 10
NEAR_S = 3
"""A cliff found so near is found: MR-4 has 30 s, of phases of a minute and not of ten seconds."""
BLOCK = 4096
LEFT = 0.05
"""Of a bucket that lasts 13 to 18 s, so much is less than a second of it."""
FLAT_EVERY = 4
"""Each fourth disk has no bucket."""
GP2_GIB = (10, 20, 50, 100, 150, 200, 300, 400, 500, 600)
AZURE_GIB = (4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Case:
    """What one disk did: when its bucket was empty (None: never) and which cliffs were found."""

    name: str
    at_s: int | None
    found: tuple[float, ...]
    rate: float


def cases(count, at_once):
    """`count` cases, so many hosts side by side."""
    with tempfile.TemporaryDirectory(prefix="diskbench-method-", dir="/var/tmp") as place:
        os.environ[VARIABLE] = f"{place}/lab"
        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(measure, range(count)))


def measure(seed):
    """One host, made, read from and given back."""
    request = drawn(seed)
    lease = f"method-{seed}"
    try:
        host = machines.acquire(lease, request)
        log = subprocess.run(
            ["ssh", "-F", host.ssh.config, host.address, fio_on(host.device)],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    finally:
        machines.release(lease)
    values = np.array([float(line.split(",")[1]) for line in log.splitlines()])
    found = step_phases(values, values * BLOCK, shortest_s=SHORTEST_S)
    return Case(
        name=f"{request.disk.type} {request.disk.size_gib} GiB, noise {request.noise:.0%}",
        at_s=empty_at(values, request),
        found=tuple(cliff.at_s for cliff in found.cliffs),
        rate=float(np.median(values[:SHORTEST_S])),
    )


def drawn(seed):
    """The host of a case."""
    draw = random.Random(seed)
    style = draw.choice(["aws-nvme", "aws-nvme", "azure"])
    if seed % FLAT_EVERY == FLAT_EVERY - 1:
        style, disk = "aws-nvme", DiskSpec(type="gp3", size_gib=20)
    elif style == "azure":
        disk = DiskSpec(type="Premium_LRS", size_gib=draw.choice(AZURE_GIB))
    else:
        disk = DiskSpec(type="gp2", size_gib=draw.choice(GP2_GIB))
    wanted_s = draw.uniform(13, 18)
    bucket = allowance(style, disk)
    scale = 1.0
    if bucket is not None:
        lasts = bucket.capacity / (bucket.ceiling - bucket.baseline)
        scale = max(1.0, lasts / wanted_s)
    noise = draw.choice([0.0, 0.02, 0.05])
    return LabRequest(style=style, disk=disk, time_scale=scale, noise=noise, seed=seed)


def allowance(style, disk):
    """The bucket of I/Os; None for a disk without one."""
    for pool in disk_limits(style, disk).pools:
        if pool.iops and pool.iops.capacity and pool.iops.ceiling > pool.iops.baseline:
            return pool.iops
    return None


def fio_on(device):
    return (
        f"cd /tmp && fio --name=t --filename={device} --rw=randread --bs=4k --direct=1 "
        f"--ioengine=libaio --iodepth=32 --runtime={RUNTIME_S} --time_based --write_iops_log=t "
        "--log_avg_msec=1000 >/dev/null && cat t_iops.1.log"
    )


def empty_at(values, request):
    """The first second by which all but a twentieth was taken out of what the bucket held and
    earned: from then on the disk gives what comes in, and no more than that is ever taken."""
    bucket = allowance(request.style, request.disk)
    if bucket is None:
        return None
    capacity, balance = bucket.capacity / request.time_scale, bucket.capacity / request.time_scale
    for second, value in enumerate(values):
        balance = min(capacity, balance + bucket.baseline - value)
        if balance <= capacity * LEFT:
            # Where the rate falls by less than a fifth there is no cliff to be found (MR-4).
            return second if bucket.baseline < 0.8 * bucket.ceiling else None
    return None


def rows(count, at_once):
    """`(name, value, least, most, note)` of each rate."""
    done = cases(count, at_once)
    falls = [one for one in done if one.at_s is not None]
    flat = [one for one in done if one.at_s is None]
    errors, hits, told = [], 0, 0
    for one in falls:
        off = [abs(at - one.at_s) for at in one.found]
        near = [each for each in off if each <= NEAR_S]
        told += len(off)
        hits += bool(near)
        errors += near[:1]
    for one in done:
        expected = "no cliff" if one.at_s is None else f"{one.at_s} s"
        seen = ", ".join(f"{at:.0f} s" for at in one.found) or "none"
        yield (f"  {one.name}: empty at {expected}, found {seen}, {one.rate:,.0f} IOPS",)
    note = f"error: median {median(errors):.0f} s, worst {max(errors):.0f} s" if errors else ""
    alarms = sum(bool(one.found) for one in flat)
    yield (
        f"lab disks that fall ({len(falls)}): recall",
        hits / max(1, len(falls)),
        0.95,
        None,
        note,
    )
    yield ("lab disks that fall: precision", hits / told if told else 1.0, 0.95, None, "")
    yield (
        f"lab disks that do not ({len(flat)}): called a cliff",
        alarms / max(1, len(flat)),
        None,
        0.05,
        "",
    )

"""Does diskbench change what fio measures? Bare fio against `diskbench run`, interleaved, with the
same job file on the same throttled loop disk: the medians of IOPS must agree within 2 %.

    python benchmarks/agreement.py [--repeats 5] [--runtime 10] [--json FILE]

Needs root. Each pair runs in random order (seeded, printed), with a seed of its own for what fio
draws: both of a pair read the same offsets and mix reads and writes in the same order. With two
seeds the share of writes alone differs: in 5 s of 500 reads/s by 3 %, which says nothing about
diskbench. Ends with 1 when a ratio is off.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.rigs.loops import Loop, attached  # noqa: E402 - the tests' own rig

from diskbench.errors import DiskbenchError  # noqa: E402
from diskbench.providers.lab.devices import (  # noqa: E402
    NO_LIMITS,
    ThrottleLimits,
    write_limits,
)
from diskbench.providers.lab.processes import find_groups  # noqa: E402

MIB = 2**20
DISK_BYTES = 512 * MIB
LIMITS = ThrottleLimits(500, 500, 200 * MIB, 200 * MIB)
"""So low that the disk limits every job, one I/O at a time as well: what else the machine does then
changes neither of both."""
WITHIN = 0.02
JOB = """[global]
size=256m
ioengine=libaio
direct=1
randseed={randseed}
refill_buffers=1
time_based
runtime={runtime}
group_reporting

[rand-read-4k-qd1]
rw=randread
bs=4k

[rand-read-4k-qd32]
stonewall
rw=randread
bs=4k
iodepth=32

[rand-write-4k-qd32]
stonewall
rw=randwrite
bs=4k
iodepth=32

[seq-read-1m-qd8]
stonewall
rw=read
bs=1m
iodepth=8

[rand-rw70-16k-4jobs]
stonewall
rw=randrw
rwmixread=70
bs=16k
iodepth=8
numjobs=4
"""
Figures = dict[tuple[str, str], float]


def bare(disk: Loop, job: Path, _: Path) -> Figures:
    """fio as a person would type it."""
    done = subprocess.run(
        ["fio", f"--filename={disk.path}", "--output-format=json", str(job)],
        check=True,
        capture_output=True,
        text=True,
    )
    text = done.stdout
    return {
        (found["jobname"], way): found[way]["iops"]
        for found in json.loads(text[text.index("{") :])["jobs"]
        for way in ("read", "write")
        if found[way]["total_ios"]
    }


def ours(disk: Loop, job: Path, home: Path) -> Figures:
    """`diskbench run` as a user would type it."""
    done = subprocess.run(
        [
            sys.executable, "-m", "diskbench", "run", "--device", disk.path,
            "--destroy-data", disk.identity, "--profile", str(job), "--quiet", "--output", "json",
        ],
        check=True, capture_output=True, text=True, env=os.environ | {"HOME": str(home)},
    )  # fmt: skip
    (run,) = json.loads(done.stdout)["runs"]
    return {
        (row["step"], row["direction"]): row["iops"]
        for step in run["steps"]
        for row in step["measurements"]
        if row["scope"] == "step"
    }


def written_image(image: Path) -> Path:
    """A file with every block written: unwritten extents make the first pass slower than the later
    ones. The first MiB is zeros, so that nothing looks like a signature."""
    with image.open("wb") as file:
        file.write(bytes(MIB))
        for _ in range(DISK_BYTES // MIB - 1):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())
    return image


@contextmanager
def throttled(disk: Loop) -> Iterator[None]:
    """LIMITS on a disk for the whole machine (cgroup v1; v2 has none for it)."""
    groups, device = find_groups(), Path(disk.path).stat().st_rdev
    number, place = f"{os.major(device)}:{os.minor(device)}", str(groups.throttle)
    if groups.version == 1:
        write_limits(1, place, number, LIMITS)
    try:
        yield
    finally:
        if groups.version == 1:
            write_limits(1, place, number, NO_LIMITS)


def measure(repeats: int, runtime: int, seed: int) -> dict[str, list[Figures]]:
    """All figures of both ways, interleaved."""
    found: dict[str, list[Figures]] = {"bare": [], "ours": []}
    order = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        job, image = directory / "agreement.fio", written_image(directory / "disk.img")
        ways = {"bare": bare, "ours": ours}
        with attached(image, "--direct-io=on") as disk, throttled(disk):
            for number in range(repeats):
                job.write_text(JOB.format(runtime=runtime, randseed=order.randrange(1, 2**31)))
                for way in order.sample(sorted(ways), 2):
                    found[way].append(ways[way](disk, job, directory / "home"))
                print(f"pair {number + 1} of {repeats} done", file=sys.stderr)
    return found


def show(found: dict[str, list[Figures]]) -> bool:
    """Print one row a job and direction; whether all agree."""
    print(f"{'job':<22} {'I/O':<6} {'bare fio':>10} {'diskbench':>10} {'ratio':>7}")
    agree = True
    for key in found["bare"][0]:
        bare_iops, our_iops = (
            statistics.median(one[key] for one in found[way]) for way in ("bare", "ours")
        )
        ratio = our_iops / bare_iops
        off = abs(ratio - 1) > WITHIN
        agree = agree and not off
        print(
            f"{key[0]:<22} {key[1]:<6} {bare_iops:>10,.1f} {our_iops:>10,.1f} "
            f"{ratio:>7.4f}{'  off' if off else ''}"
        )
    return agree


def rows(found: dict[str, list[Figures]]) -> list[dict[str, object]]:
    """The rows of script/bench: IOPS of each job and direction, pair by pair with bare fio."""
    return [
        {
            "name": f"IOPS, {job} {way}",
            "unit": "IOPS",
            "ours": [one[job, way] for one in found["ours"]],
            "floor": [one[job, way] for one in found["bare"]],
        }
        for job, way in found["bare"][0]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--runtime", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    args = parser.parse_args()
    try:
        found = measure(args.repeats, args.runtime, args.seed)
    except DiskbenchError as error:
        sys.exit(f"error: {error}")
    print(f"\n{LIMITS}, {args.repeats} pairs of {args.runtime} s a job, seed {args.seed}")
    agree = show(found)
    if args.json:
        args.json.write_text(json.dumps({"rows": rows(found)}))
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()

"""Make the example data again, by really measuring: lab disks on this machine (Linux, as root).

    python notebooks/example/make.py --work DIR [--at-once 3] [--only STUDY …]

What is measured stands in RUNS, a line a `diskbench run`. The evidence is left in DIR/evidence, and
packed into the archive that `diskbench.example_data()` opens. It takes about half an hour. Limits,
latencies, places and hours are made up where they are not the catalogue's: all of it is `emulated`.
"""

import argparse
import math
import random
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from diskbench.packed import zstd

HERE = Path(__file__).resolve().parent
ARCHIVE = HERE.parents[1] / "src" / "diskbench" / "data" / "example.tar.zst"


def measured(study, profile, rented, *options, **labels):
    """The arguments of one `diskbench run` on a lab disk."""
    told = [f"--label={key}={value}" for key, value in {"study": study, **labels}.items()]
    return ["--provider=lab", f"--profile={profile}", *rented.split(), *options, *told]


def first_look():
    """One disk of no catalogue that wavers and is late now and then, measured by `quick`."""
    disk = "--disk=custom --size=8 --iops=2000 --throughput=120 --latency=1 --latency-jitter=0.4"
    options = ("--set=runtime=10", "--set=size=512m", "--runs=2", "--lab-seed=1")
    yield measured("first-look", "quick", disk, "--noise=0.04", *options)


def bursts():
    """Disks with credit, under load for longer than it lasts; the buckets are cut to minutes."""
    common = ("--set=size=1g", "--noise=0.02")
    yield measured(
        "burst", "burst", "--disk=gp2 --size=20", "--time-scale=15", "--set=runtime=210", *common
    )
    yield measured(
        "burst", "burst", "--disk=gp2 --size=100", "--time-scale=15", "--set=runtime=210", *common
    )
    yield measured(
        "burst",
        "burst",
        "--disk=gp2 --size=20 --latency=1",
        "--time-scale=30",
        "--set=runtime=180",
        "--set=iodepth=2",
        *common,
    )
    yield measured(
        "burst",
        "burst",
        "--disk=Premium_LRS --size=64",
        "--time-scale=15",
        "--set=runtime=210",
        *common,
    )
    yield measured(
        "burst",
        "burst",
        "--disk=st1 --size=500",
        "--time-scale=40",
        "--set=runtime=210",
        "--set=rw=read",
        "--set=bs=1m",
        "--set=iodepth=4",
        *common,
    )


def iaas():
    """Disks of the first post, three new ones of each type, by its own tool but for the size: 2 GiB
    in place of 2 x RAM, so that writes end in the page cache."""
    for disk in (
        "--disk=standard --size=20",
        "--disk=gp2 --size=20",
        "--disk=io1 --size=20 --iops=1000",
        "--disk=pd-ssd --size=20",
    ):
        for replicate in range(3):
            yield measured(
                "iaas",
                "gobonniego",
                disk,
                "--filesystem=ext4",
                "--set=size=2g",
                "--noise=0.03",
                f"--lab-seed={replicate}",
            )


def caching():
    """Three latencies of single requests, as of a disk, a better disk, and a cache before it."""
    for name, disk, latency, jitter in (
        ("hdd", "Standard_LRS", 12.0, 0.5),
        ("ssd", "Premium_LRS", 3.0, 0.3),
        ("cached", "Premium_LRS", 0.5, 0.2),
    ):
        yield measured(
            "caching",
            "diskspd",
            f"--disk={disk} --size=64",
            f"--latency={latency}",
            f"--latency-jitter={jitter}",
            "--set=runtime=15",
            "--set=size=256m",
            like=name,
        )


PLACES = {"north": 1.0, "east": 0.93, "south": 1.0}
HOURS = {"03": 1.05, "09": 0.97, "15": 0.90, "21": 1.0}


def places():
    """Three places at four hours, three new disks each; disks of one kind differ by 4 %, and in
    `south` by 10 %."""
    draw = random.Random(7)
    for place, level in PLACES.items():
        for hour, factor in HOURS.items():
            for replicate in range(3):
                lottery = math.exp(draw.gauss(0, 0.10 if place == "south" else 0.04))
                iops = round(1000 * level * factor * lottery)
                disk = f"--disk=custom --size=4 --iops={iops} --throughput=100 --latency=1"
                yield measured(
                    "places",
                    "places.fio",
                    disk,
                    "--latency-jitter=0.3",
                    "--noise=0.03",
                    f"--lab-seed={replicate}",
                    place=place,
                    hour=hour,
                )


STUDIES = {
    "first-look": first_look, "burst": bursts, "iaas": iaas, "caching": caching, "places": places,
}  # fmt: skip


def main():
    options = arguments().parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    stores = [f"--database-url=sqlite:///{work}/runs.db", f"--evidence-url=file://{work}/evidence"]
    runs = [run for name in options.only or STUDIES for run in STUDIES[name]()]
    failed = 0
    with ThreadPoolExecutor(options.at_once) as pool:
        for run, code in pool.map(lambda one: (one, measure(one + stores)), runs):
            failed += code != 0
            print("FAILED" if code else "done", " ".join(run), flush=True)
    if failed:
        return 1
    if not options.only:
        pack(work / "evidence", ARCHIVE)
        print(f"{ARCHIVE}: {ARCHIVE.stat().st_size:,} bytes")
    return 0


def measure(run):
    """Here, so that the path of the job file does not get in."""
    done = subprocess.run(
        ["diskbench", "run", "--quiet", *run], cwd=HERE, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stderr)
    return done.returncode


def pack(evidence, archive):
    """All files but derived ones, which are made again; the same bytes from the same evidence."""
    files = sorted(
        path for path in evidence.rglob("*") if path.is_file() and "derived" not in path.parts
    )
    archive.parent.mkdir(parents=True, exist_ok=True)
    with (
        archive.open("wb") as out,
        zstd.open(out, "wb", level=19) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for path in files:
            told = tarfile.TarInfo(path.relative_to(evidence).as_posix())
            told.size, told.mode = path.stat().st_size, 0o644
            with path.open("rb") as data:
                tar.addfile(told, data)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="directory for what is measured")
    parser.add_argument("--at-once", type=int, default=3, help="runs at the same time")
    parser.add_argument(
        "--only", nargs="+", choices=tuple(STUDIES), help="measure these; no archive"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

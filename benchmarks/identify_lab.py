"""How often `diskbench identify` names the right type of a lab disk, from real runs of fio.

    python -m benchmarks.identify_lab --measure [NAME…]   measure (root, two minutes a disk), write
    python -m benchmarks.identify_lab --write             docs/evidence/identify.md from LEVELS

Each disk is a lab host of its own with its type's limits, measured by `diskbench run` with four
steps (benchmarks/identify_rows/identify.fio.j2) and identified from the stored run. The capacity of
buckets is divided so that a full burst lasts LASTS_S. What was measured is kept in
benchmarks/identify_rows/levels.json, so that the page says what today's rules make of it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from diskbench.catalog.books import Books
from diskbench.catalog.bucket import lasts_s
from diskbench.catalog.expect import expect_on, path_of
from diskbench.catalog.lookup import limits
from diskbench.model.expectation import Load
from diskbench.plan.identify import Level, identify
from diskbench.providers.lab.places import VARIABLE

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evidence" / "identify.md"
HERE = Path(__file__).resolve().parent / "identify_rows"
LEVELS = HERE / "levels.json"
PROFILE = HERE / "identify.fio.j2"
LASTS_S = 20.0
ALIKE = 0.005
"""Types whose distances (plan/identify.py) differ by less are not told apart by the figures."""
DAY = "2026-11-23"
"""The lab has the limits of the catalogue's last versions."""
LOADS = {
    "random-read": Load(block_bytes=4096, depth=32),
    "random-write": Load(block_bytes=4096, depth=32, read_share=0.0),
    "read": Load(block_bytes=1 << 20, random=False, depth=8),
    "write": Load(block_bytes=1 << 20, random=False, depth=8, read_share=0.0),
}
FASTEST_IOPS = 8000
"""Above it this machine would be measured and not the lab's limits."""


@dataclass(frozen=True)
class LabDisk:
    """One lab disk; throughput in the unit in which its cloud sells it."""

    cloud: str
    type: str
    size_gib: int
    iops: int | None = None
    throughput: int | None = None

    @property
    def name(self):
        more = f":iops={self.iops}" if self.iops else ""
        more += f":throughput={self.throughput}" if self.throughput else ""
        return f"{self.cloud}:{self.type}:{self.size_gib}{more}"

    @property
    def limits(self):
        return limits(self.cloud, self.type, self.size_gib, self.iops, self.throughput)

    @property
    def time_scale(self):
        """What the buckets' capacity is divided by, so that the longest lasts LASTS_S."""
        pools = self.limits.pools
        every = [one for pool in pools for one in (pool.iops, pool.bytes_per_s) if one]
        lasting = [seconds for one in every if (seconds := lasts_s(one))]
        return max(1.0, round(max(lasting) / LASTS_S, 1)) if lasting else 1.0


DISKS = (
    LabDisk("aws", "gp2", 20),
    LabDisk("aws", "gp2", 123),
    LabDisk("aws", "gp2", 500),
    LabDisk("aws", "gp3", 100),
    LabDisk("aws", "gp3", 100, 4000, 200),
    LabDisk("aws", "io1", 50, 400),
    LabDisk("aws", "io2", 50, 600),
    LabDisk("aws", "st1", 1024),
    LabDisk("aws", "sc1", 2048),
    LabDisk("azure", "Standard_LRS", 128),
    LabDisk("azure", "StandardSSD_LRS", 64),
    LabDisk("azure", "StandardSSD_LRS", 1024),
    LabDisk("azure", "Premium_LRS", 4),
    LabDisk("azure", "Premium_LRS", 64),
    LabDisk("azure", "Premium_LRS", 256),
    LabDisk("azure", "Premium_LRS", 1024),
    LabDisk("azure", "PremiumV2_LRS", 100),
    LabDisk("azure", "PremiumV2_LRS", 100, 4200, 210),
    LabDisk("azure", "UltraSSD_LRS", 64, 1200, 40),
    LabDisk("gcp", "pd-standard", 200),
    LabDisk("gcp", "pd-balanced", 50),
    LabDisk("gcp", "pd-ssd", 20),
    LabDisk("gcp", "hyperdisk-balanced", 20),
    LabDisk("gcp", "hyperdisk-balanced", 50, 3600, 180),
    LabDisk("gcp", "hyperdisk-extreme", 64, 450),
    LabDisk("gcp", "hyperdisk-throughput", 2048, None, 40),
)
COMPUTED = (
    LabDisk("aws", "gp3", 1000, 16000, 1000),
    LabDisk("azure", "Premium_LRS", 8192),
    LabDisk("gcp", "pd-balanced", 2000),
    LabDisk("gcp", "pd-ssd", 1024),
    LabDisk("gcp", "pd-extreme", 500, 2500),
    LabDisk("gcp", "local-ssd", 375),
)
NOT_TRIED = {
    "aws:standard": "a range is documented and no limit: nothing could identify it",
    "aws:instance-store": "no figures of the type itself: each machine has its own",
    "azure:temp-disk": "no figures of the type itself: each machine has its own",
}


def measured(disk):
    """Measure a lab disk by `diskbench run`; the levels of its run."""
    from diskbench.results.identified import identified
    from diskbench.store.database import open_database
    from diskbench.store.evidence import open_evidence
    from diskbench.store.query import find_runs

    with tempfile.TemporaryDirectory(prefix="diskbench-identify-", dir="/var/tmp") as place:
        env = {**os.environ, "HOME": place, VARIABLE: f"{place}/lab"}
        argv = [sys.executable, "-m", "diskbench", "run", "--provider", "lab", "--disk", disk.type]
        argv += ["--size", str(disk.size_gib), "--profile", str(PROFILE)]
        argv += ["--time-scale", f"{disk.time_scale:g}"] if disk.time_scale > 1 else []
        argv += ["--iops", str(disk.iops)] if disk.iops else []
        argv += ["--throughput", str(disk.throughput)] if disk.throughput else []
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{disk.name}: {done.stderr[-2000:]}")
        stores = Path(place, ".local/share/diskbench")
        engine = open_database(f"sqlite:///{stores}/diskbench.db")
        (run,) = find_runs(engine, [])
        evidence = open_evidence(f"file://{stores}/evidence")
        levels, _ = identified(engine, evidence, run, cloud=None, books=Books())
        engine.dispose()
        return levels


def computed(disk):
    """The levels that a disk should have by the catalogue, each 1 % low."""
    path = path_of(disk.limits)
    found = []
    for name, asked in LOADS.items():
        load = asked.model_copy(update={"depth": None})  # enough for any latency
        expected = expect_on(path, load)
        found.append(Level(name, load, expected.lasting.iops * 0.99))
    return found


def kept():
    """What was measured: levels by the disk's name."""
    rows = json.loads(LEVELS.read_text("utf-8")) if LEVELS.exists() else {}
    return {
        name: [Level(**{**row, "load": Load(**row["load"])}) for row in levels]
        for name, levels in rows.items()
    }


def keep(name, levels):
    """Store the levels of a disk, in the order of DISKS."""
    row = [
        {key: _short(value) for key, value in vars(level).items()}
        | {"load": level.load.model_dump(exclude_defaults=True)}
        for level in levels
    ]
    rows = json.loads(LEVELS.read_text("utf-8")) if LEVELS.exists() else {}
    rows[name] = row
    ordered = {disk.name: rows[disk.name] for disk in DISKS if disk.name in rows}
    LEVELS.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")


def _short(value):
    return round(value, 3) if isinstance(value, float) else value


@dataclass(frozen=True)
class Answer:
    """What identify said of one disk: the first of its list, at which place the right type stands
    (from 1; None: nowhere), and which other types fit as well as the first."""

    disk: LabDisk
    first: str
    place: int | None
    alike: tuple[str, ...]
    in_cloud: bool
    """Whether it comes first, or fits as well as the first, among the disks of its own cloud."""

    @property
    def is_right(self):
        """Whether the right type is the first, or fits exactly as well as the first."""
        return self.place == 1 or f"{self.disk.cloud}:{self.disk.type}" in self.alike


def answer(disk, levels):
    """What identify says of a disk's levels, by the limits of today and of all clouds."""
    found = identify(levels, time_scale=disk.time_scale, day=DAY, is_fresh=True)
    if not found:
        return Answer(disk, "none", None, (), in_cloud=False)
    types = list(dict.fromkeys(kind(fit) for fit in found))
    wanted, first = f"{disk.cloud}:{disk.type}", found[0]
    alike = tuple(name for name in _best(found) if name != types[0])
    place = types.index(wanted) + 1 if wanted in types else None
    own = [fit for fit in found if fit.disk.startswith(f"{disk.cloud}:")]
    in_cloud = wanted in _best(own)
    return Answer(disk, first.disk, place, alike, in_cloud=in_cloud)


def _best(found):
    """The types whose distance is that of the first, or nearly."""
    near = [kind(fit) for fit in found if fit.off - found[0].off <= ALIKE]
    return tuple(dict.fromkeys(near))


def kind(fit):
    """PROVIDER:TYPE of a disk that fits."""
    return ":".join(fit.disk.split(":")[:2])


def page():
    """The text of docs/evidence/identify.md."""
    levels = kept()
    real = [answer(disk, levels[disk.name]) for disk in DISKS if disk.name in levels]
    made = [answer(disk, computed(disk)) for disk in COMPUTED]
    missing = [disk.name for disk in DISKS if disk.name not in levels]
    return (
        "\n".join([*HEAD, *_counts(real), "", *table(real), *_made(made), *_rest(missing)]) + "\n"
    )


HEAD = (
    "# Which disk is this",
    "",
    "`diskbench identify` on lab disks whose type is known, measured by fio in four steps and",
    "searched among the disks of all clouds. Buckets were divided so that a full burst lasts",
    f"{LASTS_S:g} s. Other work kept the two cores busy (load 5 to 9).",
    "",
    "<!-- try: {parsed: it takes two minutes a disk} -->",
    "",
    "    python -m benchmarks.identify_lab --measure     measure all (root, two minutes a disk)",
    "    python -m benchmarks.identify_lab --write       this page, from what was measured",
    "",
    "*As well* names types that fit as well: tiers and provisioned figures may be the same.",
    "",
)


def _counts(real):
    first = sum(one.place == 1 for one in real)
    right = sum(one.is_right for one in real)
    cloud = sum(one.in_cloud for one in real)
    yield f"With {len(real)} lab disks, the right type came first for **{first}**, and first or as"
    yield f"well as the first for **{right}**. Limited to the disks of its own cloud"
    yield f"(`--provider`), it did so for **{cloud}**."


def table(rows):
    """The lines of a table of answers."""
    yield "| lab disk | first | as well | right | in its cloud |"
    yield "| --- | --- | --- | --- | --- |"
    for one in rows:
        right = "yes" if one.place == 1 else "as well" if one.is_right else "**no**"
        yield (
            f"| `{one.disk.name}` | `{one.first}` | {', '.join(one.alike) or '–'} | {right} | "
            f"{'yes' if one.in_cloud else '**no**'} |"
        )


def _made(rows):
    yield ""
    yield "## Computed instead of measured"
    yield ""
    yield f"Above {FASTEST_IOPS:,} IOPS the measurement would show this machine and not the lab's"
    yield "limits. The levels here are those of the catalogue, less 1 %, so they test only the"
    yield "ranking."
    yield ""
    yield from table(rows)


def _rest(missing):
    yield ""
    yield "## Not tried"
    yield ""
    for name, why in NOT_TRIED.items():
        yield f"- `{name}`: {why}"
    for name in missing:
        yield f"- `{name}`: not measured yet"


def main():
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", nargs="*", metavar="NAME", help="measure these disks, or all")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    failed = 0
    asked = options.measure
    wanted = [] if asked is None else [one for one in DISKS if not asked or one.name in asked]
    for disk in wanted:
        try:
            keep(disk.name, measured(disk))
        except RuntimeError as error:
            failed += 1
            print(error, file=sys.stderr, flush=True)
        else:
            print(answer(disk, kept()[disk.name]), flush=True)
    if options.write:
        PAGE.write_text(page(), "utf-8")
    print("\n".join(_counts([answer(d, kept()[d.name]) for d in DISKS if d.name in kept()])))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Jobs of vendors' guides and fio's own examples: they run, or are refused for a reason."""

import json
import re
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.rigs.golden import check_part
from tests.rigs.loops import attached, empty_image

from diskbench.errors import DiskbenchError
from diskbench.fio.jobfile import parse
from diskbench.fio.profiles import parse_profile
from diskbench.fio.retarget import retarget
from diskbench.fio.steps import build_steps
from diskbench.fio.target import FioTarget
from diskbench.fio.template import render
from diskbench.model.facts import CpuFacts, HostFacts
from diskbench.units import GIB

GUIDES = Path(__file__).parents[1] / "cases" / "guides"
SHORT = ("--set", "runtime=1")
TIMED = (*SHORT, "--set", "time_based=1")
SMALL = ("--set", "size=4m")

ON_A_DEVICE = {
    "aws-st1.sh": (SHORT, ["fio_direct_read_test"]),
    "aws-mix.cfg": (SHORT, ["sequential-write", "sequential-read"]),
    "google-pd.sh": ((*SHORT, "--set", "ramp_time=0"), ["write_iops_test", "read_latency_test"]),
    "oracle-read.fio": (SHORT, ["job1"]),
    "oracle-read.sh": (SHORT, ["iops-test-job"]),
}
IN_A_DIRECTORY = {
    "azure-write.ini": ((*TIMED, *SMALL), ["writer1"]),
    "azure-readwrite.ini": ((*TIMED, *SMALL), ["reader1", "writer1"]),
    "aws-io1.sh": ((*SHORT, *SMALL), ["fio_test_file"]),
    "digitalocean.sh": ((*SHORT, "--size", "0.0625"), ["bw-test", "rand-r"]),
}


@pytest.fixture
def disk(tmp_path):
    with attached(empty_image(tmp_path / "disk.img", 64), "--direct-io=on") as loop:
        yield loop


def test_every_guide_is_run():
    jobs = {path.name for path in GUIDES.iterdir()} - {"README.md"}
    assert jobs == ON_A_DEVICE.keys() | IN_A_DIRECTORY.keys()


@pytest.mark.parametrize("name", ON_A_DEVICE)
def test_a_guides_job_runs_on_a_device(user, disk, name):
    flags, jobs = ON_A_DEVICE[name]
    named = ["--device", disk.path, "--destroy-data", disk.identity]
    run_guide(user, name, [*named, *flags], jobs)


@pytest.mark.parametrize("name", IN_A_DIRECTORY)
def test_a_guides_job_runs_in_a_directory(user, target, name):
    flags, jobs = IN_A_DIRECTORY[name]
    run_guide(user, name, ["--path", str(target), *flags], jobs)
    assert not list(target.iterdir())


def run_guide(user, name, flags, jobs):
    """Run a guide's job as it stands: every job of it has I/O, and each change is in the plan."""
    before = (GUIDES / name).read_bytes()
    shown = user.call("plan", "--profile", str(GUIDES / name), *flags, "--output", "json")
    (trial,) = json.loads(shown.stdout)["trials"]
    said = " ".join(trial["plan"]["changes"])
    assert "runtime" in said
    assert "→" in said
    (run,) = user.json("run", "--profile", str(GUIDES / name), *flags, "--quiet")["runs"]
    assert run["state"] == "done"
    rows = [m for step in run["steps"] for m in step["measurements"] if m["scope"] == "job"]
    assert {row["job"].partition(".")[0] for row in rows} == set(jobs)
    assert all(row["ios"] > 0 for row in rows)
    assert (GUIDES / name).read_bytes() == before


PAGE = Path(__file__).parents[2] / "tests/golden/fio-examples.md"
BEGIN, END = "<!-- examples -->\n", "<!-- end of examples -->"
TARGETS = {
    "directory": FioTarget(kind="directory", path="/mnt/disk/diskbench-1", size_bytes=2**16 * GIB),
    "device": FioTarget(kind="device", path="/dev/nvme1n1", capacity_bytes=2**16 * GIB),
}
VALUES = {"FIO_RW": "randread", "FIO_BS": "4k", "FIO_IODEPTH": "4"}
"""Values of the variables that examples use as fio's own; others get a word."""


@cache
def examples():
    """The text of each example of Debian's package `fio-examples` by its file name, in order. Needs
    apt's registry."""
    with TemporaryDirectory(prefix="fio-examples-") as scratch:
        run = {"cwd": scratch, "check": True, "capture_output": True, "timeout": 300}
        subprocess.run(["apt-get", "download", "-q", "fio-examples"], **run)  # type: ignore[call-overload]
        (package,) = Path(scratch).glob("fio-examples_*.deb")
        subprocess.run(["dpkg-deb", "-x", package.name, "files"], **run)  # type: ignore[call-overload]
        files = sorted(Path(scratch, "files").rglob("examples/*.fio"))
        return {file.name: file.read_text("utf-8") for file in files}


def outcome(name, target):
    """`runs`, `runs, N changes`, or `refused: ` and the first reason."""
    profile = parse_profile(examples()[name], name=name.removesuffix(".fio"))
    given = {name: VALUES.get(name, "word") for name in profile.parameters}
    facts = HostFacts(cpu=CpuFacts(count=4), memory_bytes=2**34)
    try:
        build_steps(profile, given, facts, target)
        text, _ = render(profile, given, facts, target)
        _, changes = retarget(parse(text), target)
    except DiskbenchError as error:
        return f"refused: {_reason(error.message)}"
    return f"runs, {len(changes)} changed" if changes else "runs"


def _reason(message):
    """The first mistake without its place, its option's value, its engine and what is allowed."""
    lines = message.splitlines()
    first = lines[1].strip() if len(lines) > 1 else lines[0]
    first = re.sub(r"^\[[^\]]*\] line \d+: ", "", first)
    return re.sub(r"ioengine=\S+ |; allowed: .*|(?<=engine) '[\w-]+'", "", first)


def table():
    """One row for each pair of outcomes, with the examples that have it."""
    rows = defaultdict(list)
    for name in examples():
        directory, device = (outcome(name, target) for target in TARGETS.values())
        pair = (directory, "the same" if device == directory else device)
        rows[pair].append(name.removesuffix(".fio"))
    lines = ["| on a directory | on a device | examples |", "| --- | --- | --- |"]
    for (directory, device), names in sorted(rows.items(), key=lambda row: row[1]):
        lines.append(f"| {directory} | {device} | {', '.join(names)} |")
    return "\n".join(lines) + "\n"


def test_the_page_lists_what_becomes_of_every_example(request):
    update = request.config.getoption("--update-golden")
    check_part(PAGE, (BEGIN, END), table(), update=update)


def test_what_does_file_or_block_io_on_ordinary_hardware_runs():
    rows = {name: [outcome(name, target) for target in TARGETS.values()] for name in examples()}
    runs = [name for name, both in rows.items() if any(row.startswith("runs") for row in both)]
    assert len(runs) >= 44
    refused = {row for name, both in rows.items() if name not in runs for row in both}
    assert all("engine" in row for row in refused), "only an engine keeps an example from running"

"""The jobs of vendors' guides, as the guides give them: they run, with a time set beside them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs.cli import Cli
from tests.rigs.loops import Loop, attached, empty_image

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
def disk(tmp_path: Path) -> Iterator[Loop]:
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


def run_guide(user: Cli, name: str, flags: list[str], jobs: list[str]) -> None:
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

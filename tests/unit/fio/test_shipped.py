"""Every shipped profile: fits its targets, is accepted by fio, and really runs."""

import json
import re

import pytest
from tests.rigs.plans import call_fio, machine

from diskbench.fio.estimate import space_bytes
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.offered import stand_in
from diskbench.fio.profiles import shipped_names, shipped_profile
from diskbench.fio.steps import build_steps
from diskbench.fio.target import FioTarget
from diskbench.model.facts import DiskFacts

TINY = {
    "size": "16m", "runtime": "1", "capacity_runtime": "1", "drain": "1", "passes": "1",
    "random_passes": "1", "chars": "64k", "files": "200", "random_files": "50", "seeks": "200",
    "count": "500", "steps": "2", "pause": "0", "cached_runtime": "1", "warm_up": "0",
    "shares": "0 50", "mixes": "100 65 0", "block_sizes": "64k 4k", "depths": "4", "workers": "2",
}  # fmt: skip
SHORT = "runtime=200ms"
FACTS = machine(2, memory_bytes=4 << 30, fio_engines=("libaio",))


def steps_at(name, target, version="3.33", changes=()):
    profile = shipped_profile(name)
    known = set(profile.parameters)
    overrides = {key: value for key, value in dict(changes).items() if key in known}
    facts = FACTS.model_copy(update={"fio_version": version})
    found = build_steps(profile, overrides, facts, target)
    return found.steps, found.loop


DIRECTORY = FioTarget(kind="directory", path="/mnt/disk")
DEVICE = FioTarget(kind="device", path="/dev/loop99")
TARGETS = {"directory": DIRECTORY, "device": DEVICE}


@pytest.mark.parametrize("name", shipped_names())
def test_it_fits_every_target_it_names_and_all_but_bonnie_the_oldest_fio(name):
    assert name == "bonnie" or steps_at(name, DIRECTORY, version="3.16")[0]
    for kind in shipped_profile(name).targets:
        steps, _ = steps_at(name, TARGETS[kind])
        assert space_bytes(steps) > 0
        assert all(step.expected_s > 0 for step in steps)


@pytest.mark.slow
def test_fio_accepts_each_step(tmp_path):
    files = []
    for name in shipped_names():
        steps, _ = steps_at(name, FioTarget(kind="directory", path=str(tmp_path)), changes=TINY)
        for step in steps:
            files.append(f"{name}-{step.index}.fio")
            (tmp_path / files[-1]).write_text(stand_in(step).job)

    def said(*asked):
        done = call_fio("--parse-only", *asked, at=tmp_path, check=False)
        return done.returncode, done.stderr

    if said(*files) != (0, b""):  # fio ends at the first that it refuses
        assert {file: said(file) for file in files} == dict.fromkeys(files, (0, b""))


@pytest.mark.parametrize("name", sorted(set(shipped_names()) - {"first-touch"}))
def test_what_is_read_was_written_before(name):
    """But for first-touch: it reads what a snapshot holds."""
    steps, _ = steps_at(name, DIRECTORY)
    written: set[str] = set()
    for step in steps:
        for job in jobs(parse(step.job)):
            if "file" in (job.get("ioengine") or ""):
                continue
            named = {o.value for o in job.options if o.name == "filename"} or {
                # fio's own name of a job's first file, where it names none
                job.get("filename_format") or f"{job.name}.$jobnum.$filenum"
            }
            if "w" not in (job.get("rw") or "").replace("rw", "") or "rw" in (job.get("rw") or ""):
                assert named <= written, f"{step.name} reads {named}"
            written |= named


@pytest.mark.parametrize("name", ["fill", "sustained"])
@pytest.mark.parametrize(
    ("version", "transport", "fills"),
    [
        ("3.41", "nvme", {"fill": "1", "fill-steady": None}),
        ("3.33", "nvme", {"fill": "2"}),
        ("3.41", "virtio", {"fill": "1"}),
    ],
)
def test_sprandom_replaces_the_second_fill_of_a_local_drive(name, version, transport, fills):
    disk = DiskFacts(name="x", path="/dev/x", transport=transport)
    facts = FACTS.model_copy(update={"fio_version": version, "disk": disk})
    profile = shipped_profile(name)
    steps = build_steps(profile, {}, facts, DIRECTORY).steps
    found = [jobs(parse(step.job))[0] for step in steps if step.role == "fill"]
    assert {job.name: job.get("loops") for job in found} == fills
    if "fill-steady" in fills:
        assert (found[1].get("sprandom"), found[1].get("spr_op")) == ("1", "0.15")


@pytest.mark.slow
def test_random_metadata_of_bonnie_names_each_file_once_in_another_order_each_phase():
    steps, _ = steps_at("bonnie", DIRECTORY)
    orders = []
    for step in steps:
        job = jobs(parse(step.job))[0]
        assert job.get("file_service_type") != "random", "quadratic in fio"
        if job.name.endswith("-rand"):
            named = [o.value.split(":") for o in job.options if o.name == "filename"]
            orders.append([name for names in named for name in names])
    assert all(sorted(order) == sorted(f"bonnie.0000.{i}" for i in range(8192)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3


def test_gobonniego_dd_and_diskspd_do_what_their_posts_did():
    steps, _ = steps_at("gobonniego", DIRECTORY)
    assert space_bytes(steps) == 2 * FACTS.memory_bytes
    assert jobs(parse(steps[0].job))[0].get("numjobs") == "2"
    at = {kind: steps_at("dd", target)[0][0] for kind, target in TARGETS.items()}
    job = {kind: jobs(parse(step.job))[0] for kind, step in at.items()}
    assert job["directory"].get("size") == str(4096 * 100 * 1024)
    assert [job[kind].get("end_fsync") for kind in ("directory", "device")] == ["0", "1"]
    steps, _ = steps_at("diskspd", DIRECTORY)
    for step in steps[1:]:
        assert int(jobs(parse(step.job))[0].get("rate") or 0) < 32_000_000


def test_quick_takes_half_a_minute_and_the_snia_matrix_56_a_round_steady_on_writes():
    steps, _ = steps_at("quick", DIRECTORY)
    assert 20 < sum(step.expected_s for step in steps) < 40
    steps, loop = steps_at("snia-iops", DIRECTORY)
    assert (loop.first, loop.tracked, loop.direction) == (1, "r0w100-4k", "write")
    assert sum(step.expected_s for step in steps[loop.first :]) == 56 * 60


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_names())
def test_it_really_runs(name, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    steps, _ = steps_at(name, FioTarget(kind="directory", path=str(target)), changes=TINY)
    for step in steps:
        directory = tmp_path / f"step-{step.index}"
        directory.mkdir()
        # That it runs and logs is seen in a fifth of a second; a profile knows whole ones.
        (directory / "job.fio").write_text(re.sub("(?m)^runtime=1$", SHORT, stand_in(step).job))
        words = ("--output-format=json+", "--eta=never", "job.fio")
        done = call_fio(*words, at=directory, check=False)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout[done.stdout.index(b"{") :])
        assert sum(j[d]["total_ios"] for j in document["jobs"] for d in ("read", "write")) > 0
        assert all(j["error"] == 0 for j in document["jobs"])
        assert list(directory.glob("fio_bw.*.log"))
    assert not [p for p in tmp_path.iterdir() if p.name != "target" and "step-" not in p.name]

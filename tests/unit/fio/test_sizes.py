"""Jobs without a size of their own: accepted exactly where the fio installed here finds one."""

import subprocess

import pytest

from diskbench.errors import ProfileError
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.profiles import parse_profile
from diskbench.fio.recorded import last_words
from diskbench.fio.steps import build_steps, space_bytes
from diskbench.fio.target import FioTarget
from diskbench.fio.template import RenderContext, render

MIB = 1 << 20
SIZES = ["", "size=0", "size=80%", "io_size=50%", "offset=50%"]
SHAPES = {
    "alone": "[a]\nrw=write\n{}\n",
    "in the global section": "[global]\n{}\n[a]\nrw=write\n",
    "beside filesize": "[a]\nrw=write\nfilesize=1m\n{}\n",
    "after a step that laid the file out": "[global]\nfilename=x\n[w]\nrw=write\nsize=1m\n[a]\n"
    "stonewall\nrw=read\n{}\n",
    "after a job that laid the file out": "[w]\nfilename=x\nrw=write\nsize=1m\n[a]\nfilename=x\n"
    "rw=read\n{}\n",
    "before the job that lays it out": "[a]\nfilename=x\nrw=read\n{}\n[w]\nfilename=x\nrw=write\n"
    "size=1m\n",
    "more clones than the step before": "[a]\nrw=write\nsize=1m\n[a]\nstonewall\nnumjobs=2\n"
    "rw=read\n{}\n",
    "in metadata of what is missing": "[a]\nioengine=filestat\nrw=read\n{}\n",
}


def target(directory, size=None):
    return FioTarget(kind="directory", path=str(directory), size_bytes=size)


def built(text, at):
    profile = parse_profile(text, name="mine")
    context = RenderContext(target_kind=at.kind, size_bytes=at.size_bytes)
    return build_steps(profile, render(profile, {}, context), at, "3.33")


def runs(texts, directory):
    """The exit status of the first fio that fails, else 0, and what it left."""
    for text in texts:
        done = subprocess.run(
            ["fio", "--output-format=json", "-"], input=text.encode(), cwd=directory,
            capture_output=True, start_new_session=True, timeout=120, check=False,
        )  # fmt: skip
        if done.returncode:
            return done.returncode, {"fio.json": done.stdout, "stderr.txt": done.stderr}
    return 0, {}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "files").mkdir()
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", SIZES)
def test_a_directory_without_size_is_refused_exactly_where_fio_fails(place, shape, size):
    text = SHAPES[shape].format(size)
    status, said = runs([text], place / "files")
    if status == 0:
        assert built(text, target(place / "files")).steps
        return
    assert "you need to specify size=" in last_words(said)
    with pytest.raises(ProfileError, match=r"\[a\]") as caught:
        built(text, target(place / "files"))
    assert "--size" in caught.value.advice


@pytest.mark.slow
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "missing" not in shape])
@pytest.mark.parametrize("size", ["", "size=0", "size=100%"])
def test_with_size_every_such_job_runs_within_it(place, shape, size):
    made = built(SHAPES[shape].format(size), target(place / "files", 8 * MIB))
    assert runs([step.job for step in made.steps], place)[0] == 0
    laid_out = sum(file.stat().st_size for file in (place / "files").rglob("*"))
    assert laid_out <= 8 * MIB
    assert laid_out <= space_bytes(made.steps)


def test_files_without_data_need_no_size():
    assert built("[a]\nioengine=filecreate\nrw=write\n", target("/mnt/d")).changes == ()


def test_a_share_is_one_of_the_size_and_files_that_would_exceed_it_are_cut_alike():
    at = target("/mnt/d", 100 * MIB)
    one = built("[a]\nrw=write\nsize=80%\n", at)
    assert [job.get("size") for step in one.steps for job in jobs(parse(step.job).sections)] == [
        str(80 * MIB)
    ]
    assert [line for change in one.changes for line in change.lines] == [
        f"size=80% → {80 * MIB} (of --size)"
    ]
    two = built("[global]\nsize=100%\n[fill]\nrw=write\n[read]\nstonewall\nrw=randread\n", at)
    assert space_bytes(two.steps) == 100 * MIB
    beside = built("[w]\nrw=write\nsize=40m\n[a]\nrw=write\nnumjobs=3\n", at)
    assert space_bytes(beside.steps) == 100 * MIB


@pytest.mark.parametrize("size", ["", "size=0", "size=0%", "size=0k"])
@pytest.mark.parametrize("others", [(), ("/dev/loop8",)])
def test_zero_is_the_whole_device_and_never_more_than_the_size_that_is_allowed(size, others):
    text = "\n".join(["[global]", size, "[a]", "rw=read", "filename=/dev/sdx", ""]) + (
        "[b]\nrw=read\nfilename=/dev/sdy\n" if others else ""
    )
    at = FioTarget(kind="device", path="/dev/loop9", others=others, capacity_bytes=100 * MIB)
    assert space_bytes(built(text, at).steps, 100 * MIB) == 100 * MIB * (1 + len(others))
    at = at.model_copy(update={"size_bytes": 10 * MIB})
    assert space_bytes(built(text, at).steps, 100 * MIB) == 10 * MIB * (1 + len(others))


def test_on_a_device_a_share_stays_one_of_the_device():
    at = FioTarget(kind="device", path="/dev/loop9", capacity_bytes=100 * MIB)
    made = built("[a]\nrw=read\nsize=80%\n", at)
    assert (made.changes, space_bytes(made.steps, 100 * MIB)) == ((), 80 * MIB)

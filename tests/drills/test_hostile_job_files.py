"""Job files of somebody who wants more than to measure, with the installed fio and its own list of
options; which lines are refused: tests/unit/fio/test_guard.py."""

import re
import subprocess

import pytest

from diskbench.errors import ProfileError
from diskbench.fio.guard import ENGINES, OURS, check, harmless
from diskbench.fio.jobfile import ALIASES, parse
from diskbench.fio.target import FioTarget

DIRECTORY = FioTarget(kind="directory", path="/mnt/disk/diskbench-1")


def test_nothing_of_fios_own_lists_passes_unjudged():
    """A job file uses each option and each engine that the installed fio lists."""
    listed = fio("--cmdhelp=all").splitlines()
    names = {line.split()[0] for line in listed if re.match(r"\s*[a-z]\w*\s+:", line)}
    assert len(names) > 150
    special = {"ioengine", "filename", "filename_format", "mem", "name", "wait_for", "kb_base",
               "buffer_pattern", "verify_pattern", "fill_device"}  # fmt: skip
    for name in sorted(names):
        if ALIASES.get(name, name) in harmless() | special:
            continue
        with pytest.raises(ProfileError) as caught:
            check(parse(f"[a]\nrw=read\n{name}=1\n"), DIRECTORY)
        assert name in caught.value.message
    assert not harmless() & set(OURS)
    engines = {line.strip() for line in fio("--enghelp").splitlines()[1:] if line.strip()}
    for engine in engines - ENGINES:
        with pytest.raises(ProfileError):
            check(parse(f"[a]\nrw=read\nioengine={engine}\n"), DIRECTORY)


@pytest.mark.thorough
@pytest.mark.timeout(1800)  # hundreds of fio under strace: 300 s are too few on a busy machine
def test_no_accepted_value_lets_fio_touch_a_foreign_file(tmp_path):
    """Every harmless option gets the path of a foreign file; strace watches the real fio."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "victim").write_text("kept")
    target = FioTarget(kind="directory", path=str(inside))
    ran = 0
    for name in sorted(harmless()):
        for value in (f"{outside}/victim", "../outside/victim", f"1:{outside}/victim"):
            job = f"[a]\nrw=write\nsize=4k\nbs=4k\nioengine=psync\n{name}={value}\n"
            try:
                check(parse(job), target)
            except ProfileError:
                continue
            ran += 1
            (tmp_path / "job.fio").write_text(f"[global]\ndirectory={inside}\n{job}")
            seen = tmp_path / "seen"
            watch = ["strace", "-f", "-q", "-o", str(seen), "-e", "trace=%file,%network"]
            subprocess.run(
                [*watch, "fio", "--output=/dev/null", str(tmp_path / "job.fio")],
                start_new_session=True, capture_output=True, cwd=inside, timeout=240,
            )  # fmt: skip
            touched = [line for line in seen.read_text().splitlines() if "outside" in line]
            assert touched == [], f"{name}={value}"
            assert seen.read_text().count("execve(") == 1, f"{name}={value}"
            assert [path.name for path in outside.iterdir()] == ["victim"]
            assert (outside / "victim").read_text() == "kept"
    assert ran > 20, "the guard accepted nothing, so nothing was tried"


@pytest.fixture
def victim(target, tmp_path):
    """A file of somebody else's, which stays as it is; nor does anything stay on the target."""
    file = tmp_path / "victim"
    file.write_text("kept")
    yield file
    assert file.read_text() == "kept"
    assert list(target.iterdir()) == []


RUNS = "exec_prerun=truncate -s 0 {victim}"
HARMS = [RUNS, "ioengine=external:{victim}", "write_iolog={victim}", "filename=../victim"]


@pytest.mark.parametrize("line", HARMS)
def test_a_hostile_job_file_changes_nothing(user, target, victim, line):
    """Diskbench run with job files that write to, log to or execute from a foreign place."""
    job = user.job(f"[a]\nrw=write\nsize=1m\n{line.format(victim=victim)}\n")
    assert "line 4" in user.refused("run", "--path", str(target), "--profile", job).stderr


@pytest.mark.parametrize(
    "line", ["filename={victim}", "filename=data:{victim}", "write_bw_log={victim}", "directory=/"]
)
def test_a_foreign_target_is_replaced_by_ours(user, target, victim, line):
    """Diskbench run with job files that name a foreign file or device as target or log."""
    job = user.job(f"[a]\nrw=write\nsize=1m\n{line.format(victim=victim)}\n")
    assert "job file" in user.done("run", "--path", str(target), "--profile", job).stderr
    assert list(victim.parent.glob("*victim*")) == [victim]


def fio(*args):
    return subprocess.run(
        ["fio", *args], start_new_session=True, capture_output=True, text=True, check=True
    ).stdout

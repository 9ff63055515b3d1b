"""Job files of somebody who wants more than to measure; the list of options is fio's own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.drills.book import drill
from tests.rigs.cli import Cli

from diskbench.errors import ProfileError
from diskbench.fio.guard import ENGINES, OURS, check, harmless
from diskbench.fio.jobfile import ALIASES, parse
from diskbench.fio.target import FioTarget

DIRECTORY = FioTarget(kind="directory", path="/mnt/disk/diskbench-1")
DEVICE = FioTarget(kind="device", path="/dev/loop9")

OTHER_FILES = [
    "filename=/etc/passwd", "filename=../x", "filename=a/../../x", "filename=data:/etc/passwd",
    "filename=data:", "filename=-", "filename=", "filename=.", "filename=a\\:b",
    "filename=/proc/self/mem", "filename=/dev/sda", "filename=data\\:/../../x",
    "directory=/etc", "directory=.", "directory=a:/etc", "opendir=/etc",
    "filename_format=/etc/$jobname", "filename_format=../$jobname",
    "filename_format=$jobname/../../x", "read_iolog=/tmp/x", "write_iolog=/tmp/x",
    "merge_blktrace_file=/tmp/x", "replay_redirect=/dev/sda", "write_bw_log=/tmp/x",
    "write_lat_log=/tmp/x", "write_iops_log=/tmp/x", "write_hist_log=/tmp/x",
    "mem=mmap:/etc/passwd", "mem=mmapshared:/etc/x", "iomem=mmaphuge:/mnt/huge/x",
    "buffer_pattern='/etc/shadow'", "verify_pattern='/etc/shadow'",
    "buffer_pattern=\"text\"'/etc/shadow'",
    "verify_state_save=1", "verify_state_load=1", "verify_dump=1", "dedupe_file=/etc/shadow",
]  # fmt: skip
PROGRAMS = [
    "exec_prerun=id", "exec_postrun=id", "exec_prerun=/bin/sh -c id", "ioengine=exec",
    "program=/bin/sh", "arguments=-c id", "trigger=id", "trigger_file=/tmp/x", "profile=tiobench",
    "description=`id`", "description=$(id)", "runtime=$(id)", "size=`cat /etc/shadow`",
]  # fmt: skip
ENGINES_REFUSED = [
    "net", "netsplice", "rdma", "rbd", "rados", "http", "nbd", "gfapi", "gfapi_async", "libhdfs",
    "exec", "cpuio", "sg", "mtd", "splice", "e4defrag", "io_uring_cmd", "dev-dax", "libpmem",
    "pmemblk", "nfs", "libiscsi", "xnvme", "external:/tmp/evil.so", "external:./evil.so",
    "/tmp/evil.so", "./evil.so", "libaio,net", "LIBAIO", "",
]  # fmt: skip
MACHINE = [
    "ioscheduler=noop", "cgroup=x", "cgroup_weight=1000", "cgroup_nodelete=1", "uid=0", "gid=0",
    "allow_mounted_write=1", "mem=mmaphuge", "mem=shmhuge", "mem=cudamalloc", "gpu_dev_ids=0",
    "hostname=example.org", "port=22", "fill_device=1", "fill_fs=1", "an_option_of_fio_9=1",
]  # fmt: skip
FALSE_FIGURES = [
    "unified_rw_reporting=1", "stats=0", "disk_util=0", "percentile_list=1", "clat_percentiles=0",
    "log_compression=1m", "per_job_logs=0", "kb_base=1000", "log_avg_msec=1", "size=$mb_memory",
    "numjobs=$ncpus", "size=(1g*2)",
]  # fmt: skip


def refused(line: str, target: FioTarget = DIRECTORY) -> None:
    """Whether the line stands in a job, among the defaults, or before one that replaces it."""
    for text in (
        f"[a]\nrw=read\n{line}\n",
        f"[global]\n{line}\n[a]\nrw=read\n",
        f"[a]\nrw=read\n{line}\n[b]\nrw=read\n",
        f"[a]\n  {line}  \nrw=read\n",
    ):
        with pytest.raises(ProfileError) as caught:
            check(parse(text), target)
        assert "line" in caught.value.message
        assert caught.value.advice


@drill(
    done="an option of a job file names a file outside the target: absolute, by .., behind a "
    "colon, as a log, a trace, a pattern or memory",
    holds="the job file is refused with its line before anything runs",
)
@pytest.mark.parametrize("line", OTHER_FILES)
def test_an_option_that_names_another_file_is_refused(line: str) -> None:
    refused(line)


@drill(
    done="an option of a job file starts a program, or contains a shell command",
    holds="the job file is refused with its line",
)
@pytest.mark.parametrize("line", PROGRAMS)
def test_an_option_that_starts_a_program_is_refused(line: str) -> None:
    refused(line)


@drill(
    done="a job file uses an engine that connects to the network, loads code, or bypasses the "
    "filesystem",
    holds="the engine is refused, with any other options",
)
@pytest.mark.parametrize("engine", ENGINES_REFUSED)
def test_an_engine_that_does_more_than_file_io_is_refused(engine: str) -> None:
    refused(f"ioengine={engine}")


@drill(
    done="an option of a job file changes the machine: user, cgroup, scheduler, huge pages, a "
    "full filesystem",
    holds="the job file is refused with its line",
)
@pytest.mark.parametrize("line", MACHINE)
def test_an_option_that_changes_the_machine_is_refused(line: str) -> None:
    refused(line)


@drill(
    done="an option of a job file changes how fio counts or writes its figures",
    holds="the job file is refused with its line",
)
@pytest.mark.parametrize("line", FALSE_FIGURES)
def test_an_option_that_falsifies_the_figures_is_refused(line: str) -> None:
    refused(line)


@drill(
    done="a job file for a device names another one, several files, or removes the device's node",
    holds="the job file is refused",
)
@pytest.mark.parametrize(
    "line",
    [
        "filename=/dev/sda", "filename=/dev/loop9:/dev/sda", "filename=/dev/loop90", "filename=a:b",
        "filename=/dev/../dev/sda", "filename=//dev/loop9", "filename_format=x.$jobnum",
        "nrfiles=2", "unlink=1", "unlink_each_loop=1", "ioengine=filedelete",
        "ioengine=filecreate", "ioengine=ftruncate", "opendir=/dev", "directory=/dev",
    ],
)  # fmt: skip
def test_a_job_file_for_a_device_reaches_no_other(line: str) -> None:
    refused(line, DEVICE)


@drill(
    done="a section is named like a path, a variable or a command",
    holds="the job file is refused",
)
@pytest.mark.parametrize(
    "name", ["a/b", "../x", "..", ".x", "/etc/x", "a`id`", "a$b", "$(id)", "é", 'a"b', "a;b"]
)
def test_a_section_named_like_a_path_is_refused(name: str) -> None:
    with pytest.raises(ProfileError):
        check(parse(f"[{name}]\nrw=read\n"), DIRECTORY)


@drill(
    done="fio would read the job file differently from the check: include lines, control "
    "characters, lines longer than its buffer, options before any section",
    holds="the job file is refused with its line",
)
@pytest.mark.parametrize(
    "text",
    [
        "include /etc/passwd\n[a]\nrw=read\n",
        "[a]\nrw=read\ninclude ../x.fio\n",
        "[a]\nrw=read\n  include /tmp/x\n",
        "[a]\nrw=read\nincludeX /tmp/x\n",
        "[a]\nrw=read\rfilename=/etc/passwd\n",
        "[a]\nrw=read\x0bfilename=/etc/passwd\n",
        "[a]\nrw=read\x00filename=/etc/passwd\n",
        f"[a]\nrw=read\ndescription={'x' * 4090}filename=/etc/passwd\n",
        "filename=/etc/passwd\n[a]\nrw=read\n",
        "[a\nrw=read\n",
        "[a]]\nfilename=/etc/passwd\n",
    ],
    ids=lambda text: repr(text[:30]),
)
def test_what_fio_would_read_differently_is_refused(text: str) -> None:
    with pytest.raises(ProfileError):
        check(parse(text), DIRECTORY)


@drill(
    done="a job file uses each option and each engine that the installed fio lists",
    holds="only options known to be harmless are accepted; all others are refused by name",
)
def test_nothing_of_fios_own_lists_passes_unjudged() -> None:
    listed = fio("--cmdhelp=all").splitlines()
    names = {line.split()[0] for line in listed if re.match(r"\s*[a-z]\w*\s+:", line)}
    assert len(names) > 150
    special = {"ioengine", "filename", "filename_format", "mem", "name", "wait_for", "kb_base",
               "buffer_pattern", "verify_pattern", "fill_device"}  # fmt: skip
    for name in sorted(names):
        known = ALIASES.get(name, name)
        if known in harmless() | special:
            continue
        with pytest.raises(ProfileError) as caught:
            check(parse(f"[a]\nrw=read\n{name}=1\n"), DIRECTORY)
        assert name in caught.value.message
    assert not harmless() & set(OURS)
    engines = {line.strip() for line in fio("--enghelp").splitlines()[1:] if line.strip()}
    for engine in engines - ENGINES:
        refused(f"ioengine={engine}")


@drill(
    done="every harmless option gets the path of a foreign file as its value, and the real fio "
    "runs what the guard accepts, watched by strace",
    holds="fio opens, removes and executes nothing outside its directory",
    quick=False,
)
@pytest.mark.timeout(1800)  # hundreds of fio under strace: 300 s are too few on a busy machine
def test_no_accepted_value_lets_fio_touch_a_foreign_file(tmp_path: Path) -> None:
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


@drill(
    done="diskbench run with job files that write to, log to or execute from a foreign place",
    holds="exit 2, no traceback; the foreign file and the target are unchanged",
)
@pytest.mark.parametrize(
    "line",
    [
        "exec_prerun=truncate -s 0 {victim}",
        "ioengine=external:{victim}",
        "write_iolog={victim}",
        "filename=../victim",
    ],
)
def test_a_hostile_job_file_changes_nothing(
    user: Cli, target: Path, tmp_path: Path, line: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    profile = tmp_path / "evil.fio"
    profile.write_text(f"[a]\nrw=write\nsize=1m\n{line.format(victim=victim)}\n")
    done = user.call_refused("run", "--path", str(target), "--profile", str(profile))
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "line 4" in done.stderr
    assert victim.read_text() == "kept"
    assert list(target.iterdir()) == []


@drill(
    done="diskbench run with job files that name a foreign file or device as target or log",
    holds="it is moved to the target, with a message; the foreign file is unchanged, the target "
    "is empty",
)
@pytest.mark.parametrize(
    "line", ["filename={victim}", "filename=data:{victim}", "write_bw_log={victim}", "directory=/"]
)
def test_a_foreign_target_is_replaced_by_ours(
    user: Cli, target: Path, tmp_path: Path, line: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    profile = tmp_path / "foreign.fio"
    profile.write_text(f"[a]\nrw=write\nsize=1m\n{line.format(victim=victim)}\n")
    done = user.run("run", "--path", str(target), "--profile", str(profile))
    assert done.returncode == 0, done.stderr
    assert "job file" in done.stderr
    assert victim.read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir() if "victim" in path.name] == ["victim"]
    assert list(target.iterdir()) == []


def fio(*args: str) -> str:
    """What fio prints."""
    return subprocess.run(
        ["fio", *args], start_new_session=True, capture_output=True, text=True, check=True
    ).stdout

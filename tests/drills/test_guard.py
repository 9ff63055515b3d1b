"""Drills of the device guard: the disk is changed between the look at it and the end of fio."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import ulid
from tests.rigs import loops
from tests.rigs.cli import Cli, merged_rows
from tests.rigs.loops import MIB, Loop, attached, detach_all, empty_image, is_empty, set_offset
from tests.rigs.windows import BEFORE_FIO, CACHE_DROP, FIO, Done, Window, first_on_path, in_window

from diskbench.errors import HostUnavailable, MeasurementFailed, TargetRefused
from diskbench.hosts.device import DeviceProof, check_device
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.local import LocalHost
from diskbench.hosts.unit import Unit, UnitExit
from diskbench.hosts.workspace import cleanup, make_workspace, mount_point
from diskbench.model.spec import ResolvedTarget

HERE = LocalHost()
WINDOWS = {"cache drop": CACHE_DROP, "before fio": BEFORE_FIO}


@dataclass(frozen=True)
class Stage:
    """A disk that was allowed, a file that is somebody else's, and a place for the test's own."""

    disk: Loop
    other: Path
    directory: Path
    monkeypatch: pytest.MonkeyPatch

    def when(self, window: Window, action: str) -> Done:
        shims = self.directory / "shims"
        done = in_window(shims, window, action)
        self.monkeypatch.setenv("PATH", first_on_path(shims))
        return done

    def target(self, filesystem: str = "none") -> ResolvedTarget:
        proof = check_device(HERE, self.disk.path, self.disk.identity)
        state = f"{self.directory}/diskbench-{str(ulid.ULID()).lower()}"
        return ResolvedTarget.model_validate(
            {
                "kind": "device", "path": self.disk.path, "device": self.disk.path,
                "identity": proof.identity, "device_number": proof.number,
                "device_size_bytes": proof.size_bytes, "filesystem": filesystem,
                "work_dir": f"{state}/mnt/{Path(state).name}" if filesystem != "none" else None,
                "state_dir": state, "size_bytes": 4 * MIB,
            }
        )  # fmt: skip

    def step(self, target: ResolvedTarget, **changes: object) -> UnitExit:
        place = f"directory={target.work_dir}" if target.work_dir else f"filename={target.device}"
        unit = Unit(
            trial_id=target.state_dir.rpartition("-")[2],
            run_index=0,
            name="000-write",
            state_dir=target.state_dir,
            job=f"[global]\n{place}\n[x]\nrw=write\nbs=1m\nsize=4m\nioengine=psync\n",
            work_dir=target.work_dir,
            canary_before=True,
            guards=(
                DeviceProof(
                    path=target.device or "",
                    number=target.device_number or "",
                    identity=target.identity or "",
                    size_bytes=target.device_size_bytes or 0,
                    mount_point=mount_point(target),
                ),
            ),
        ).model_copy(update=changes)
        return start_and_watch(HERE, unit, lambda _: None, lambda: False)

    def raw_step(self, **changes: object) -> UnitExit:
        target = self.target()
        make_workspace(HERE, target)
        try:
            return self.step(target, **changes)
        finally:
            cleanup(HERE, target)

    def refused(self, words: str, done: Done) -> None:
        """A raw step ends with these words; the action was done, and nothing came elsewhere."""
        with pytest.raises(MeasurementFailed, match=words):
            self.raw_step()
        assert done.exit == 0, done.said
        assert is_empty(self.other)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    image, other = empty_image(tmp_path / "disk.img"), empty_image(tmp_path / "other.img")
    with attached(image) as disk:
        yield Stage(disk, other, tmp_path, monkeypatch)
        monkeypatch.undo()
        for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
            if (at := line.split()[4]).startswith(f"{tmp_path}/"):
                subprocess.run(["umount", "-l", at], check=False)
    for one in tmp_path.glob("*.img"):
        detach_all(one)


def run_args(stage: Stage, user: Cli) -> list[str]:
    job = user.job("[write]\nsize=4m\nrw=write\nbs=64k\nioengine=psync\ndirect=1\n")
    named = ["--device", stage.disk.path, "--destroy-data", stage.disk.identity]
    return ["run", *named, "--profile", job]


def test_a_loop_device_pointed_elsewhere_before_fio_overwrites_nothing(stage, user):
    """A loop device is pointed at another file while caches are dropped, then fio starts."""
    done = stage.when(CACHE_DROP, loops.point_at(stage.disk, stage.other))
    user.run(*run_args(stage, user))
    assert done.exit != 0, "the device was pointed elsewhere although it was held"
    assert is_empty(stage.other)


def test_a_run_whose_disk_changed_while_fio_ran_is_failed(stage, user):
    """The offset of the loop device in its file is changed while fio runs: exit 1, no result."""
    done = stage.when(FIO, set_offset(stage.disk))
    ended = user.run(*run_args(stage, user))
    assert done.exit == 0, done.said
    assert ended.returncode == 1
    assert stage.disk.path in ended.stderr
    assert "changed while fio ran" in ended.stderr
    (run,) = user.json("results", "show", "last")["runs"]
    assert run["state"] == "failed"
    assert merged_rows(run) == []


def clone(stage: Stage) -> str:
    made = stage.directory / "clone"
    empty_image(made, 8)
    subprocess.run(["mkfs.ext4", "-q", str(made)], check=True)
    return f"dd if={shlex.quote(str(made))} of={stage.disk.path} bs=1M conv=notrunc,fsync"


def second_loop(stage: Stage) -> str:
    link = shlex.quote(str(stage.directory / "link.img"))
    return f"ln {shlex.quote(str(stage.disk.image))} {link} && losetup -f {link}"


def other_node(stage: Stage) -> str:
    """Another disk takes the name: the node in /dev is exchanged, and put back at the end."""
    path = stage.disk.path
    return (
        f"other=$(losetup -f --show {shlex.quote(str(stage.other))}) && mv {path} {path}.away && "
        f"cp -a $other {path}"
    )


def other_sequence(stage: Stage) -> str:
    """What the kernel shows when another disk came to the same number, as of a hot swap."""
    shown = f"/sys/class/block/{stage.disk.name}/diskseq"
    fake = shlex.quote(str(stage.directory / "diskseq"))
    return f"echo 999999 >{fake} && mount --bind {fake} {shown}"


def kill_holder(stage: Stage) -> str:
    return (
        f"for fd in /proc/[0-9]*/fd/*; do "
        f'[ "$(readlink $fd)" = {stage.disk.path} ] || continue; '
        "pid=${fd#/proc/}; kill -9 ${pid%%/*} && exit 0; done; exit 1"
    )


CHANGES: dict[str, tuple[Callable[[Stage], str], str]] = {
    "moved in its file": (lambda s: set_offset(s.disk), "offset .* is now 1048576, it was 0"),
    "grown": (lambda s: loops.grow(s.disk, 64), "size .* is now 67108864, it was 33554432"),
    "written to": (clone, "holds ext4"),
    "another loop device on a hard link": (second_loop, "shares its backing file with"),
    "another node under its name": (other_node, "is now"),
    "another disk under its number": (other_sequence, "sequence"),
}


@pytest.fixture
def mended(stage: Stage) -> Iterator[None]:
    yield
    away = Path(f"{stage.disk.path}.away")
    if away.exists():
        away.rename(stage.disk.path)
    shown = f"/sys/class/block/{stage.disk.name}/diskseq"
    subprocess.run(["umount", "-q", shown], check=False, capture_output=True)


@pytest.mark.usefixtures("mended")
@pytest.mark.parametrize("change", CHANGES)
def test_a_disk_that_changes_while_caches_are_dropped_is_not_written_to(stage, change):
    """The disk changes after the guard's first check: fio is not started, the reason is named."""
    do, words = CHANGES[change]
    stage.refused(f"refused: .*{words}", stage.when(CACHE_DROP, do(stage)))
    assert change == "written to" or is_empty(stage.disk.image)


@pytest.mark.usefixtures("mended")
@pytest.mark.parametrize("change", [one for one in CHANGES if one != "written to"])
def test_a_step_whose_disk_changes_while_fio_runs_is_failed(stage, change):
    """The disk is moved, grown, shared, renamed or exchanged while fio runs."""
    do, words = CHANGES[change]
    stage.refused(f"changed while fio ran.*{words}", stage.when(FIO, do(stage)))


@pytest.mark.usefixtures("mended")
def test_a_name_that_is_exchanged_in_the_last_moment_leads_fio_nowhere_else(stage):
    """Another disk takes the name before fio opens it: fio was given its disk by descriptor."""
    stage.refused("changed while fio ran", stage.when(BEFORE_FIO, other_node(stage)))
    assert not is_empty(stage.disk.image)


OTHERS: dict[str, Callable[[Stage], str]] = {
    "mkfs": lambda s: f"mkfs.ext4 -q -F {s.disk.path}",
    "mkswap": lambda s: f"mkswap {s.disk.path}",
    "wipefs": lambda s: f"wipefs -a {s.disk.path}",
    "losetup": lambda s: loops.point_at(s.disk, s.other),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("window", WINDOWS)
def test_no_other_process_gets_a_disk_that_a_step_holds(stage, window, other):
    """Mkfs, mkswap, wipefs or losetup try to open the disk, and the kernel refuses them."""
    done = stage.when(WINDOWS[window], OTHERS[other](stage))
    assert stage.raw_step().fio_exit == 0
    assert done.exit != 0
    assert "busy" in done.said or "in use" in done.said
    assert is_empty(stage.other)


def test_a_step_holds_its_disk_exclusively_and_its_evidence_says_so(stage):
    """The loop device of a step is pointed elsewhere during the cache drop."""
    done = stage.when(CACHE_DROP, loops.point_at(stage.disk, stage.other))
    target = stage.target()
    make_workspace(HERE, target)
    try:
        assert stage.step(target).fio_exit == 0
        told = Path(target.state_dir, "run-0/step-000-write/device.txt").read_text()
    finally:
        cleanup(HERE, target)
    assert done.exit != 0
    assert is_empty(stage.other)
    assert told.startswith("held open exclusively (O_EXCL), by python3\n")


def test_a_host_without_python_is_refused_before_anything_is_written(stage, monkeypatch):
    """A host has no Python, or none that is new enough: the command that installs it is named."""
    target, bare = stage.target(), stage.directory / "bare"
    bare.mkdir()
    for tool in ("sh", "id"):
        (bare / tool).symlink_to(str(shutil.which(tool)))
    for old in (False, True):
        if old:
            (bare / "python3").write_text(
                '#!/bin/sh\necho \'{"failed": "there is no Python 3.6"}\'; exit 96\n'
            )
            (bare / "python3").chmod(0o755)
        with monkeypatch.context() as patched:
            patched.setenv("PATH", str(bare))
            patched.setattr(sys, "executable", "")  # that of diskbench, which this machine has
            with pytest.raises(HostUnavailable, match=r"has no Python 3\.6") as refused:
                check_device(HERE, stage.disk.path, stage.disk.identity)
            assert "apt-get install python3" in refused.value.advice
            with pytest.raises(MeasurementFailed, match=r"there is no Python 3\.6"):
                stage.step(target)
    assert is_empty(stage.disk.image)


def test_a_disk_is_released_when_its_step_has_ended(stage):
    """A step ends, done or refused, and the next step of the same disk begins at once."""
    for _ in range(3):
        assert stage.raw_step().fio_exit == 0
    stage.when(CACHE_DROP, second_loop(stage))
    with pytest.raises(MeasurementFailed, match="shares its backing file"):
        stage.raw_step()
    detach_all(stage.directory / "link.img")
    subprocess.run(["losetup", stage.disk.path, str(stage.disk.image)], check=False)
    assert check_device(HERE, stage.disk.path, stage.disk.identity)


KILLS = [kill_holder, lambda _: 'read -r pid rest <pid && kill -9 "$pid"']


@pytest.mark.parametrize("kill", KILLS, ids=["holder", "pid"])
def test_a_step_is_lost_with_whoever_holds_its_disk_and_the_disk_is_free(stage, kill):
    """The unit, which holds the disk, is killed: nothing is left that could start fio on it."""
    stage.refused("died on this machine without a result", stage.when(CACHE_DROP, kill(stage)))
    assert check_device(HERE, stage.disk.path, stage.disk.identity)
    assert is_empty(stage.disk.image)


@pytest.mark.parametrize(("window", "words"), [(CACHE_DROP, "refused: "), (FIO, "fio ran.*: ")])
def test_a_directory_that_is_exchanged_is_not_measured(stage, window, words):
    """The directory of test files is exchanged while caches are dropped, and while fio runs."""
    trial = f"diskbench-{str(ulid.ULID()).lower()}"
    (stage.directory / "measured").mkdir()
    target = ResolvedTarget(
        kind="directory",
        path=f"{stage.directory}/measured",
        work_dir=f"{stage.directory}/measured/{trial}",
        state_dir=f"{stage.directory}/{trial}",
        size_bytes=4 * MIB,
    )
    make_workspace(HERE, target)
    work = shlex.quote(str(target.work_dir))
    done = stage.when(window, f"mv {work} {work}.away && mkdir {work}")
    with pytest.raises(MeasurementFailed, match=f"{words}.*is not the directory"):
        stage.step(target, guards=())
    assert done.exit == 0, done.said
    assert list(Path(str(target.work_dir)).iterdir()) == []


@pytest.mark.parametrize("how", ["whole", "in part", "mounted"])
def test_a_file_that_another_loop_device_shows_is_refused(stage, how):
    """Another loop device shows its file by a hard link: the whole, a part, or mounted."""
    link = stage.directory / "link.img"
    link.hardlink_to(stage.disk.image)
    flags = ["--offset", str(31 * MIB)] if how == "in part" else []
    with attached(link, *flags) as other:
        if how == "mounted":
            at = stage.directory / "at"
            at.mkdir()
            subprocess.run(["mkfs.ext4", "-q", "-F", other.path], check=True)
            subprocess.run(["mount", other.path, str(at)], check=True)
            subprocess.run(["umount", "-l", str(at)], check=True)
            subprocess.run(["mount", other.path, str(at)], check=True)
        with pytest.raises(TargetRefused, match=f"shares its backing file with {other.path}"):
            check_device(HERE, stage.disk.path, stage.disk.identity)


def test_parts_of_a_file_that_do_not_overlap_are_disks_of_their_own(stage):
    """Two loop devices show parts of one file that do not overlap: neither is refused."""
    first, second = empty_image(stage.directory / "first.img", 64), stage.directory / "second.img"
    second.hardlink_to(first)
    with (
        attached(first, "--sizelimit", str(32 * MIB)) as low,
        attached(second, "--offset", str(32 * MIB)),
    ):
        assert check_device(HERE, low.path, low.identity).path == low.path


@pytest.mark.parametrize("program", ["mkfs.ext4", "mount"])
def test_a_device_pointed_elsewhere_before_mkfs_leaves_the_other_file_alone(stage, program):
    """The loop device is pointed at another file just before mkfs, or just before mount."""
    target = stage.target("ext4")
    done = stage.when(Window(program), loops.point_at(stage.disk, stage.other))
    try:
        make_workspace(HERE, target)
    except MeasurementFailed:
        pass
    finally:
        cleanup(HERE, target)
    assert done.exit != 0
    assert is_empty(stage.other)


@pytest.mark.usefixtures("mended")
def test_a_name_that_is_exchanged_before_mkfs_leads_it_nowhere_else(stage):
    """Another disk takes the device's name in /dev just before mkfs: the run fails naming it."""
    target = stage.target("ext4")
    done = stage.when(Window("mkfs.ext4"), other_node(stage))
    with pytest.raises(MeasurementFailed, match="is now"):
        make_workspace(HERE, target)
    assert done.exit == 0, done.said
    cleanup(HERE, target)
    assert is_empty(stage.other)


@pytest.mark.usefixtures("mended")
def test_a_name_that_is_exchanged_before_the_wipe_leads_it_nowhere_else(stage):
    """At the end of a trial another disk takes the device's name just before it is wiped."""
    target = stage.target("ext4")
    make_workspace(HERE, target)
    subprocess.run(["mkfs.ext4", "-q", str(stage.other)], check=True)
    before = stage.other.read_bytes()
    wipes = 'case "$*" in *-q*-a*) true ;; *) false ;; esac'
    done = stage.when(Window("wipefs", wipes), other_node(stage))
    cleanup(HERE, target)
    assert done.exit == 0, done.said
    assert stage.other.read_bytes() == before


@pytest.mark.parametrize(("window", "how"), [(CACHE_DROP, ""), (CACHE_DROP, "-l"), (FIO, "-l")])
def test_a_filesystem_that_is_unmounted_is_not_written_beneath(stage, window, how):
    """The filesystem that diskbench made is unmounted while caches are dropped or fio runs."""
    target = stage.target("ext4")
    make_workspace(HERE, target)
    at, work = mount_point(target), target.work_dir
    done = stage.when(window, f"umount {how} {at} && mkdir -p {work}")
    words = "refused: " if window == CACHE_DROP else "changed while fio ran"
    try:
        if how:
            with pytest.raises(MeasurementFailed, match=f"{words}.*is not mounted on"):
                stage.step(target)
            assert done.exit == 0, done.said
            assert list(Path(str(work)).iterdir()) == []
        else:
            assert stage.step(target).fio_exit == 0
            assert done.exit != 0
    finally:
        cleanup(HERE, target)

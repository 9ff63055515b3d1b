"""What agent.py does where a disk, a process, a file or a host is not as it was a moment ago."""

import ast
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from tests.rigs.fake_host import FakeHost
from tests.rigs.windows import first_on_path, program

from diskbench.errors import MeasurementFailed
from diskbench.hosts import agent, calls, local
from diskbench.hosts import unit as units
from diskbench.hosts.device import DeviceProof
from diskbench.hosts.disks import parse_inspection
from diskbench.hosts.facts import gather_and_look
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.local import LocalHost
from diskbench.hosts.stripe import stripe
from diskbench.ports import Completed

HERE = LocalHost()
ALLOWED = {"path": "/dev/sdx", "number": "8:16", "identity": "serial", "size": 4096}


@pytest.mark.parametrize(
    ("says", "plain"),
    [
        ('[ "$1" = -f ] || { echo "rm: cannot remove: Device or resource busy"; exit 1; }', 0),
        ("exit 1", 0),
        ("echo \"rm: unrecognized option '--one-file-system'\"; exit 1", 2),
    ],
    ids=["it is busy", "it says nothing", "busybox"],
)
def test_only_a_rm_without_the_option_may_cross_filesystems(says, plain, tmp_path, monkeypatch):
    log = tmp_path / "log"
    program(tmp_path / "bin/rm", f'echo "$@" >>{log}\ncase "$*" in *--one*) {says} ;; esac; exit 1')
    monkeypatch.setenv("PATH", first_on_path(tmp_path / "bin"))
    agent.gone("/nowhere", sudo=[])
    removals = [line for line in log.read_text().splitlines() if line.startswith("-rf")]
    assert len([line for line in removals if "--one-file-system" not in line]) == plain
    assert all(line.endswith("-- /nowhere") for line in removals)


def test_what_changes_a_disk_or_a_mount_is_not_killed_half_done():
    changing = {"mount", "umount", "rm", "--stop", "--zero-superblock", "--create", "-a"}
    found = []
    for node in ast.walk(ast.parse(Path(agent.__file__).read_text())):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "ran"):
            continue
        words = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
        if words & changing and "-f" not in words:
            found.append(ast.unparse(node))
            assert "timeout=None" in found[-1]
    assert len(found) == 7


def test_a_command_that_takes_no_signal_is_left_behind(monkeypatch):
    """As one that hangs in the kernel, for a disk that does not answer."""
    kill, killed = subprocess.Popen.kill, []
    monkeypatch.setattr(subprocess.Popen, "kill", lambda process: killed.append(process))
    status, said = agent.ran("sleep", "60", timeout=0.1)
    assert (status, said) == (124, "sleep did not end within 0.1 s")
    with killed[0] as process:
        assert process.poll() is None
        kill(process)


def test_a_stage_that_hangs_in_the_kernel_gives_no_sign_of_life(inside, monkeypatch):
    monkeypatch.setattr(agent, "HANGING_BEATS", 3)
    monkeypatch.setattr(inside._over, "wait", lambda _: None)
    inside.enter("check", 0)
    inside._beat()
    assert Path("live.tsv").read_text() == "# check\n" * 3


def test_a_look_at_others_that_hangs_is_not_waited_for(inside, monkeypatch):
    answered = threading.Event()
    monkeypatch.setattr(agent, "BESIDE_S", 0.1)
    monkeypatch.setattr(inside.turn, "beside", lambda: [str(answered.wait())])
    inside._look_beside()
    assert inside.beside == set()
    answered.set()


# --- What the kernel and a host say

ODD = "/a\u2028b\x85c\x0bd"
"""A mount point that str.splitlines would cut into four."""


def test_a_mount_is_found_whatever_characters_its_name_has(tmp_path, monkeypatch):
    monkeypatch.setattr(agent, "PROC", str(tmp_path))
    (tmp_path / "self").mkdir()
    (tmp_path / "self/mountinfo").write_text(f"36 35 8:16 / {ODD} rw - ext4 /dev/sdx rw\n")
    assert agent.mounted_on(ODD) == ["8:16"]
    assert agent.mounted_below("/a\u2028b\x85c\x0bd")
    answer = [["device", "name=sdx", "number=8:16", f"identity={ODD}"], ["end"]]
    (device,) = parse_inspection(answer).devices
    assert device.identities == (ODD,)


@pytest.mark.parametrize("text", ["", "36 35 8:16 / /a\n", "36 35 ? / /a rw - ext4 /dev/sdx rw\n"])
def test_a_list_of_mounts_that_cannot_be_read_refuses_the_disk(text, tmp_path, monkeypatch):
    monkeypatch.setattr(agent, "PROC", str(tmp_path))
    monkeypatch.setattr(agent, "kernel_name", lambda _: "sdx")
    (tmp_path / "self").mkdir()
    (tmp_path / "self/mountinfo").write_text(text)
    with pytest.raises(agent.Failed, match="cannot be read"):
        agent.Disk(ALLOWED).check_taken()


NAMED = [["device", 'path=/a\n["end"]'], ODD, "a\0b", "a byte \udcff", {"failed": "a\nb"}]
"""What a host says of names that hold newlines, ends of lines of Unicode, NULs and odd bytes."""


def test_a_name_brings_no_line_into_an_answer_whatever_it_holds(monkeypatch, capfdbinary):
    monkeypatch.setitem(agent.COMMANDS, "end", lambda _: iter(NAMED))
    monkeypatch.setattr(sys, "argv", ["agent", json.dumps({"do": "end"})])
    with monkeypatch.context() as patched:
        patched.setattr(os, "umask", lambda _: 0)
        assert agent.main() == 0
    sys.stdout.flush()
    *lines, failed, _ = capfdbinary.readouterr().out.split(b"\n")
    said = list(calls.heard([*lines, b"torn", b"3", b"[]", b"[[]]", b'{"a": 1}', b"[" * 99999]))
    assert said == [["device", 'path=/a ["end"]'], [ODD], ["a\ufffdb"], ["a byte \ufffd"]]
    with pytest.raises(calls.AgentError, match=r"^a\nb$"):
        list(calls.heard([failed]))
    assert list(calls.heard([b'"half \\ud800"'])) == [["half ?"]]
    host = FakeHost()
    host.run = lambda *_, **__: Completed(0, b"", b"")
    pair = [DeviceProof(path=x, number="-", identity=x, size_bytes=1) for x in ("/dev/a", "/dev/b")]
    with pytest.raises(MeasurementFailed, match="it ended without a message"):
        stripe(host, "t", pair)


class Member:
    """A member of an array that is held, with an MD superblock."""

    def __init__(self, path: str, descriptor: int, why: str = "") -> None:
        self.path = self.number = self.held = path
        self.descriptor, self.why = descriptor, why

    def check_identity(self) -> None:
        pass

    def hold(self, exclusively: bool = False) -> None:
        assert not exclusively
        if self.why:
            raise agent.Failed(self.why)

    def carries(self, _: str) -> bool:
        return True

    check_content = carries

    def release(self) -> None:
        pass


@pytest.fixture
def array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> agent.Array:
    monkeypatch.setattr(agent, "SYS", str(tmp_path))
    made = agent.Array({"uuid": "u", "name": "n", "chunk_kib": 512, "disks": []})
    flags = os.O_RDONLY | os.O_CREAT
    made.members = [Member(name, os.open(tmp_path / name, flags)) for name in ("a", "b")]
    return made


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The commands that are run; mdadm --stop of the first array fails."""
    said: list[tuple[str, ...]] = []

    def ran(*words: str, **_: object) -> tuple[int, str]:
        said.append(words)
        return (1, "md0 is busy") if words[1:] == ("--stop", "/dev/md0") else (0, "")

    monkeypatch.setattr(agent, "ran", ran)
    return said


def test_no_superblock_is_cleared_after_an_array_that_does_not_stop(array, commands, monkeypatch):
    monkeypatch.setattr(agent, "holders", lambda number: {"a": ["md0"], "b": ["md1"]}[number])
    with pytest.raises(agent.Failed, match="md0 is busy"):
        array.take_apart()
    assert {words[:2] for words in commands} == {("mdadm", "--stop"), ("udevadm", "settle")}
    assert ("mdadm", "--stop", "/dev/md1") not in commands


def test_an_array_of_which_a_member_is_gone_is_not_taken_apart(array, commands):
    array.members.append(Member("c", -1, "c cannot be opened: Input/output error"))
    with pytest.raises(agent.Failed, match=r"^c cannot be opened"):
        array.find()
    assert commands == []


def test_a_disk_that_cannot_be_opened_or_examined_is_not_said_to_be_wiped(monkeypatch):
    monkeypatch.setattr(agent, "ran", lambda *_: (2, "blkid: error"))
    for names, why in ((["check_identity"], "opened"), (["check_same", "hold"], "examined")):
        for name in names:
            monkeypatch.setattr(agent.Disk, name, lambda *_, **__: None)
        with pytest.raises(agent.Failed, match=f"/dev/sdx cannot be {why}"):
            list(agent.wipe({"disk": ALLOWED, "uuid": "u"}))


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> agent.Unit:
    """A unit of a raw disk, in this process."""
    monkeypatch.chdir(tmp_path)
    spec = {
        "limits": {}, "state": str(tmp_path), "work": "", "mount": "", "disks": [ALLOWED],
        "trial": "t", "user": "u", "holds_data": False, "sampled": [],
    }  # fmt: skip
    return agent.Unit(spec, os.open(tmp_path, os.O_RDONLY))


@pytest.mark.parametrize(
    "line", ["filename=/etc/passwd", "filename=/dev/sdx:/etc/passwd", " filename = /etc/passwd"]
)
def test_a_job_that_names_something_else_is_refused(line, inside):
    inside.disks[0].descriptor = 9
    Path("job.fio").write_text(f"[x]\n{line}\n")
    with pytest.raises(agent.Failed, match=r"job.fio names /etc/passwd, which is not a disk of"):
        inside._job()
    Path("job.fio").write_text("[x]\nfilename=/dev/sdx\n")
    assert Path(inside._job()).read_text() == "[x]\nfilename=/proc/self/fd/9\n"


def test_a_test_file_gone_at_the_cache_drop_is_no_error_and_a_late_disk_one(
    inside, tmp_path, monkeypatch
):
    inside.work = str(tmp_path)
    (tmp_path / "there").touch()
    monkeypatch.setattr(os, "walk", lambda _: [(str(tmp_path), ["gone"], ["gone", "there"])])
    assert list(inside._files()) == [f"{tmp_path}/there"]
    monkeypatch.setattr(agent.Unit, "check", lambda _: None)
    with pytest.raises(agent.Failed, match="/dev/sdx is now gone, not 8:16"):
        inside.hold()


def test_nothing_is_written_to_the_files_of_a_unit_that_are_summed(inside, monkeypatch):
    """What fio printed is kept, and what is told afterwards changes no file whose checksum was
    taken."""
    inside.append("fio.json", b"a word of fio\n")
    inside.tell("#")
    monkeypatch.setattr(agent.Turn, "report", lambda _: iter(()))
    inside._is_quiet.set()
    inside.finish("")
    inside.tell("late")
    inside.append("fio.json", b"late")
    assert Path("fio.json").read_text() == "a word of fio\n"
    sums = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], capture_output=True, text=True)
    assert sums.returncode == 0, sums.stdout
    assert "fio.json: OK" in sums.stdout


def test_who_has_ended_keeps_its_number_until_it_is_waited_for():
    process = subprocess.Popen(["true"])
    while not agent.has_ended(process):
        pass
    os.kill(process.pid, 0)
    assert process.wait() == 0
    assert agent.has_ended(process)


@pytest.mark.slow
def test_what_fio_forked_is_killed_when_fio_itself_has_ended(make_unit, tmp_path, monkeypatch):
    """fio is killed, and a worker of it, in a session of its own, ignores the stop."""
    monkeypatch.setattr(units, "STOP_PATIENCE_S", 2)
    program(
        tmp_path / "bin/fio",
        'case "$*" in *pipe.fio*) ;; *) exit 0 ;; esac\n'
        "trap '' TERM; exec 3>pipe.fio\n"
        "setsid sh -c 'while :; do sleep 1; done' & exit 3",
    )
    monkeypatch.setenv("PATH", first_on_path(tmp_path / "bin"))
    unit = make_unit(60, fio_limit_s=2)
    end = start_and_watch(HERE, unit, lambda _: None, lambda: False)
    assert (end.fio_exit, end.limit) == (3, "fio")
    assert list(agent.living_in(unit.directory, unit.state_dir)) == []


@pytest.mark.slow
def test_a_mistake_of_the_program_ends_fio_and_is_told(make_unit, monkeypatch):
    known = units.specification

    def lacking(unit: units.Unit) -> dict[str, object]:
        spec = known(unit)
        del spec["limits"]["stop_patience"]
        return spec

    monkeypatch.setattr(units, "specification", lacking)
    unit, ticked = make_unit(60), []
    with pytest.raises(MeasurementFailed, match=r"was ended .*KeyError: 'stop_patience'"):
        start_and_watch(HERE, unit, ticked.append, lambda: bool(ticked))
    assert list(agent.living_in(unit.directory, unit.state_dir)) == []


@pytest.mark.slow
def test_a_unit_without_a_path_finds_its_python_and_one_that_gets_no_thread_says_so(
    make_unit, target, monkeypatch
):
    known, unit = local.argv, make_unit(0.2)
    monkeypatch.setattr(local, "argv", lambda script, **_: ["env", "-i", *known(script)])
    assert start_and_watch(HERE, unit, lambda _: None, lambda: False).fio_exit == 0
    words = ["setpriv", "--reuid=64999", "--regid=64999", "--clear-groups", "prlimit", "--nproc=2"]
    monkeypatch.setattr(local, "argv", lambda script, **_: [*words, *known(script)])
    for path in (target.state_dir, target.work_dir):
        os.chown(path, 64999, 64999)
    unit = unit.model_copy(update={"run_index": 1})
    with pytest.raises(MeasurementFailed, match=r"was ended .* can't start new thread"):
        start_and_watch(HERE, unit, lambda _: None, lambda: False)
    os.chown(target.work_dir, os.getuid(), -1)


def test_an_old_python_gives_way_to_the_one_that_came_with_the_system(tmp_path, monkeypatch):
    newer = tmp_path / "platform-python"
    newer.symlink_to(sys.executable)
    boot = calls._BOOT.replace("/usr/libexec/platform-python", str(newer))
    old = (
        "import os, sys\nif os.environ.pop('OLD', ''):\n"
        "    sys.version_info, sys.executable = (3, 5, 3), '/old'\n"
    )
    monkeypatch.setattr(calls, "_BOOT", old + boot)
    monkeypatch.setenv("OLD", "1")
    (tmp_path / "state").mkdir()
    assert calls.ask(HERE, "end", state=str(tmp_path), signal=int(signal.SIGTERM)) == []
    newer.unlink()
    with pytest.raises(calls.HostUnavailable, match=r"has no Python 3\.6"):
        calls.ask(HERE, "end", state=str(tmp_path), signal=int(signal.SIGTERM))


def test_on_this_machine_it_is_the_python_of_diskbench_whatever_path_has(tmp_path, monkeypatch):
    program(tmp_path / "bin/python3", "exit 127")
    monkeypatch.setenv("PATH", first_on_path(tmp_path / "bin"))
    assert calls.ask(HERE, "end", state=str(tmp_path), signal=int(signal.SIGTERM)) == []


@pytest.mark.parametrize("text", ["raise SystemExit(3)", None], ids=["another", "gone"])
def test_what_was_sent_runs_where_the_own_file_is_another_or_gone(text, tmp_path, monkeypatch):
    if text:
        (tmp_path / "agent.py").write_text(text)
    monkeypatch.setattr(local, "AGENT", tmp_path / "agent.py")
    assert calls.ask(HERE, "end", state=str(tmp_path), signal=int(signal.SIGTERM)) == []


def test_names_beyond_ascii_work_where_no_locale_has_them(tmp_path, monkeypatch, python_of):
    assert Path(agent.__file__).read_text().isascii(), "it is written to the host as names are"
    program(tmp_path / "old", f'LC_ALL=nowhere exec {python_of("3.6")} "$@"')
    monkeypatch.setattr(sys, "executable", str(tmp_path / "old"))
    with tempfile.TemporaryDirectory(prefix="größe-") as place:
        facts, looked = gather_and_look(HERE, place, device=False, look=True)
    assert looked[-1].startswith("free ")
    assert facts.mount is not None

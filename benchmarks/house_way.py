"""Which functions run on the way of `diskbench run --provider aws`, from command to page.

The emulated AWS of the tree that is counted is started, `diskbench run --provider aws` measures a
disk there with a short profile of two steps, and `diskbench report` makes the page. Both commands
run under sys.setprofile (threads included), which notes each Python function entered. Needs Linux
and root, as the emulator does.

Every figure is of distinct functions, however often each was called; what is counted as a function
is a named `def` (no lambda, no comprehension, nothing generated such as a dataclass's `__init__`).
Functions that only importing a module calls are left out.

    entered   all of them
    crossed   those called from another file: who reads the way must open that file and find them
    between   functions at the top of a module that are called from another room (first folder)
    stations  crossed ones of the orchestrating rooms alone (`ORCHESTRATION`): cli, engine, results,
              plan and ports; what a provider, fio, a host or a store does below is theirs
    called back
              stations that no other file of ours calls: a thread, a context manager, the workflow
              engine or the command line's library enters them

Run as a program, it is the profiled command itself:

    python house_way.py OUT ARGUMENT…      runs `diskbench ARGUMENT…`, writes the calls to OUT
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn

ORCHESTRATION = ("cli/", "engine/", "results/", "plan/", "ports.py")
PROFILE = """[global]
filename=data
size=4m
direct=1
ioengine=libaio
[write]
rw=write
bs=256k
[read]
stonewall
rw=randread
bs=4k
time_based
runtime=2
"""
GENERATED = ("<lambda>", "<module>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
LIMIT_S = 240


@dataclass(frozen=True)
class Call:
    """A function that was entered: file below the package, qualified name, and the files of its
    callers (below the package; "" is code of somebody else, such as a library's callback)."""

    path: str
    name: str
    callers: frozenset[str]


@dataclass(frozen=True)
class Way:
    """The figures of one way; `calls` are what they were counted from."""

    calls: tuple[Call, ...]

    def entered(self) -> int:
        """Distinct functions."""
        return len(self.calls)

    def files(self) -> int:
        """Distinct files they stand in."""
        return len({call.path for call in self.calls})

    def crossed(self) -> int:
        """Distinct functions that were called from another file."""
        return len([call for call in self.calls if call.callers - {call.path}])

    def between(self) -> int:
        """Distinct functions at the top of a module that were called from another room."""
        return len(
            [
                call
                for call in self.calls
                if "." not in call.name
                and {_room(path) for path in call.callers if path} - {_room(call.path)}
            ]
        )

    def stations(self) -> int:
        """`crossed`, of the orchestrating rooms."""
        return len(
            [c for c in self.calls if c.callers - {c.path} and c.path.startswith(ORCHESTRATION)]
        )

    def called_back(self) -> int:
        """Those of `stations` that only code of somebody else calls from outside their file."""
        return len(
            [
                call
                for call in self.calls
                if call.callers - {call.path} == {""} and call.path.startswith(ORCHESTRATION)
            ]
        )


def _room(path: str) -> str:
    return path.split("/")[0] if "/" in path else "."


def of(calls: list[dict[str, Any]]) -> Way:
    """The way in documents that `record` wrote: a function of both commands counts once."""
    callers: dict[tuple[str, str], set[str]] = {}
    for call in calls:
        callers.setdefault((call["path"], call["name"]), set()).update(call["callers"])
    return Way(tuple(Call(p, n, frozenset(c)) for (p, n), c in sorted(callers.items())))


def walked(tree: Path, python: str) -> Way:
    """Run both commands of `tree` (a checkout of the project) by `python`; raise RuntimeError with
    what was printed where one of them fails."""
    with tempfile.TemporaryDirectory(prefix="diskbench-house-", dir="/var/tmp") as directory:
        home = Path(directory)
        (home / "way.fio").write_text(PROFILE)
        with _emulator(tree, python, home) as up:
            env = _environment(tree, home, up)
            rent = _renting(up["demo"]["run"])
            command = [*rent, "--disk", "gp3", "--size", "4", "--profile", str(home / "way.fio")]
            calls = _recorded(python, env, home, [*command, "--output", "json"])
            run_id = json.loads((home / "stdout").read_text())["runs"][0]["run_id"]
            calls += _recorded(python, env, home, ["report", run_id, "--to", "page.html"])
        return of(calls)


def _renting(words: list[str]) -> list[str]:
    """The demo's `run --provider aws --region … --endpoint-url …` without its disk and profile."""
    kept = words[: words.index("--disk")]
    return [word for word in kept if word]


def _environment(tree: Path, home: Path, up: dict[str, Any]) -> dict[str, str]:
    dropped = set(up["demo"]["unset"])
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in dropped and not name.startswith(("DISKBENCH_", "XDG_"))
    }
    return env | up["env"] | {"HOME": str(home), "PYTHONPATH": f"{tree / 'src'}:{tree}"}


@contextmanager
def _emulator(tree: Path, python: str, home: Path) -> Iterator[dict[str, Any]]:
    """The emulated AWS of `tree`: what it printed when it was up. It ends when its input closes."""
    module = (
        "emulators" if (tree / "emulators").is_dir() else ".".join(("tests", "cloud", "emulator"))
    )
    state = home / "emulator"
    process = subprocess.Popen(
        [python, "-m", module, "aws", "--state", str(state), "--limit-s", str(3 * LIMIT_S)],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": f"{tree / 'src'}:{tree}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the emulated AWS did not start")
        yield json.loads(line)
    finally:
        process.stdin.close()
        process.wait(LIMIT_S)
        process.stdout.close()


def _recorded(
    python: str, env: dict[str, str], home: Path, words: list[str]
) -> list[dict[str, Any]]:
    """Run `diskbench WORDS` under the profile; what it wrote. stdout is kept in `home`/stdout."""
    out = home / "calls.json"
    done = subprocess.run(
        [python, str(Path(__file__).resolve()), str(out), *words],
        cwd=home,
        env=env,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    (home / "stdout").write_text(done.stdout)
    if done.returncode or not out.exists():
        command = " ".join(["diskbench", *words])
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr}")
    return list(json.loads(out.read_text()))


class Recorder:
    """Notes each function of `package` that is entered, in every thread that starts after it."""

    def __init__(self, package: Path) -> None:
        self.prefix = f"{package}{os.sep}"
        self.seen: dict[CodeType, set[str]] = {}

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Called by the interpreter at each call and return."""
        if event != "call" or not frame.f_code.co_filename.startswith(self.prefix):
            return
        caller = _outside_comprehensions(frame.f_back)
        self.seen.setdefault(frame.f_code, set()).add(self._below(caller))

    def _below(self, frame: FrameType | None) -> str:
        file = frame.f_code.co_filename if frame else ""
        return file.removeprefix(self.prefix) if file.startswith(self.prefix) else ""

    def start(self) -> None:
        """Note calls from now on."""
        threading.setprofile(self)
        sys.setprofile(self)

    def calls(self) -> list[dict[str, Any]]:
        """What was noted: one document a function."""
        sys.setprofile(None)
        return [
            {
                "path": code.co_filename.removeprefix(self.prefix),
                "name": code.co_qualname,
                "callers": sorted(callers),
            }
            for code, callers in list(self.seen.items())
            if code.co_name not in GENERATED and not code.co_name.startswith("<")
        ]


def _outside_comprehensions(frame: FrameType | None) -> FrameType | None:
    while frame is not None and frame.f_code.co_name in GENERATED[2:]:
        frame = frame.f_back
    return frame


def record(out: Path, arguments: list[str]) -> NoReturn:
    """Run `diskbench ARGUMENTS` in this process and write what it entered to `out`, however it
    ends: os._exit, too, runs no handler, so it is replaced."""
    import diskbench.cli.main as command

    recorder = Recorder(Path(command.__file__).resolve().parent.parent)
    leave = os._exit

    def ended(code: int) -> NoReturn:
        out.write_text(json.dumps(recorder.calls()))
        sys.stdout.flush()
        leave(code)

    os._exit = ended  # type: ignore[assignment]
    sys.argv = ["diskbench", *arguments]
    recorder.start()
    code = 0
    try:
        command.main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    ended(code)


if __name__ == "__main__":
    record(Path(sys.argv[1]), sys.argv[2:])

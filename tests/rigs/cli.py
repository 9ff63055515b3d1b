"""diskbench as a user runs it: a process of its own, with a home of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITE_THEN_READ = """[global]
size=4m
direct=0
ioengine=psync
[write]
rw=write
bs=64k
[read]
stonewall
rw=randread
bs=4k
time_based
runtime={seconds}
"""
"""A job file of two steps; the second lasts `seconds`."""


_started: list[subprocess.Popen[str]] = []


@contextmanager
def all_ended() -> Iterator[None]:
    """Kill, and wait for, what is started inside and still runs at the end: a test that fails must
    not leave a process (and its open pipes) that a later test is blamed for."""
    before = len(_started)
    try:
        yield
    finally:
        for process in _started[before:]:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        del _started[before:]


@dataclass
class Cli:
    """A user with an empty home: own database, own evidence store."""

    home: Path
    extra_env: dict[str, str] = field(default_factory=dict)
    program: tuple[str, ...] = ("-m", "diskbench")
    """What Python runs."""

    @property
    def env(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DISKBENCH_", "XDG_"))}
        return kept | {"HOME": str(self.home), "COLUMNS": "100"} | self.extra_env

    @property
    def command(self) -> list[str]:
        """How diskbench is started."""
        return [sys.executable, *self.program]

    def start(self, *args: str, **popen: Any) -> subprocess.Popen[str]:
        """Start `diskbench ARGS` without waiting for it."""
        process = subprocess.Popen(
            [*self.command, *args],
            env=self.env,
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **popen,
        )
        _started.append(process)
        return process

    def run(self, *args: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """Run `diskbench ARGS` to its end."""
        process = self.start(*args)
        try:
            out, err = process.communicate(timeout=timeout_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def json(self, *args: str) -> Any:
        """The JSON document that `diskbench ARGS --output json` prints; it must end with 0."""
        done = self.run(*args, "--output", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def a_user(tmp_path: Path) -> Cli:
    """A new user in a directory of the test's."""
    home = tmp_path / "home"
    home.mkdir()
    return Cli(home)


def merged_rows(run: Any) -> list[Any]:
    """The step rows of a run in a results document, in the order of the steps."""
    return [m for step in run["steps"] for m in step["measurements"] if m["scope"] == "step"]

"""diskbench as a user runs it, with a home of its own: as a process, or called in this one."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from tests.rigs.forked import KNOWN, Forked

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
thinktime=100ms
thinktime_blocks=50
runtime={seconds}
"""
"""A job file of two steps; the second lasts `seconds`, and leaves the CPU to others."""


_started: list[subprocess.Popen[str]] = []


@contextmanager
def all_ended():
    """What is started inside and still runs at the end is killed: no later test is blamed."""
    before = len(_started)
    try:
        yield
    finally:
        for process in _started[before:]:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
                pipe.close()
        del _started[before:]


LOOKS = frozenset({"results", "status", "devices", "plan", "catalog", "config", "profiles"})
"""Commands that start nothing: Cli.json calls them in this process."""

MEASURES = frozenset({"run", "resume", "worker"})
"""Commands that measure: a test that fails may have to kill them."""


@contextmanager
def in_process(env, directory):
    """Environment, directory, streams and logging of a process of its own; what was written."""
    root, own = logging.getLogger(), logging.getLogger("diskbench")
    handlers, levels = root.handlers[:], (root.level, own.level)
    streams, said = (sys.stdin, sys.stdout, sys.stderr), ["", ""]
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        Path(os.devnull).open(encoding="utf-8") as nothing,
        patch.dict(os.environ, env, clear=True),
        chdir(directory),
    ):
        opened = [io.TextIOWrapper(file, "utf-8", write_through=True) for file in (out, err)]
        sys.stdin, sys.stdout, sys.stderr = (nothing, *opened)
        try:
            yield lambda: said[0], lambda: said[1]
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
            for number, stream in enumerate(opened):
                stream.flush()
                stream.buffer.seek(0)
                said[number] = stream.buffer.read().decode("utf-8", "backslashreplace")
                stream.detach()
            root.handlers[:] = handlers
            root.setLevel(levels[0])
            own.setLevel(levels[1])


@dataclass
class Cli:
    """A user with an empty home: own database, own evidence store."""

    home: Path
    extra_env: dict[str, str] = field(default_factory=dict)
    program: tuple[str, ...] = ("-m", "diskbench")
    """What Python runs."""
    modules: str = ""  # a PYTHONPATH that several command lines have

    @property
    def env(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DISKBENCH_", "XDG_"))}
        return kept | {"HOME": str(self.home), "COLUMNS": "100"} | self.extra_env

    @property
    def command(self):
        return [sys.executable, *self.program]

    def start(self, *args, executed=False, **popen):
        """`diskbench ARGS` in a process of its own, forked (tests/rigs/forked.py) where it can be
        and need not be `executed`."""
        pipe, own = subprocess.PIPE, {"env": self.env, "cwd": self.home, "start_new_session": True}
        wanted = {"stdout": pipe, "stderr": pipe, "text": True} | own | popen
        env, ordinary = wanted["env"], [sys.executable, *self.program]
        loaded = (key for key in env if key.startswith(("PYTHON", "LD_")))  # as a process begins
        changed = any(env[key] not in (os.environ.get(key), self.modules) for key in loaded)
        is_known = (
            wanted.keys() <= KNOWN and wanted["start_new_session"] and self.program[0] != "-c"
        )
        if is_known and self.command == ordinary and not (changed or executed):
            process: subprocess.Popen[str] = Forked([*self.program, *args], **wanted)
        else:
            process = subprocess.Popen([*self.command, *args], **wanted)
        _started.append(process)
        return process

    def run(self, *args, timeout_s=240):
        process = self.start(*args)
        try:
            out, err = process.communicate(timeout=timeout_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def done(self, *args, timeout_s=240):
        """`run`, which must end with 0."""
        ended = self.run(*args, timeout_s=timeout_s)
        assert ended.returncode == 0, ended.stderr
        return ended

    def called(self, *args):
        """`call`, which must end with 0."""
        ended = self.call(*args)
        assert ended.returncode == 0, ended.stderr
        return ended

    def call(self, *args):
        """Run `diskbench ARGS` to its end in this process: a tenth of the time that `run` takes.
        For commands that look, write down or refuse. What measures, waits or is to be killed gets a
        process of its own (`run`, `start`)."""
        return self.run(*args) if MEASURES.intersection(args) else self.call_refused(*args)

    def call_refused(self, *args):
        """Like `call`, also for a command that would measure: it must be refused before."""
        assert self.program == Cli.program, "a program of one's own needs a process of its own"
        with in_process(self.env, self.home) as (out, err):
            # Not at the top: a test that copies conftest.py runs where there is no diskbench.
            from diskbench.cli.main import main

            code = main(list(args))
        return subprocess.CompletedProcess([*self.command, *args], code, out(), err())

    def refused(self, *args, code=2):
        """`call_refused`, which must end with `code`, and with words."""
        ended = self.call_refused(*args)
        assert (ended.returncode, "Traceback" in ended.stderr) == (code, False), ended.stderr
        return ended

    def job(self, text=WRITE_THEN_READ, name="mine.fio", *, seconds=1):
        """The path of a job file in the home; its `{seconds}` are filled in."""
        path = self.home / name
        path.write_text(text.replace("{seconds}", str(seconds)))
        return str(path)

    def json(self, *args):
        """The JSON document that `diskbench ARGS --output json` prints; it must end with 0."""
        looks = (
            args[0] in LOOKS and self.program == Cli.program and "PYTHONPATH" not in self.extra_env
        )
        done = (self.call if looks else self.run)(*args, "--output", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def invoked(*args, env=None, fails=False):
    """What typer's runner says of a command; what it raises is raised, unless it `fails`."""
    # Not at the top: a test that copies conftest.py runs where there is no diskbench.
    from typer.testing import CliRunner

    from diskbench.cli.main import app
    from diskbench.cli.opened import closing_all

    with closing_all():
        done = CliRunner().invoke(app, list(args), env={"COLUMNS": "80"} | dict(env or {}))
    if not fails and done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def printed(*args, code=0):
    """What a command prints on stdout, in this process; it ends with `code`."""
    done = invoked(*args)
    assert done.exit_code == code, done.output
    return done.stdout


def a_user(tmp_path, **env):
    home = tmp_path / "home"
    home.mkdir()
    return Cli(home, env)


def merged_rows(run):
    """The step rows of a run in a results document, in the order of the steps."""
    return [m for step in run["steps"] for m in step["measurements"] if m["scope"] == "step"]


def over_ssh(user, config):
    """The same user, who reaches the hosts of an SSH configuration."""
    file = user.home / "ssh_config"
    file.write_text(config)
    file.chmod(0o600)
    user.extra_env["DISKBENCH_SSH_CONFIG"] = str(file)
    return user

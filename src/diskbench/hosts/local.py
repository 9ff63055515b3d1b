"""This machine as a Host: scripts run in a child process."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from diskbench.errors import ConnectionLost
from diskbench.hosts.calls import AGENT, OWN_AGENT, OWN_PYTHON
from diskbench.hosts.shell import OutputLimit, argv, root_refused, whole_lines
from diskbench.ports import ByteSink, Completed, Stdin

_CHUNK = 65536


class LocalHost:
    """The machine on which diskbench runs; there is no connection that could break."""

    name = "this machine"

    def connect(self) -> None:
        """Nothing to connect to."""

    def close(self) -> None:
        """Nothing to give back."""

    def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 60.0, root: bool = False
    ) -> Completed:
        """See ports.Host.run; after `timeout_s` the script and its children are killed."""
        with (
            _readable(stdin) as read_end,
            _child(script, root=root, stdin=read_end, stderr=subprocess.PIPE) as process,
        ):
            out, err, allowed = bytearray(), bytearray(), OutputLimit(self.name, script)
            deadline = time.monotonic() + timeout_s
            for is_output, chunk in _chunks(process, timeout_s, deadline):
                (out if is_output else err).extend(allowed.take(chunk))
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise _silent(timeout_s) from None
        done = Completed(_shell_exit(process.returncode), bytes(out), bytes(err))
        if root:
            root_refused(done, self.name)
        return done

    def stream(
        self, script: str, *, stdin: Stdin = b"", timeout_s: float = 30.0, root: bool = False
    ) -> Iterator[bytes]:
        with (
            _readable(stdin) as read_end,
            _child(script, root=root, stdin=read_end, stderr=subprocess.DEVNULL) as process,
        ):
            if callable(stdin):
                stdin(lambda data: _write(process, data))
            yield from whole_lines((data for _, data in _chunks(process, timeout_s)), self.name)

    def fetch(
        self, script: str, sink: ByteSink, *, timeout_s: float = 60.0, root: bool = False
    ) -> int:
        with _child(script, root=root, stderr=subprocess.DEVNULL) as process:
            assert process.stdin is not None
            process.stdin.close()
            for _, chunk in _chunks(process, timeout_s):
                sink.write(chunk)
            return _shell_exit(process.wait())


@contextlib.contextmanager
def _child(
    script: str, *, root: bool, stderr: int, stdin: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[bytes]]:
    """The script as a child in its own session, which is killed on exit if it still runs."""
    process = subprocess.Popen(
        argv(script, root=root),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        env={**os.environ, OWN_PYTHON: sys.executable or "", OWN_AGENT: str(AGENT)},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


@contextlib.contextmanager
def _readable(data: Stdin) -> Iterator[int]:
    """A file descriptor from which `data` is read; a file, so that no writer can block. A pipe for
    what is written as it goes."""
    if callable(data):
        yield subprocess.PIPE
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file.fileno()


def _chunks(
    process: subprocess.Popen[bytes], timeout_s: float, deadline: float | None = None
) -> Iterator[tuple[bool, bytes]]:
    """What it prints as it arrives, with whether that is standard output; ConnectionLost at the
    deadline, without one after `timeout_s` of silence."""
    with selectors.DefaultSelector() as selector:
        for pipe in filter(None, (process.stdout, process.stderr)):
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = timeout_s if deadline is None else deadline - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                raise _silent(timeout_s)
            for key, _ in ready:
                if chunk := os.read(key.fd, _CHUNK):
                    yield key.fileobj is process.stdout, chunk
                else:
                    selector.unregister(key.fileobj)


def _write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):  # it has ended
        process.stdin.write(data)
        process.stdin.flush()


def _silent(timeout_s: float) -> ConnectionLost:
    return ConnectionLost(f"a command on this machine gave no answer for {timeout_s:g} s")


def _shell_exit(returncode: int) -> int:
    """The exit status as a shell would give it: 128 + n for a process that signal n ended."""
    return 128 - returncode if returncode < 0 else returncode

"""This machine as a Host: scripts run in a child process."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator

from diskbench.errors import ConnectionLost
from diskbench.hosts.shell import OutputLimit, argv, root_refused, whole_lines
from diskbench.ports import ByteSink, Completed

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
            out, err = _output(process, timeout_s, OutputLimit(self.name, script))
        done = Completed(_shell_exit(process.returncode), out, err)
        if root:
            root_refused(done, self.name)
        return done

    def stream(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 30.0, root: bool = False
    ) -> Iterator[bytes]:
        with (
            _readable(stdin) as read_end,
            _child(script, root=root, stdin=read_end, stderr=subprocess.DEVNULL) as process,
        ):
            yield from whole_lines(_chunks(process, timeout_s), self.name)

    def fetch(
        self, script: str, sink: ByteSink, *, timeout_s: float = 60.0, root: bool = False
    ) -> int:
        with _child(script, root=root, stderr=subprocess.DEVNULL) as process:
            assert process.stdin is not None
            process.stdin.close()
            for chunk in _chunks(process, timeout_s):
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
def _readable(data: bytes) -> Iterator[int]:
    """A file descriptor from which `data` is read; a file, so that no writer can block."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file.fileno()


def _output(
    process: subprocess.Popen[bytes], timeout_s: float, allowed: OutputLimit
) -> tuple[bytes, bytes]:
    """Standard output and error to the end of the process; ConnectionLost after `timeout_s`."""
    assert process.stdout is not None
    assert process.stderr is not None
    output = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    deadline = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        for descriptor in output:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                raise _silent(timeout_s)
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                if chunk:
                    output[key.fd] += allowed.take(chunk)
                else:
                    selector.unregister(key.fd)
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise _silent(timeout_s) from None
    out, err = (bytes(data) for data in output.values())
    return out, err


def _chunks(process: subprocess.Popen[bytes], timeout_s: float) -> Iterator[bytes]:
    """Standard output as it arrives; ConnectionLost after `timeout_s` of silence."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        deadline = time.monotonic() + timeout_s
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise _silent(timeout_s)
            chunk = os.read(process.stdout.fileno(), _CHUNK)
            if not chunk:
                return
            yield chunk
            deadline = time.monotonic() + timeout_s


def _silent(timeout_s: float) -> ConnectionLost:
    return ConnectionLost(f"a command on this machine gave no answer for {timeout_s:g} s")


def _shell_exit(returncode: int) -> int:
    """The exit status as a shell would give it: 128 + n for a process that signal n ended."""
    return 128 - returncode if returncode < 0 else returncode

"""A machine over SSH: one connection, one channel a call, its key verified strictly.

paramiko implements the protocol. Address and host key are resolved as OpenSSH does (ssh_config.py,
known_hosts.py). paramiko is imported when the first connection is made.
"""

from __future__ import annotations

import contextlib
import errno
import threading
import time
from typing import TYPE_CHECKING

from diskbench.errors import ConnectionLost, HostUnavailable, Unreachable
from diskbench.hosts.bounded import OutputLimit, whole_lines
from diskbench.hosts.shell import command_line, put_script, require_put, root_refused
from diskbench.ports import Completed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import paramiko

    from diskbench.hosts.ssh_connect import ConnectLimits
    from diskbench.ports import ByteSink

_CHUNK = 65536
_SLICE_S = 0.2
"""How long to wait for standard output before reading standard error; our choice."""
_EXIT_WAIT_S = 5.0
"""Seconds that the exit status may take after the end of the output; our choice."""
_SIGNALLED = 255
"""Exit status of a script that a signal ended: paramiko does not report which signal."""


class SshHost:
    """One remote machine. Connects at first use, and again after a broken connection."""

    def __init__(
        self, address: str, *, limits: ConnectLimits | None = None, config: str | None = None
    ) -> None:
        self.name = address
        self._config = config
        self._limits = limits
        self._transport: paramiko.Transport | None = None
        self._reached = False

    def connect(self) -> None:
        """See ports.Host.connect."""
        self._connected()

    def close(self) -> None:
        """See ports.Host.close."""
        transport, self._transport = self._transport, None
        if transport is not None:
            from diskbench.hosts.ssh_connect import close_transport

            close_transport(transport)

    def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 60.0, root: bool = False
    ) -> Completed:
        """See ports.Host.run."""
        out, err = bytearray(), bytearray()
        allowed = OutputLimit(self.name, script)
        deadline = time.monotonic() + timeout_s
        with self._channel(script, stdin, root=root, timeout_s=timeout_s) as channel:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._lost(f"no end after {timeout_s:g} s")
                channel.settimeout(min(_SLICE_S, left))
                with contextlib.suppress(TimeoutError):
                    chunk = channel.recv(_CHUNK)
                    if not chunk:
                        break
                    out += allowed.take(chunk)
                while channel.recv_stderr_ready():
                    err += allowed.take(channel.recv_stderr(_CHUNK))
            channel.settimeout(max(_SLICE_S, deadline - time.monotonic()))
            while more := channel.recv_stderr(_CHUNK):
                err += allowed.take(more)
            done = Completed(self._exit(channel), bytes(out), bytes(err))
        if root:
            root_refused(done, self.name)
        return done

    def stream(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 30.0, root: bool = False
    ) -> Iterator[bytes]:
        """See ports.Host.stream."""
        with self._channel(script, stdin, root=root, timeout_s=timeout_s) as channel:
            yield from whole_lines(self._chunks(channel, script), self.name)
            self._exit(channel)

    def put(self, path: str, data: bytes, *, mode: int = 0o600, root: bool = False) -> None:
        """See ports.Host.put."""
        require_put(self.run(put_script(path, mode), stdin=data, root=root), path, self.name)

    def fetch(
        self, script: str, sink: ByteSink, *, timeout_s: float = 60.0, root: bool = False
    ) -> int:
        """See ports.Host.fetch."""
        with self._channel(script, b"", root=root, timeout_s=timeout_s) as channel:
            for chunk in self._chunks(channel, script):
                sink.write(chunk)
            return self._exit(channel)

    @contextlib.contextmanager
    def _channel(
        self, script: str, stdin: bytes, *, root: bool, timeout_s: float
    ) -> Iterator[paramiko.Channel]:
        """A channel that runs `script`; connection errors in the block become ConnectionLost."""
        import paramiko

        transport = self._connected()
        channel = None
        try:
            channel = transport.open_session(timeout=min(timeout_s, 30.0))
            channel.settimeout(timeout_s)
            channel.exec_command(command_line(script, root=root))
            _feed(channel, stdin)
            yield channel
        except TimeoutError:
            self.close()
            raise self._lost(f"no answer for {timeout_s:g} s") from None
        except ConnectionLost:
            self.close()
            raise
        except (EOFError, OSError, paramiko.SSHException) as error:
            if _is_ours(error):
                raise
            self.close()
            raise self._lost(str(error) or type(error).__name__) from error
        finally:
            if channel is not None:
                channel.close()

    def _chunks(self, channel: paramiko.Channel, script: str) -> Iterator[bytes]:
        unread = OutputLimit(self.name, script)
        while chunk := channel.recv(_CHUNK):
            while channel.recv_stderr_ready():  # unread, it would fill the window
                unread.take(channel.recv_stderr(_CHUNK))
            yield chunk

    def _exit(self, channel: paramiko.Channel) -> int:
        """The exit status; ConnectionLost where the output ended with the connection."""
        channel.status_event.wait(_EXIT_WAIT_S)
        if channel.exit_status != -1:
            return int(channel.exit_status)
        transport = self._transport
        if not channel.eof_received or transport is None or not transport.is_active():
            raise self._lost("the connection ended")
        return _SIGNALLED

    def _connected(self) -> paramiko.Transport:
        if self._transport is not None and self._transport.is_active():
            return self._transport
        self.close()
        from diskbench.hosts.ssh_connect import ConnectLimits, open_transport

        try:
            self._transport = open_transport(
                self.name, self._limits or ConnectLimits(), self._config
            )
        except Unreachable as error:
            if self._reached:
                raise self._lost(error.message) from error
            raise HostUnavailable(error.message, advice=error.advice) from error
        self._reached = True
        return self._transport

    def _lost(self, why: str) -> ConnectionLost:
        return ConnectionLost(
            f"the connection to {self.name} broke: {why}",
            advice="a started fio continues there; continue the run with 'diskbench resume'",
        )


def _feed(channel: paramiko.Channel, data: bytes) -> None:
    """Send standard input; in a thread beside the reader where it may exceed the window."""
    if len(data) <= _CHUNK:
        _send(channel, data)
    else:
        threading.Thread(target=_send, args=(channel, data), daemon=True).start()


def _send(channel: paramiko.Channel, data: bytes) -> None:
    import paramiko

    # A script that ends without reading its input closes the channel, which is no error. The reader
    # notices a broken connection.
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
        if data:
            channel.sendall(data)
        channel.shutdown_write()


def _is_ours(error: BaseException) -> bool:
    """Whether an OSError came from a sink's disk rather than from the network."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}

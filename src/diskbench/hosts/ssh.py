"""A machine over SSH: one connection, one channel a call, its key verified strictly; and any host
by its address. paramiko, imported when the first connection is made, implements the protocol;
address and host key are resolved as OpenSSH does (ssh_config.py, ssh_connect.py).
"""

from __future__ import annotations

import contextlib
import errno
import logging
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from diskbench.errors import ConnectionLost, DiskbenchError, HostUnavailable, Unreachable
from diskbench.hosts.local import LocalHost
from diskbench.hosts.shell import (
    LOGIN_ADVICE,
    Frame,
    FramedStream,
    OutputLimit,
    root_refused,
    shown_noise,
    whole_lines,
)
from diskbench.hosts.ssh_config import ConnectLimits
from diskbench.ports import ByteSink, Completed, Host, Stdin

if TYPE_CHECKING:
    import paramiko


_LOG = logging.getLogger(__name__)
_CHUNK = 65536
_SLICE_S = 0.2
"""How long to wait for standard output before reading standard error; our choice."""
_EXIT_WAIT_S = 5.0
"""Seconds that the exit status, or the end of standard error, may take after the end of the output;
our choice."""
_NOISY: set[str] = set()
"""Hosts whose noise was reported."""


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
        self._understood = False
        """Whether it has run a command."""

    def connect(self) -> None:
        self._connected()

    def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            from diskbench.hosts.ssh_connect import close_transport

            close_transport(transport)

    def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 60.0, root: bool = False
    ) -> Completed:
        out, err = bytearray(), bytearray()
        allowed = OutputLimit(self.name, script)
        deadline = time.monotonic() + timeout_s
        frame = Frame(script, root=root)
        with self._channel(frame, stdin, timeout_s) as channel:
            framed, framed_err = frame.output(self.name), frame.errors(self.name)
            while framed.status is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._unanswered(
                        f"the command did not end within {timeout_s:g} s", framed, framed_err
                    )
                channel.settimeout(min(_SLICE_S, left))
                with contextlib.suppress(TimeoutError):
                    chunk = channel.recv(_CHUNK)
                    if not chunk:
                        break
                    out += allowed.take(framed.take(chunk))
                while channel.recv_stderr_ready():
                    err += allowed.take(framed_err.take(channel.recv_stderr(_CHUNK)))
            # Where a login passes on no standard error, its end does not come.
            channel.settimeout(_EXIT_WAIT_S)
            with contextlib.suppress(TimeoutError):
                while framed_err.status is None and (more := channel.recv_stderr(_CHUNK)):
                    err += allowed.take(framed_err.take(more))
            self._begun(framed, framed_err)
            done = self._exit(channel, framed, framed_err)
        completed = Completed(done, bytes(out), bytes(err))
        if root:
            root_refused(completed, self.name)
        return completed

    def stream(
        self, script: str, *, stdin: Stdin = b"", timeout_s: float = 30.0, root: bool = False
    ) -> Iterator[bytes]:
        frame = Frame(script, root=root, errors=False)
        with self._channel(frame, stdin, timeout_s) as channel:
            framed = frame.output(self.name)
            chunks = self._chunks(channel, framed, script, timeout_s)
            yield from whole_lines(chunks, self.name)
            self._exit(channel, framed)

    def fetch(
        self, script: str, sink: ByteSink, *, timeout_s: float = 60.0, root: bool = False
    ) -> int:
        frame = Frame(script, root=root, errors=False)
        with self._channel(frame, b"", timeout_s) as channel:
            framed = frame.output(self.name)
            for chunk in self._chunks(channel, framed, script, timeout_s):
                sink.write(chunk)
            return self._exit(channel, framed)

    @contextlib.contextmanager
    def _channel(self, frame: Frame, stdin: Stdin, timeout_s: float) -> Iterator[paramiko.Channel]:
        """A channel that runs a command; connection errors in the block become ConnectionLost."""
        import paramiko

        if stdin and not self._understood:
            self.run(":", timeout_s=timeout_s)  # a shell that takes input for commands gets none
        transport = self._connected()
        channel = None
        try:
            channel = transport.open_session(timeout=min(timeout_s, 30.0))
            channel.settimeout(timeout_s)
            channel.exec_command(frame.line)
            if callable(stdin):
                _send(channel, frame.before_input, is_last=False)
                stdin(lambda data: _send(channel, data, is_last=False))
            elif len(data := frame.before_input + stdin) <= _CHUNK:
                _send(channel, data)
            else:  # beside the reader, since it may exceed the window
                threading.Thread(target=_send, args=(channel, data), daemon=True).start()
            yield channel
        except TimeoutError:
            self.close()
            raise self._lost(f"no answer for {timeout_s:g} s") from None
        except ConnectionLost:
            self.close()
            raise
        except (EOFError, OSError, paramiko.SSHException) as error:
            # It came from a sink's disk rather than from the network.
            if getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}:
                raise
            self.close()
            raise self._lost(str(error) or type(error).__name__) from error
        finally:
            if channel is not None:
                channel.close()

    def _chunks(
        self, channel: paramiko.Channel, framed: FramedStream, script: str, timeout_s: float
    ) -> Iterator[bytes]:
        """What the command prints, as it comes, until it ends or the connection does."""
        unread = OutputLimit(self.name, script)
        begin_until = time.monotonic() + timeout_s
        while framed.status is None and (chunk := channel.recv(_CHUNK)):
            while channel.recv_stderr_ready():  # unread, it would fill the window
                unread.take(channel.recv_stderr(_CHUNK))
            if own := framed.take(chunk):
                yield own
            if not framed.has_begun and time.monotonic() > begin_until:
                raise self._unanswered(f"no command began within {timeout_s:g} s", framed)
        self._begun(framed)

    def _begun(self, *streams: FramedStream) -> None:
        """Report once what a host prints before a command."""
        noise = b"".join(stream.noise for stream in streams)
        if noise and self.name not in _NOISY:
            _NOISY.add(self.name)
            _LOG.warning(
                "%s prints %d bytes before each command, which are left out: %s; %s",
                *(self.name, len(noise), shown_noise(noise), LOGIN_ADVICE),
            )

    def _exit(self, channel: paramiko.Channel, framed: FramedStream, *more: FramedStream) -> int:
        """The exit status of a command. Raises ConnectionLost where it ended with the connection,
        and HostUnavailable where it was not run."""
        if framed.status == "unfed":
            raise HostUnavailable(
                f"{self.name} runs a login shell that consumes the standard input of commands",
                advice=LOGIN_ADVICE,
            )
        if framed.status is not None:
            self._understood = True
            return int(framed.status)
        channel.status_event.wait(_EXIT_WAIT_S)
        transport = self._transport
        if channel.exit_status == -1 or transport is None or not transport.is_active():
            raise self._lost("the connection ended")
        raise self._unanswered(
            f"the login shell ended with exit status {channel.exit_status}", framed, *more
        )

    def _unanswered(self, why: str, *streams: FramedStream) -> DiskbenchError:
        """The error of a command that did not come to its end."""
        if self._understood or any(stream.has_begun for stream in streams):
            return self._lost(why)
        noise = b"".join(stream.unframed for stream in streams)
        printed = f", and printed {shown_noise(noise)}" if noise else ""
        return HostUnavailable(
            f"{self.name} runs no commands for this user: {why}{printed}", advice=LOGIN_ADVICE
        )

    def _connected(self) -> paramiko.Transport:
        if self._transport is not None and self._transport.is_active():
            return self._transport
        self.close()
        from diskbench.hosts.ssh_connect import open_transport

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


def _send(channel: paramiko.Channel, data: bytes, is_last: bool = True) -> None:
    import paramiko

    # A script that ends without reading its input closes the channel, which is no error. The reader
    # notices a broken connection.
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
        if data:
            channel.sendall(data)
        if is_last:
            channel.shutdown_write()


def host_at(address: str, config: str | None = None) -> Host:
    """The host at an address, reached by the OpenSSH configuration `config` or the user's own; this
    machine where the address is empty. Connects at first use."""
    return SshHost(address, config=config) if address else LocalHost()

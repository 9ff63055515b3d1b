"""Making one SSH connection: socket or proxy, handshake, host key, login."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import paramiko

from diskbench.errors import Unreachable
from diskbench.hosts.known_hosts import key_order, known_keys, verify
from diskbench.hosts.ssh_auth import login
from diskbench.hosts.ssh_config import Route, expand_proxy, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

KEEPALIVE_S = 10
"""Seconds between keepalives, so that firewalls keep the connection open; our choice."""
LOOKS_EVERY_S = 1.0
"""How often the thread of an idle connection looks whether a keepalive is due. At paramiko's 0.1 s
that took 0.6 ms of CPU a second and host, and the interpreter from threads that work."""
_WINDOW = 2**24
"""Receive window in bytes: 8 times paramiko's, for logs over slow connections; our choice."""


@dataclass(frozen=True)
class ConnectLimits:
    """How long each part of a connection attempt may take, in seconds."""

    connect_s: float = 15.0
    banner_s: float = 15.0
    auth_s: float = 20.0


def open_transport(
    address: str, limits: ConnectLimits, config: str | None = None
) -> paramiko.Transport:
    """A connected, verified and authenticated transport; `config` is an OpenSSH configuration.

    Raises Unreachable without an answer, HostUnavailable where the key or the login is refused,
    InvalidValue for an invalid address.
    """
    route = resolve(address, config)
    known = known_keys(route)
    sock = _socket(route, limits)
    transport = None
    try:
        with _translated(route):
            transport = paramiko.Transport(sock, default_window_size=_WINDOW)
            transport.banner_timeout = limits.banner_s
            transport.handshake_timeout = limits.banner_s
            transport.auth_timeout = limits.auth_s
            transport.daemon = True
            options = transport.get_security_options()
            options.key_types = key_order(known, tuple(options.key_types))
            transport.start_client(timeout=limits.banner_s)
            if transport.is_active() and not transport.initial_kex_done:  # paramiko says nothing
                raise TimeoutError(f"no SSH handshake within {limits.banner_s:g} s")
            key = transport.get_remote_server_key()
        verify(route, known, key.get_name(), key.asbytes())
        with _translated(route):
            login(transport, route)
            transport.set_keepalive(KEEPALIVE_S)
            sock.settimeout(LOOKS_EVERY_S)  # only now: a handshake ends within its limits
    except BaseException:
        if transport is not None:
            transport.close()
        sock.close()
        raise
    return transport


def close_transport(transport: paramiko.Transport) -> None:
    """End a connection now. Its thread, which waits for data, would otherwise hold the socket open
    until it next looks."""
    with contextlib.suppress(OSError):  # the other end closed it first
        transport.sock.shutdown(socket.SHUT_RDWR)
    transport.close()


@contextlib.contextmanager
def _translated(route: Route) -> Iterator[None]:
    """Turn errors of paramiko and of the socket into Unreachable."""
    try:
        yield
    except (TimeoutError, EOFError, OSError, paramiko.SSHException) as error:
        why = str(error) or type(error).__name__
        raise Unreachable(
            f"no SSH connection to {_where(route)}: {why}",
            advice=f"try it by hand: {route.by_hand()}",
        ) from error


def _socket(route: Route, limits: ConnectLimits) -> socket.socket:
    if route.proxy_command:
        return _proxy_socket(expand_proxy(route))
    try:
        sock = socket.create_connection(
            (route.hostname, route.port), timeout=route.timeout_s or limits.connect_s
        )
    except socket.gaierror as error:
        raise Unreachable(
            f"{route.hostname!r} cannot be resolved: {error.strerror}",
            advice="check the spelling, or name it in your ssh configuration",
        ) from error
    except OSError as error:
        why = "no answer in time" if isinstance(error, TimeoutError) else error.strerror or error
        raise Unreachable(
            f"cannot connect to {_where(route)}: {why}",
            advice=f"check that it is up and that sshd listens there: {route.by_hand()}",
        ) from error
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _proxy_socket(command: str) -> socket.socket:
    """One end of a socket pair; the proxy command holds the other as its input and output."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            ["sh", "-c", f"exec {command}"],  # ProxyCommand is a shell command: ssh_config(5)
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    # The command ends with its input; the thread then takes its exit status.
    threading.Thread(target=process.wait, daemon=True).start()
    return ours


def _where(route: Route) -> str:
    through = " through its proxy" if route.proxy_command else ""
    return f"{route.hostname} port {route.port}{through}"

"""Making one SSH connection: socket or proxy, handshake, host key, login.

The keys that a host may present are those of known_hosts as OpenSSH reads it, never trusted on
first use. The login is with a key: the agent's, then the files that OpenSSH would try.
"""

import base64
import binascii
import contextlib
import hashlib
import re
import shlex
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import paramiko

from diskbench.errors import HostUnavailable, Unreachable
from diskbench.hosts.ssh_config import ConnectLimits, Route, expand_proxy, resolve

KEEPALIVE_S = 10
"""Seconds between keepalives, so that firewalls keep the connection open; our choice."""
LOOKS_EVERY_S = 1.0
"""How often the thread of an idle connection looks whether a keepalive is due. At paramiko's 0.1 s
that took 0.6 ms of CPU a second and host, and the interpreter from threads that work."""
_WINDOW = 2**24
"""Receive window in bytes: 8 times paramiko's, for logs over slow connections; our choice."""


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


_FOUND = re.compile(r"^# Host .* found: line (\d+)")


@dataclass(frozen=True)
class KnownKey:
    """One line of a known_hosts file that matches a host."""

    file: Path
    line: int
    key_type: str
    key: bytes
    marker: str = ""


def known_keys(route: Route) -> tuple[KnownKey, ...]:
    """All lines for the route's host, in OpenSSH's order of files.

    `ssh-keygen -F` looks them up, so that hashed names, patterns and markers work as in ssh.
    """
    keys: list[KnownKey] = []
    for file in filter(Path.is_file, route.known_hosts):
        find = ["ssh-keygen", "-F", route.key_name, "-f", str(file)]
        done = subprocess.run(find, capture_output=True, text=True, check=False)
        keys += parse_found(file, done.stdout)
    return tuple(keys)


def parse_found(file: Path, output: str) -> list[KnownKey]:
    """The keys in the output of `ssh-keygen -F`; lines without a key are skipped."""
    keys: list[KnownKey] = []
    number = 0
    for line in output.splitlines():
        if comment := _FOUND.match(line):
            number = int(comment[1])
            continue
        fields = line.split()
        marker = fields.pop(0) if fields and fields[0].startswith("@") else ""
        if len(fields) < 3 or fields[0].startswith("#"):
            continue
        try:
            key = base64.b64decode(fields[2], validate=True)
        except (binascii.Error, ValueError):
            continue
        keys.append(KnownKey(file, number, fields[1], key, marker))
    return keys


def key_order(known: tuple[KnownKey, ...], offered: tuple[str, ...]) -> tuple[str, ...]:
    """`offered` algorithms, those of known keys first, so that the host presents a known key."""
    have = {k.key_type for k in known if not k.marker}
    if "ssh-rsa" in have:
        have |= {"rsa-sha2-512", "rsa-sha2-256"}
    return tuple(sorted(offered, key=lambda name: name not in have))


def verify(route: Route, known: tuple[KnownKey, ...], key_type: str, key: bytes) -> None:
    """Raise HostUnavailable unless known_hosts has `key` for this host."""
    fingerprint = fingerprint_of(key)
    for line in known:
        if line.marker == "@revoked" and line.key == key:
            raise HostUnavailable(
                f"{route.typed} shows the {key_type} key {fingerprint}, which is REVOKED in "
                f"{line.file} line {line.line}",
                advice="do not connect: another person may hold this key; ask the host's "
                "administrator",
            )
    plain = [line for line in known if not line.marker]
    if any(line.key == key for line in plain):
        return
    if plain:
        line = next((line for line in plain if line.key_type == key_type), plain[0])
        raise HostUnavailable(
            f"THE HOST KEY OF {route.typed} HAS CHANGED: it shows the {key_type} key "
            f"{fingerprint}, but {line.file} line {line.line} holds {line.key_type} "
            f"{fingerprint_of(line.key)}. Another machine may intercept the connection",
            advice="ask who runs the host whether its key was changed; only then remove the old "
            f"one: ssh-keygen -R {shlex.quote(route.key_name)} -f {shlex.quote(str(line.file))}",
        )
    why = f"the host key of {route.typed} is unknown: {key_type} {fingerprint}"
    if any(line.marker == "@cert-authority" for line in known):
        why = (
            f"{route.typed} is known by a certificate authority only, which diskbench cannot check"
        )
    raise HostUnavailable(why, advice=_how_to_add(route, fingerprint))


def fingerprint_of(key: bytes) -> str:
    """The fingerprint as `ssh-keygen -l` prints it."""
    digest = hashlib.sha256(key).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def _how_to_add(route: Route, fingerprint: str) -> str:
    file = route.known_hosts[0] if route.known_hosts else Path("~/.ssh/known_hosts")
    name = route.hostname.lower()
    has_alias = route.key_name not in {name, f"[{name}]:{route.port}"}
    if route.proxy_command or has_alias:  # ssh-keyscan knows neither
        return f"connect once by hand (`{route.by_hand()}`), compare {fingerprint}, and accept it"
    return (
        f"compare {fingerprint} with the host's own (`ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` "
        f"on its console), then connect once by hand (`{route.by_hand()}`), or add it: "
        f"ssh-keyscan -p {route.port} {shlex.quote(route.hostname)} >> {shlex.quote(str(file))}"
    )


def login(transport: paramiko.Transport, route: Route) -> None:
    """Log in. Raises HostUnavailable listing the keys that were tried.

    There is no password prompt: a run must be able to log in again by itself after a broken
    connection.
    """
    with _agent_keys(route) as held:
        tried = _try_keys(transport, route, held)
    if transport.is_authenticated():
        return
    listed = "; ".join(tried) or "no key was found"
    raise HostUnavailable(
        f"{route.typed} refuses the login of {route.user} ({listed})",
        advice=f"`{route.by_hand('true', options=('-o', 'BatchMode=yes'))}` must work; keys with a "
        "passphrase belong in the agent (ssh-add)",
    )


def _try_keys(
    transport: paramiko.Transport, route: Route, held: tuple[paramiko.AgentKey, ...]
) -> list[str]:
    """Offer keys until one is accepted; returns why the others were not."""
    tried: list[str] = []
    for label, key in _own_keys(route, held, tried):
        try:
            transport.auth_publickey(route.user, key)
        except paramiko.BadAuthenticationType as error:
            offered = ", ".join(error.allowed_types)
            raise HostUnavailable(
                f"{route.typed} accepts no keys from {route.user}, only: {offered}",
                advice="allow public keys for this user on the host",
            ) from error
        except paramiko.AuthenticationException:
            tried.append(f"{label}: refused")
            if not transport.is_active():
                break
            continue
        if transport.is_authenticated():
            break
        tried.append(f"{label}: accepted, but the host wants a second factor")
    return tried


def _own_keys(
    route: Route, held: tuple[paramiko.AgentKey, ...], tried: list[str]
) -> Iterator[tuple[str, paramiko.PKey]]:
    """Keys in OpenSSH's order: the agent's, then identity files. Appends to `tried` why a file was
    left out."""
    public = {k for file in route.identity_files if (k := _public_blob(file)) is not None}
    seen: set[bytes] = set()
    for key in sorted(held, key=lambda k: k.asbytes() not in public):
        if route.identities_only and key.asbytes() not in public:
            continue
        seen.add(key.asbytes())
        yield f"agent key {key.comment or key.get_name()}", key
    for file in filter(Path.is_file, route.identity_files):
        try:
            loaded = paramiko.PKey.from_path(file)
        except (TypeError, ValueError, OSError, paramiko.SSHException) as error:
            is_locked = isinstance(error, (TypeError, paramiko.PasswordRequiredException))
            tried.append(f"{file}: {'has a passphrase' if is_locked else error}")
        else:
            if loaded.asbytes() not in seen:
                yield str(file), loaded


@contextlib.contextmanager
def _agent_keys(route: Route) -> Iterator[tuple[paramiko.AgentKey, ...]]:
    """The agent's keys, usable within the block. Of IdentityAgent only `none` is followed; other
    values mean the agent of SSH_AUTH_SOCK."""
    agent = None
    if route.identity_agent != "none":
        with contextlib.suppress(OSError, paramiko.SSHException):
            agent = paramiko.Agent()
    try:
        yield agent.get_keys() if agent else ()
    finally:
        if agent:
            agent.close()


def _public_blob(file: Path) -> bytes | None:
    """The key of `file`.pub, by which an agent's key is matched to an identity file."""
    try:
        fields = file.with_name(file.name + ".pub").read_text().split()
        return base64.b64decode(fields[1])
    except (OSError, ValueError, IndexError):
        return None

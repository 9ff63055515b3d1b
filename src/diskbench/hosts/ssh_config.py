"""Resolve an address by OpenSSH itself, so that all of its configuration applies."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from diskbench.errors import HostUnavailable, InvalidValue
from diskbench.ssh_command import ssh_command

CONFIG_VARIABLE = "DISKBENCH_SSH_CONFIG"
"""An OpenSSH configuration to use in place of ~/.ssh/config; `ssh -F`."""

_ADDRESS = re.compile(
    r"^(?:(?P<user>\S+)@)?"
    r"(?:\[(?P<v6>[^\]\s]+)\]|(?P<host>[^\s\[\]@:]+))"
    r"(?::(?P<port>[0-9]{1,5}))?\Z"
)
_NO_HOST = re.compile(r"^-|[\s\x00-\x1f\x7f'`\"$\\;&<>|(){}]")
_NO_USER = re.compile(r"^-|[\x00-\x1f\x7f'`\"$;&<>|(){}]|\s-|\\\Z")
"""What OpenSSH refuses in names (ssh.c since 9.6: valid_hostname, valid_ruser), because a
ProxyCommand or Match exec hands them to a shell; `$` in a user's name is refused here, too."""


@dataclass(frozen=True)
class ConnectLimits:
    """How long each part of a connection attempt may take, in seconds."""

    connect_s: float = 15.0
    banner_s: float = 15.0
    auth_s: float = 20.0


@dataclass(frozen=True)
class TypedHost:
    """The parts of USER@HOST[:PORT]; None for a part that was not typed."""

    host: str
    user: str | None = None
    port: int | None = None


@dataclass(frozen=True)
class Route:
    """How to reach and verify one host: the options of `ssh -G` that diskbench follows."""

    typed: str
    hostname: str
    port: int
    user: str
    identity_files: tuple[Path, ...]
    identities_only: bool
    identity_agent: str | None
    known_hosts: tuple[Path, ...]
    key_name: str
    proxy_command: str | None = None
    timeout_s: float | None = None
    config: str | None = None
    """The OpenSSH configuration in place of the user's own; None where that is read."""

    def by_hand(self, *command: str, options: tuple[str, ...] = ()) -> str:
        """The command that a person types to log in: `ssh -p 2222 root@db1`."""
        address = parse_address(self.typed)
        return ssh_command(
            address.host,
            *command,
            user=address.user,
            port=address.port,
            config=self.config,
            options=options,
        )


def parse_address(text: str) -> TypedHost:
    """`USER@HOST`, `HOST:PORT`, `[2001:db8::1]:2222` or a name from the OpenSSH configuration.

    Raises InvalidValue for anything else. A bare IPv6 address has no port.
    """
    bare = text.rpartition("@")[2]
    if bare.count(":") > 1 and not bare.startswith("[") and not re.search(r"\s", text):
        return _safe(TypedHost(bare, text.rpartition("@")[0] or None), text)
    match = _ADDRESS.match(text)
    if not match:
        raise InvalidValue(f"{text!r} is not an address", advice="write USER@HOST[:PORT]")
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port < 65536:
        raise InvalidValue(f"{text!r} names port {port}", advice="ports go from 1 to 65535")
    return _safe(TypedHost(match["v6"] or match["host"], match["user"], port), text)


def _safe(address: TypedHost, text: str) -> TypedHost:
    """The address. Raises InvalidValue where a shell could interpret a part of it."""
    for what, name, refused in (
        ("host", address.host, _NO_HOST),
        ("user", address.user or "", _NO_USER),
    ):
        if refused.search(name):
            raise InvalidValue(
                f"{text!r} is not an address: OpenSSH refuses the {what} {name!r}",
                advice="no leading dash, blank, quote, nor any of $ ` \\ ; & < > | ( ) { }",
            )
    return address


def resolve(text: str, config: str | None = None) -> Route:
    """Ask `ssh -G` how to reach `text`, by the configuration file `config` or the user's own.

    Raises InvalidValue or HostUnavailable.
    """
    address = parse_address(text)
    command = ["ssh", *config_flags(config), "-G", *_user_and_port(address), "--", address.host]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except FileNotFoundError:
        raise HostUnavailable(
            "this machine has no OpenSSH client, and diskbench needs its configuration",
            advice="install openssh-client",
        ) from None
    except subprocess.TimeoutExpired:
        raise HostUnavailable(
            f"`{_ask(address, config)}` gave no answer in 30 s",
            advice="look for a Match exec that hangs in your ssh configuration",
        ) from None
    if done.returncode:
        raise HostUnavailable(
            f"OpenSSH refuses its configuration for {address.host}: {done.stderr.strip()}",
            advice=f"correct it until `{_ask(address, config)}` prints a configuration",
        )
    return parse_resolved(text, done.stdout, config)


def _user_and_port(address: TypedHost) -> list[str]:
    user = ["-l", address.user] if address.user is not None else []
    return [*user, *(["-p", str(address.port)] if address.port is not None else [])]


def _ask(address: TypedHost, config: str | None) -> str:
    return ssh_command(
        address.host,
        user=address.user,
        port=address.port,
        config=_chosen(config),
        options=("-G",),
    )


def _chosen(config: str | None) -> str | None:
    return config or os.environ.get(CONFIG_VARIABLE) or None


def config_flags(config: str | None = None) -> list[str]:
    """`-F FILE` for `config`, or for the configuration that the environment names."""
    return ["-F", named] if (named := _chosen(config)) else []


def parse_resolved(text: str, output: str, config: str | None = None) -> Route:
    """The output of `ssh -G` as a Route."""
    values: dict[str, list[str]] = {}
    for line in output.splitlines():
        key, _, value = line.partition(" ")
        values.setdefault(key.lower(), []).append(value.strip())

    def first(key: str) -> str | None:
        value = values.get(key, [""])[0]
        return value if value and value.lower() != "none" else None

    hostname, port = first("hostname") or text, int(first("port") or 22)
    name = hostname.lower() if port == 22 else f"[{hostname.lower()}]:{port}"
    files = f"{first('userknownhostsfile') or ''} {first('globalknownhostsfile') or ''}"
    jump, timeout = first("proxyjump"), first("connecttimeout")
    return Route(
        typed=text,
        hostname=hostname,
        port=port,
        user=first("user") or "",
        identity_files=tuple(
            Path(re.sub(r'^"(.*)"$', r"\1", v)).expanduser()
            for v in values.get("identityfile", [])
            if v != "none"
        ),
        identities_only=first("identitiesonly") == "yes",
        identity_agent=values.get("identityagent", ["SSH_AUTH_SOCK"])[0],
        known_hosts=tuple(Path(f).expanduser() for f in shlex.split(files)),
        key_name=first("hostkeyalias") or name,
        proxy_command=_jump_command(jump, config) if jump else first("proxycommand"),
        timeout_s=float(timeout) if timeout and timeout.isdecimal() else None,
        config=_chosen(config),
    )


def _jump_command(jumps: str, config: str | None) -> str:
    """ProxyJump as the ProxyCommand that OpenSSH makes of it: hop by hop with `ssh -W`."""
    *before, last = jumps.split(",")
    address = parse_address(last.removeprefix("ssh://"))
    command = ["ssh", *config_flags(config), "-o", "BatchMode=yes"]
    command += ["-J", ",".join(before)] if before else []
    command += _user_and_port(address)
    return f"{shlex.join(command)} -W '[%h]:%p' -- {shlex.quote(address.host)}"


def expand_proxy(route: Route) -> str:
    """The proxy command with OpenSSH's tokens filled in: %h %p %r %n %%.

    Raises InvalidValue for a host or user, typed or configured, that a shell could interpret.
    """
    assert route.proxy_command is not None
    _safe(TypedHost(route.hostname, route.user), f"{route.user}@{route.hostname}")
    tokens = {
        "%%": "%",
        "%h": route.hostname,
        "%p": str(route.port),
        "%r": route.user,
        "%n": parse_address(route.typed).host,
    }
    return re.sub("%[%hprn]", lambda match: tokens[match[0]], route.proxy_command)

"""The keys that a host may present: known_hosts as OpenSSH reads it, never trust on first use."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from diskbench.errors import HostUnavailable
from diskbench.hosts.ssh_config import Route

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
    for file in route.known_hosts:
        if not file.is_file():
            continue
        done = subprocess.run(
            ["ssh-keygen", "-F", route.key_name, "-f", str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
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
    same_type = [line for line in plain if line.key_type == key_type]
    if same_type or plain:
        line = (same_type or plain)[0]
        raise HostUnavailable(
            f"THE HOST KEY OF {route.typed} HAS CHANGED: it shows the {key_type} key "
            f"{fingerprint}, but {line.file} line {line.line} holds {line.key_type} "
            f"{fingerprint_of(line.key)}. "
            "Another machine may intercept the connection",
            advice="ask who runs the host whether its key was changed; only then remove the old "
            f"one: ssh-keygen -R {shlex.quote(route.key_name)} -f {shlex.quote(str(line.file))}",
        )
    if any(line.marker == "@cert-authority" for line in known):
        raise HostUnavailable(
            f"{route.typed} is known by a certificate authority only, which diskbench cannot check",
            advice=_how_to_add(route, fingerprint),
        )
    raise HostUnavailable(
        f"the host key of {route.typed} is not known: {key_type} {fingerprint}",
        advice=_how_to_add(route, fingerprint),
    )


def fingerprint_of(key: bytes) -> str:
    """The fingerprint as `ssh-keygen -l` prints it."""
    digest = hashlib.sha256(key).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def _how_to_add(route: Route, fingerprint: str) -> str:
    file = route.known_hosts[0] if route.known_hosts else Path("~/.ssh/known_hosts")
    if route.proxy_command or route.has_key_alias:  # ssh-keyscan knows neither
        return f"connect once by hand (`{route.by_hand()}`), compare {fingerprint}, and accept it"
    return (
        f"compare {fingerprint} with the host's own (`ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` "
        f"on its console), then connect once by hand (`{route.by_hand()}`), or add it: "
        f"ssh-keyscan -p {route.port} {shlex.quote(route.hostname)} >> {shlex.quote(str(file))}"
    )

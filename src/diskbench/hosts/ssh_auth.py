"""Logging in with a key: the agent's, then the files that OpenSSH would try."""

from __future__ import annotations

import base64
import contextlib
from typing import TYPE_CHECKING

import paramiko

from diskbench.errors import HostUnavailable
from diskbench.hosts.ssh_config import Route

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
        "passphrase "
        "belong in the agent (ssh-add)",
    )


def _try_keys(
    transport: paramiko.Transport, route: Route, held: tuple[paramiko.AgentKey, ...]
) -> list[str]:
    """Offer keys until one is accepted; returns why the others were not."""
    tried: list[str] = []
    for label, key in _keys(route, held, tried):
        try:
            transport.auth_publickey(route.user, key)
        except paramiko.BadAuthenticationType as error:
            offered = ", ".join(error.allowed_types)
            raise HostUnavailable(
                f"{route.typed} takes no keys from {route.user}, only: {offered}",
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


def _keys(
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
    for file in route.identity_files:
        if not file.is_file():
            continue
        try:
            loaded = paramiko.PKey.from_path(file)
        except paramiko.PasswordRequiredException:
            tried.append(f"{file}: has a passphrase")
            continue
        except (TypeError, ValueError, OSError, paramiko.SSHException) as error:
            needs_passphrase = isinstance(error, TypeError)
            tried.append(f"{file}: {'has a passphrase' if needs_passphrase else error}")
            continue
        if loaded.asbytes() not in seen:
            yield str(file), loaded


@contextlib.contextmanager
def _agent_keys(route: Route) -> Iterator[tuple[paramiko.AgentKey, ...]]:
    """The agent's keys, usable within the block. Of IdentityAgent only `none` is followed; other
    values mean the agent of SSH_AUTH_SOCK."""
    if route.identity_agent == "none":
        yield ()
        return
    try:
        agent = paramiko.Agent()
    except (OSError, paramiko.SSHException):
        yield ()
        return
    try:
        yield agent.get_keys()
    finally:
        agent.close()


def _public_blob(file: Path) -> bytes | None:
    """The key of `file`.pub, by which an agent's key is matched to an identity file."""
    try:
        fields = file.with_name(file.name + ".pub").read_text().split()
        return base64.b64decode(fields[1])
    except (OSError, ValueError, IndexError):
        return None

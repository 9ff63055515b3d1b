"""The keys of a lease, and SSH access to its machine with these keys only.

User key and host key are ephemeral ed25519 keys derived from one secret and the lease's id, so
that any controller with the secret can take over a lease and no key has to be stored. The
machine is given its host key (cloud_init.py) and is verified by it: never trust on first use.
"""

import base64
import hashlib
import os
import re
import secrets
import struct
import subprocess
import textwrap
from importlib import resources
from pathlib import Path

from platformdirs import user_data_path
from pydantic import SecretBytes, SecretStr

from diskbench.errors import InvalidValue
from diskbench.files import private_directory
from diskbench.model.base import Frozen
from diskbench.model.rental import SshAccess
from diskbench.providers.error_table import refused
from diskbench.ssh_command import ssh_command

SECRET_VARIABLE = "DISKBENCH_SECRET"  # noqa: S105 - the variable's name
"""Environment variable with the secret itself, for workers without a shared secret file."""
CONFIG_VARIABLE = "DISKBENCH_SSH_CONFIG"
"""An OpenSSH configuration to use in place of ~/.ssh/config; hosts/ssh_config.py."""
MIN_SECRET_BYTES = 32
CONNECT_TIMEOUT_S = 10
"""How long one attempt to connect may take; our choice."""
_ROUTE = (
    "hostname", "port", "proxycommand", "proxyjump", "proxyusefdpass", "addressfamily",
    "bindaddress", "bindinterface",
)  # fmt: skip
"""The options of the user's own configuration that apply to a rented machine: those of the
route."""


class LeaseKeys(Frozen):
    """Both keys of a lease: OpenSSH private keys, and public lines without a comment."""

    user_private: SecretStr
    user_public: str
    host_private: SecretStr
    host_public: str


def load_secret(file: Path) -> SecretBytes:
    """The secret from which keys are derived: DISKBENCH_SECRET, else `file`, made at first use.
    Raises InvalidValue when it is too short, or when others can read the file."""
    if text := os.environ.get(SECRET_VARIABLE):
        return _long_enough(text.encode(), SECRET_VARIABLE)
    try:
        if not file.exists():
            _make_secret(file)
        status = file.stat()
        if status.st_mode & 0o077 or status.st_uid not in {0, os.geteuid()}:
            mode, user = status.st_mode & 0o777, status.st_uid
            raise refused("secret of others", file=file, mode=mode, user=user)
        return _long_enough(file.read_bytes(), str(file))
    except OSError as error:
        raise refused("secret unusable", file=file, error=error) from error


def lease_keys(secret: SecretBytes, lease_id: str) -> LeaseKeys:
    """The keys of a lease: the same for the same secret and id, byte for byte. HKDF-SHA256 (RFC
    5869) gives each ed25519 seed; its `info` says which key of which lease."""
    user, host = _key(secret, "user", lease_id), _key(secret, "host", lease_id)
    return LeaseKeys(
        user_private=user[0], user_public=user[1], host_private=host[0], host_public=host[1]
    )


def write_access(
    lease_id: str,
    keys: LeaseKeys,
    directory: Path,
    *,
    address: str,
    user: str,
    port: int | None = None,
    proxy_command: str | None = None,
) -> SshAccess:
    """Write what any OpenSSH client needs for `ssh -F config ADDRESS` (or LEASE_ID) to `directory`.

    Key, user and known hosts are the lease's only: identities, forwardings and certificates of the
    user's own configuration are not offered to a rented machine. The route is the user's: HostName,
    ProxyCommand, ProxyJump and the like that ~/.ssh/config (or DISKBENCH_SSH_CONFIG) has for
    `address` now; `port` and `proxy_command` take precedence. Jump hosts use the user's
    configuration. Idempotent. Raises InvalidValue for values that OpenSSH could misread,
    HostUnavailable without an OpenSSH client."""
    for name, text in (("address", address), ("lease", lease_id), ("user", user)):
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*", text):
            raise InvalidValue(f"{text!r} is not a valid {name} that ssh can be given")
    directory = directory.absolute()
    if re.search(r'["%$\s\\]', str(directory)):
        raise refused("directory that ssh misreads", directory=str(directory))
    route = _route(address)
    if port is not None:
        route["port"] = str(port)
    if proxy_command is not None:
        route.pop("proxyjump", None)
        route["proxycommand"] = proxy_command
    identity, known = directory / "key", directory / "known_hosts"
    config = directory / "config"
    private_directory(directory)
    _write_private(identity, keys.user_private.get_secret_value())
    _write_private(known, f"{lease_id} {keys.host_public}\n")
    _write_private(config, _config(lease_id, address, user, route, identity, known))
    return SshAccess(
        config=str(config),
        known_hosts=str(known),
        identity_file=str(identity),
        host_key=keys.host_public,
        user=user,
        port=int(route.get("port", 22)),
    )


def _long_enough(text: bytes, where: str) -> SecretBytes:
    value = text.strip()
    if len(value) < MIN_SECRET_BYTES:
        raise refused(
            "short secret", where=where, count=len(value), min_secret_bytes=MIN_SECRET_BYTES
        )
    return SecretBytes(value)


def _make_secret(file: Path) -> None:
    """Make a secret at `file` atomically; the first of several processes wins."""
    if not file.parent.is_dir():
        private_directory(file.parent)
    new = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        _write_private(new, secrets.token_hex(MIN_SECRET_BYTES) + "\n")
        os.link(new, file)
    except FileExistsError:
        return
    finally:
        new.unlink(missing_ok=True)


def _write_private(path: Path, text: str) -> None:
    """Write a file atomically, readable by its owner only from the first moment."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    new.replace(path)


def _key(secret: SecretBytes, role: str, lease_id: str) -> tuple[SecretStr, str]:
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    info = f"diskbench ssh {role} key v1 {lease_id}".encode()
    derive = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info)
    seed = derive.derive(secret.get_secret_value())
    public_key = Ed25519PrivateKey.from_private_bytes(seed).public_key()
    raw = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    public = public_key.public_bytes(*raw)
    return SecretStr(_openssh(seed, public)), f"ssh-ed25519 {_base64(_public_blob(public))}"


def _openssh(seed: bytes, public: bytes) -> str:
    """An unencrypted OpenSSH private key (OpenSSH's PROTOCOL.key).

    The library writes it with random check bytes. A cloud refuses the second request of one name
    when its user data differ, so here they derive from the key.
    """
    check = hashlib.sha256(b"diskbench check" + public).digest()[:4]
    private = check * 2 + _public_blob(public) + _string(seed + public) + _string(b"")
    private += bytes(range(1, -len(private) % 8 + 1))
    none = _string(b"none") * 2 + _string(b"")
    blob = b"openssh-key-v1\0" + none + struct.pack(">I", 1)
    blob += _string(_public_blob(public)) + _string(private)
    lines = "\n".join(textwrap.wrap(_base64(blob), 70))
    kind = "OPENSSH PRIVATE KEY"
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n"


def _public_blob(public: bytes) -> bytes:
    return _string(b"ssh-ed25519") + _string(public)


def _string(data: bytes) -> bytes:
    """RFC 4251's `string`."""
    return struct.pack(">I", len(data)) + data


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _user_config() -> str | None:
    """The argument of `ssh -F`: OpenSSH's keyword `none`, or an absolute path."""
    config_file = os.environ.get(CONFIG_VARIABLE)
    if not config_file or config_file == "none":
        return config_file or None
    return os.path.abspath(config_file)  # noqa: PTH100 - no link is followed


def _route(address: str) -> dict[str, str]:
    """The route to `address` by the user's own OpenSSH configuration, without unset options."""
    config_file = _user_config()
    flags = ["-F", config_file] if config_file else []
    command = ssh_command(address, config=config_file, options=("-G",))
    typed = ["ssh", *flags, "-G", "--", address]
    try:
        done = subprocess.run(typed, capture_output=True, text=True, check=False, timeout=30)
    except FileNotFoundError:
        raise refused("no OpenSSH client") from None
    except subprocess.TimeoutExpired:
        raise refused("ssh without an answer", command=command) from None
    if done.returncode:
        why = done.stderr.strip()
        raise refused("configuration of OpenSSH", address=address, why=why, command=command)
    lines = (line.partition(" ") for line in done.stdout.splitlines())
    return {key: value for key, _, value in lines if key in _ROUTE and value not in {"", "none"}}


def _config(
    lease_id: str, address: str, user: str, route: dict[str, str], identity: Path, known: Path
) -> str:
    # Conditional, so that the user's configuration applies to jump hosts and not to this host:
    # OpenSSH adds up the identities and forwardings of all matching blocks.
    config_file = _user_config()
    user_configs = [config_file] if config_file else ["~/.ssh/config", "/etc/ssh/ssh_config"]
    if config_file and not os.path.isfile(config_file):  # noqa: PTH113 - `none` and /dev/null: no configuration
        user_configs = []
    form = (resources.files("diskbench.providers") / "ssh_config.txt").read_text(encoding="utf-8")
    return form.format(
        # Also as HostKeyAlias: the address may be assigned to another machine later.
        lease_id=lease_id,
        address=address,
        user=user,
        identity=identity,
        known=known,
        connect_s=CONNECT_TIMEOUT_S,
        route="".join(f"  {key} {value}\n" for key, value in route.items()),
        user_configs="".join(f'  Include "{path}"\n' for path in user_configs),
    )


_LEASE = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


def lease_directory(lease_id: str) -> Path:
    """The directory of a lease's key files, mode 0700; it is removed with the lease.

    Raises InvalidValue for an id that is no plain name: ids are read back from tags, which others
    can write, and the directory is removed.
    """
    if not _LEASE.fullmatch(lease_id):
        raise refused("lease of others", lease_id=lease_id)
    base = user_data_path("diskbench")
    if re.search(r"\s", str(base)):  # as on macOS; ssh would misread it
        base = Path.home() / ".diskbench"
    return base / "leases" / lease_id

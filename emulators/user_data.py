"""What cloud-init would take from the user data, as far as a lab host can have it.

The keys are honoured, and the command that arms the dead-man's switch (dead_man.py); others are not
run, for the lab host has no cloud-init. That real guests boot with the same text is tested in QEMU.
"""

import base64
from dataclasses import dataclass
from typing import Any

HEADER = "#cloud-config"


@dataclass(frozen=True)
class FirstBoot:
    """The default user's name where one is given, the private host key, who may log in, and the
    script that arms the dead-man's switch; "" for none."""

    user: str | None
    host_key: str | None
    authorized_keys: tuple[str, ...]
    switch: str = ""


def read_user_data(text: str) -> FirstBoot:
    """Read cloud-config, plain or in base64; anything else says nothing about keys.

    Raises TypeError when it has cloud-config's header and is no mapping.
    """
    import yaml

    plain = text if text.startswith("#") else _decoded(text)
    if not plain.startswith(HEADER):
        return FirstBoot(None, None, ())
    config = yaml.safe_load(plain)
    if not isinstance(config, dict):
        raise TypeError(f"cloud-config is a mapping, not {config!r}")
    host_key = config.get("ssh_keys", {}).get("ed25519_private")
    keys = tuple(config.get("ssh_authorized_keys", ()))
    return FirstBoot(_user(config), host_key, keys, _switch(config))


def made_host_key() -> str:
    """An ed25519 key as a first boot makes one where none is given."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


def _switch(config: dict[str, Any]) -> str:
    """The script of diskbench's own boot command."""
    commands = [one for one in config.get("bootcmd", ()) if isinstance(one, list)]
    return next((str(one[-1]) for one in commands if "diskbench-deadman" in one), "")


def _user(config: dict[str, Any]) -> str | None:
    """cloud-init's `user` overrides the image's default user: a name, or a mapping with one."""
    user = config.get("user")
    return user.get("name") if isinstance(user, dict) else user


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        return ""

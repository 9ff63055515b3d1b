"""The OpenSSH command with which a person can check a host that diskbench could not reach: `ssh`
takes a port as `-p PORT` and never as HOST:PORT."""

import shlex
from collections.abc import Sequence


def ssh_command(
    host: str,
    *command: str,
    user: str | None = None,
    port: int | None = None,
    config: str | None = None,
    options: Sequence[str] = (),
) -> str:
    """A line for a shell: `ssh [-F CONFIG] [OPTIONS] [-p PORT] [USER@]HOST [COMMAND]`.

    `config` is the OpenSSH configuration that diskbench reads in place of the user's own.
    """
    words = ["ssh", *(["-F", config] if config else []), *options]
    words += ["-p", str(port)] if port is not None else []
    return shlex.join([*words, f"{user}@{host}" if user else host, *command])

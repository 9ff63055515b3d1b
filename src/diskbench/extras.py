"""How to install an optional extra of pyproject.toml, by the names of its packages.

`pip install 'diskbench[EXTRA]'` would ask a package registry for `diskbench`. diskbench is on no
registry, so a package of that name there would be somebody else's.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shlex
import sys


def packages_of(extra: str) -> tuple[str, ...]:
    """The requirements of an extra, such as `boto3>=1.44`; empty for an unknown one."""
    wanted = re.compile(rf"""(.+?)\s*;\s*extra\s*==\s*["']{re.escape(extra)}["']""")
    matches = (
        wanted.fullmatch(requirement)
        for requirement in importlib.metadata.requires("diskbench") or ()
    )
    return tuple(match[1] for match in matches if match)


def how_to_install(extra: str) -> str:
    """The shell command that installs an extra's packages into the environment of this process."""
    python = shlex.quote(sys.executable)
    command = f"{python} -m pip install {shlex.join(packages_of(extra))}"
    # uv makes environments without pip.
    return command if importlib.util.find_spec("pip") else f"{python} -m ensurepip && {command}"

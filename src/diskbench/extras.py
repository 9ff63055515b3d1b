"""How to install what only some people need: an extra of pyproject.toml, by its packages' names.

`pip install 'diskbench[EXTRA]'` would ask a package registry for `diskbench`, which is on none:
whatever it found there one day would be somebody else's.
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
    found = (wanted.fullmatch(one) for one in importlib.metadata.requires("diskbench") or ())
    return tuple(one[1] for one in found if one)


def how_to_install(extra: str) -> str:
    """The command that installs an extra's packages beside the diskbench that runs."""
    python = shlex.quote(sys.executable)
    command = f"{python} -m pip install {shlex.join(packages_of(extra))}"
    # uv makes environments without pip.
    return command if importlib.util.find_spec("pip") else f"{python} -m ensurepip && {command}"

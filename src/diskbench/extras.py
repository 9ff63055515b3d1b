"""The optional extras of pyproject.toml: which module belongs to which, and how to install one.

A command that needs an extra imports its modules when it needs them. Where one is missing, the
ModuleNotFoundError becomes ExtraMissing at the edge (cli/messages.py, `diskbench.load_runs` …),
with the line that installs it. `pip` gets the names of the packages, not `diskbench-fio[EXTRA]`:
diskbench is not on a package registry, so a package of that name there would not be ours.
"""

import importlib.metadata
import importlib.util
import re
import shlex
import shutil
import sys
from functools import cache

from diskbench.errors import ExtraMissing

DISTRIBUTION = "diskbench-fio"
"""The name of the installed package: pyproject.toml says why it is not `diskbench`."""
EXTRA_OF = {
    "polars": "report",
    "vl_convert": "report",
    "weasyprint": "pdf",
}
"""Top-level modules that the core does not install → the extra that does. The SDKs of clouds are
imported in their folders, which name their extra themselves."""


@cache
def version() -> str:
    """The version of the installed package."""
    return importlib.metadata.version(DISTRIBUTION)


def of_import(error: ImportError, dependent: str = "this command") -> ExtraMissing | None:
    """The error for a failed import of a module of an extra; None for any other module. `dependent`
    begins the message."""
    module = (error.name or "").partition(".")[0]
    return missing(EXTRA_OF[module], f"{dependent} needs {module}") if module in EXTRA_OF else None


def missing(extra: str, needs: str, *, field: str = "") -> ExtraMissing:
    """The error for an extra that is not installed. `needs` says what needs which package, and
    `field` names the field of a cell that asks for it."""
    return ExtraMissing(
        f"{needs}, which is not installed", advice=how_to_install(extra), field=field
    )


def packages_of(extra: str) -> tuple[str, ...]:
    """The requirements of an extra, such as `boto3>=1.44`; empty for an unknown one."""
    of_extra = re.compile(rf"""(.+?)\s*;\s*extra\s*==\s*["']{re.escape(extra)}["']""")
    matches = (
        of_extra.fullmatch(requirement)
        for requirement in importlib.metadata.requires(DISTRIBUTION) or ()
    )
    return tuple(match[1] for match in matches if match)


def how_to_install(extra: str) -> str:
    """The shell command that installs an extra's packages into the environment of this process,
    also where uv made it: such an environment has no pip."""
    python, packages = shlex.quote(sys.executable), shlex.join(packages_of(extra))
    pip = f"{python} -m pip install {packages}"
    if importlib.util.find_spec("pip"):
        return pip
    if shutil.which("uv"):
        return f"uv pip install --python {python} {packages}"
    return f"{python} -m ensurepip && {pip}"

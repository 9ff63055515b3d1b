"""The pure rooms have no clock, no random numbers without a seed, no files but the package's own:
this reads their source for what no import contract of pyproject.toml could forbid.

A provider is one folder: no room but its own names it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import diskbench

PACKAGE = Path(__file__).parents[2] / "src/diskbench"
PURE = ("model", "plan", "importers", "fio", "analysis", "catalog")
CLOCKS = {
    "time": {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns",
             "sleep", "localtime", "gmtime"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
}  # fmt: skip
FILES = {
    "read_text", "read_bytes", "write_text", "write_bytes", "open", "unlink", "mkdir", "iterdir",
    "glob", "rglob", "exists", "is_file", "is_dir", "stat", "touch", "rename", "expanduser",
}  # fmt: skip
MODULES = {"random", "secrets", "tempfile", "shutil", "glob", "threading", "uuid", "socket"}
OUR_MODULES = {"diskbench.files"}
"""Our own that read and write files."""
ALLOWED = {
    # A provider's catalogue data lie in its package, which may be somebody else's.
    "catalog/yaml_loader.py": {"read_text", "is_file", "is_dir", "iterdir", "exists"},
    # A profile may be a file that the user names, and the shipped ones lie beside the package.
    "fio/profiles.py": {"read_text", "iterdir", "is_file", "is_dir", "glob", "exists"},
    "fio/warnings.py": {"os.strerror"},  # a table of words
    "model/ids.py": {"time.time"},  # a refusal says how old each thing of that id is
}
"""File → the calls that it may make, each with its reason."""


def found(text: str) -> list[str]:
    return [f"{line}: {what}" for line, what in sorted(_impure(text))]


def _impure(text: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(text)
    resources = _resources(tree) if "files(" in text else ()
    package_data = {id(node) for call in resources for node in ast.walk(call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in MODULES:
                    yield node.lineno, f"import {alias.name}"
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".")[0]
            if module in MODULES or node.module in OUR_MODULES:
                yield node.lineno, f"from {node.module} import"
            for alias in node.names:
                if module == "time" and alias.name in CLOCKS["time"]:
                    yield node.lineno, f"time.{alias.name}"
        elif isinstance(node, ast.Call) and id(node) not in package_data:
            yield from _called(node)


def _called(node: ast.Call) -> Iterator[tuple[int, str]]:
    function = node.func
    if isinstance(function, ast.Name) and function.id == "open":
        yield node.lineno, "open"
    if not isinstance(function, ast.Attribute):
        return
    owner = function.value
    name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
    if function.attr in CLOCKS.get(name, ()):
        yield node.lineno, f"{name}.{function.attr}"
    elif name == "os" or (name == "environ" and function.attr == "get"):
        yield node.lineno, f"os.{function.attr}"
    elif function.attr in FILES:
        yield node.lineno, function.attr
    elif function.attr == "default_rng" and not node.args and not node.keywords:
        yield node.lineno, "default_rng without a seed"


def _resources(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls that read the package's own data: files("diskbench.fio").joinpath(…).read_text()."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner = [n.func for n in ast.walk(node.func) if isinstance(n, ast.Call)]
            names = {f.id if isinstance(f, ast.Name) else getattr(f, "attr", "") for f in inner}
            if "files" in names:
                yield node


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_reads_no_clock_and_no_files(room: str):
    impure = [
        f"{path}:{line}"
        for file in sorted((PACKAGE / room).rglob("*.py"))
        for path in [file.relative_to(PACKAGE).as_posix()]
        for line in found(file.read_text(encoding="utf-8"))
        if line.split(": ")[1] not in ALLOWED.get(path, set())
    ]
    assert impure == []


SOURCE = Path(diskbench.__file__).parent
NAMES = re.compile(r"\b(aws|azure|gcp|google|vsphere|ebs)\b", re.IGNORECASE)
OWN = ("providers/",)
"""The rooms that name providers: their own, with their catalogues."""
PUBLISHED = (
    "report/published", "plan/published", "engine/published", "cli/published", "catalog/published",
)  # fmt: skip
"""What draws and reads the posts of others names the clouds that they measured."""


def rooms() -> list[str]:
    every = (str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))
    return sorted(one for one in every if not one.startswith((*OWN, *PUBLISHED)))


@pytest.mark.parametrize("room", sorted({one.partition("/")[0] for one in rooms()}))
def test_no_cloud_is_named_outside_its_folder(room: str):
    found = [
        f"{one}:{number}: {line.strip()}"
        for one in rooms()
        if one.partition("/")[0] == room
        for number, line in enumerate((SOURCE / one).read_text().splitlines(), 1)
        if NAMES.search(line)
    ]
    assert not found, "\n".join(found)

"""What is imported where, what rooms are pure, and which tests run always (tests/rooms.yaml)."""

import ast
import fnmatch
import importlib
import importlib.util
import re
import symtable
from functools import cache, reduce
from pathlib import Path

import pytest
from benchmarks.house_counts import statements
from tests import rooms

import diskbench

ROOT = Path(__file__).parents[2]
FOLDERS = ("tests", "emulators", "benchmarks", "notebooks", "script")
OWN = ("diskbench", "emulators", "benchmarks")


def imports_of(folder):
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in statements(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
                continue
            if node.module.partition(".")[0] in OWN:
                yield from ((file, node.lineno, node.module, name.name) for name in node.names)


@cache
def defined_in(module):
    """The names at the top of a module's source, without running it."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.origin:  # a folder without __init__.py has no source
        return set()
    top = symtable.symtable(Path(spec.origin).read_text("utf-8"), spec.origin, "exec")
    return {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}


def is_there(module, name):
    names = defined_in(module)
    if name in names or name.startswith("__") or "__getattr__" in names:
        return True
    return importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_imported_name_is_there(folder):
    missing = [
        f"{file.relative_to(ROOT)}:{line}: {module}.{name}"
        for file, line, module, name in imports_of(folder)
        if not is_there(module, name)
    ]
    assert missing == []


TESTS = Path(__file__).parents[1]
PLACE = re.compile(r"\b(?:before|after) (\w+(?:\.\w+)*:\w+(?:\.\w+)*) \d")
NAMED = re.compile(r'^([A-Z]+) = f?"([^"]*)"$', re.MULTILINE)


def moments_of(text):
    """The text of a drill, with the constants that its moments are made of filled in."""
    for name in dict.fromkeys(name for name, _ in NAMED.findall(text)):
        text = text.replace(f"{{{name}}}", dict(NAMED.findall(text))[name])
    return text


def is_callable(place):
    module, _, names = place.partition(":")
    made = importlib.import_module(module if module == "pathlib" else f"diskbench.{module}")
    return callable(reduce(getattr, names.split("."), made))


def test_the_calls_at_which_drills_end_a_process_are_there():
    texts = (path.read_text("utf-8") for path in TESTS.rglob("*.py"))
    places = {at for text in texts for at in PLACE.findall(moments_of(text))}
    assert len(places) > 10
    assert [at for at in sorted(places) if not is_callable(at)] == []


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
    "catalog/shipped.py": {"read_text", "is_file", "is_dir", "iterdir", "exists"},
    # A profile may be a file that the user names, and the shipped ones lie beside the package.
    "fio/profiles.py": {"read_text", "iterdir", "is_file", "is_dir", "glob", "exists"},
    "fio/warnings.py": {"os.strerror"},  # a table of words
    "model/ids.py": {"time.time"},  # a refusal says how old each thing of that id is
}
"""File → the calls that it may make, each with its reason."""


def found(text):
    return [f"{line}: {what}" for line, what in sorted(_impure(text))]


def _impure(text):
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


def _called(node):
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


def _resources(tree):
    """Calls that read the package's own data: files("diskbench.fio").joinpath(…).read_text()."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner = [n.func for n in ast.walk(node.func) if isinstance(n, ast.Call)]
            names = {f.id if isinstance(f, ast.Name) else getattr(f, "attr", "") for f in inner}
            if "files" in names:
                yield node


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_reads_no_clock_and_no_files(room):
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
PROVIDERS = ("providers/",)
"""The rooms that name providers: their own, with their catalogues."""
PUBLISHED = (
    "report/published", "plan/published", "engine/published", "cli/published", "catalog/published",
)  # fmt: skip
"""What draws and reads the posts of others names the clouds that they measured."""


def room_names():
    every = (str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))
    return sorted(one for one in every if not one.startswith((*PROVIDERS, *PUBLISHED)))


def test_no_cloud_is_named_outside_its_folder():
    found = [
        f"{one}:{number}: {line.strip()}"
        for one in room_names()
        for number, line in enumerate((SOURCE / one).read_text().splitlines(), 1)
        if NAMES.search(line)
    ]
    assert not found, "\n".join(found)


def files_of(room):
    place = ROOT / room.prefix.removesuffix("::")
    files = [place] if place.is_file() else place.glob("test_*.py")
    return {str(file.relative_to(ROOT)) for file in files}


@pytest.mark.parametrize("room", rooms.ROOMS, ids=lambda room: room.prefix)
def test_each_pattern_fits_a_test(room, collected):
    """Of the files that this session collected: script/test collects all."""
    files = files_of(room)
    assert files, f"{room.prefix} is not a folder or file of tests"
    ours = [test_id for test_id in collected if test_id.startswith(room.prefix)]
    absent = files - {test_id.partition("::")[0] for test_id in ours}
    idle = [
        pattern
        for pattern in (f"{room.prefix}{one}" for one in (*room.kept, *room.repeats))
        if pattern.partition("::")[0] not in absent and not fnmatch.filter(ours, pattern)
    ]
    assert idle == []


def test_contributing_shows_the_table():
    text = rooms.PAGE.read_text("utf-8")
    assert rooms.page(text) == text, "run python -m tests.rooms"

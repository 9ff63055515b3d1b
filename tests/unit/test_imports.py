"""Every import of our own modules names what is there, also where mypy does not look;
each call at which a drill ends a process is there, too."""

import ast
import importlib
import importlib.util
import re
from functools import cache, reduce
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("tests", "emulators", "benchmarks", "notebooks", "script")
OWN = ("diskbench", "emulators", "benchmarks")


def imports_of(folder):
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
                continue
            if node.module.partition(".")[0] in OWN:
                yield from ((file, node.lineno, node.module, name.name) for name in node.names)


@cache
def defined_in(module):
    """The names at the top of a module's source, without running it."""
    spec = importlib.util.find_spec(module)
    names = set()
    if spec is not None and spec.origin:  # a folder without __init__.py has no source
        for node in ast.walk(ast.parse(Path(spec.origin).read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names |= {(one.asname or one.name).partition(".")[0] for one in node.names}
    return names


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


PLACES = sorted(
    {
        at
        for path in TESTS.rglob("*.py")
        for at in PLACE.findall(moments_of(path.read_text("utf-8")))
    }
)


@pytest.mark.parametrize("place", PLACES)
def test_the_call_at_which_a_drill_ends_a_process_is_there(place: str) -> None:
    module, _, names = place.partition(":")
    made = importlib.import_module(module if module == "pathlib" else f"diskbench.{module}")
    assert callable(reduce(getattr, names.split("."), made))

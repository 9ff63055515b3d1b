"""The catalogue is a value that a session opens and hands down: held over the source itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import diskbench

ROOT = Path(diskbench.__file__).parent
OPENS = frozenset({"open_books", "read_overlays", "Books", "Overlay", "laid"})
"""What gives a catalogue with something laid over it: neither kept by a module nor by a cache."""
CHANGES = frozenset(
    {"add", "append", "clear", "extend", "insert", "pop", "remove", "setdefault", "update"}
)


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def called(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Call):
            if isinstance(one.func, ast.Name):
                yield one.func.id
            elif isinstance(one.func, ast.Attribute):
                yield one.func.attr


def is_cached(function: ast.FunctionDef) -> bool:
    text = " ".join(ast.unparse(one) for one in function.decorator_list)
    # A property that is cached is kept with its own value, whatever becomes of others.
    return "cache" in text and "cached_property" not in text


def faults(tree: ast.Module) -> Iterator[str]:
    """What in a module would make two sessions of one process share a catalogue."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for name in set(called(node.value)) & OPENS:
                yield f"line {node.lineno}: a module keeps what {name}() gives"
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    for function in filter(is_cached, functions):
        for name in set(called(function)) & OPENS:
            yield f"line {function.lineno}: {function.name} caches what {name}() gives"


def globals_changed(tree: ast.Module) -> Iterator[str]:
    """Names of a module that its functions rebind or change."""
    names = set()
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else ()
        if isinstance(node, ast.AnnAssign):
            targets = (node.target,)
        names |= {one.id for one in targets if isinstance(one, ast.Name)}
    for function in [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]:
        own = {one.id for one in ast.walk(function) if _binds(one)}
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield f"line {node.lineno}: global {', '.join(node.names)}"
            held: ast.expr | None = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                held = node.func.value if node.func.attr in CHANGES else None
            elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                held = node.value
            if isinstance(held, ast.Name) and held.id in names - own:
                yield f"line {node.lineno}: {held.id} is changed"


def _binds(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def test_no_module_keeps_a_catalogue_that_a_session_opened() -> None:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(f"{name}(" in text for name in OPENS):
            found[str(path.relative_to(ROOT))] = list(faults(ast.parse(text)))
    assert {name: told for name, told in found.items() if told} == {}
    assert found, "nobody opens a catalogue"


def test_no_module_of_the_catalogue_has_a_global_that_changes() -> None:
    found = {
        path.name: list(globals_changed(tree_of(path))) for path in (ROOT / "catalog").glob("*.py")
    }
    assert {name: told for name, told in found.items() if told} == {}


@pytest.mark.parametrize(
    "text",
    [
        "_laid: dict = {}\ndef lay(many):\n    _laid.clear()\n",
        "_forget = []\ndef overlaid(load):\n    _forget.append(load)\n",
        "_book = None\ndef lay(book):\n    global _book\n    _book = book\n",
        "_laid = {}\ndef lay(one):\n    _laid[one.cloud] = one\n",
    ],
)
def test_the_scan_finds_what_changes(text: str) -> None:
    assert list(globals_changed(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "BOOKS = open_books()\n",
        "_NOW = Books(read_overlays())\n",
        "@functools.cache\ndef lay_refreshed():\n    lay(read_overlays())\n",
        "@cache\ndef books():\n    return open_books()\n",
    ],
)
def test_the_scan_finds_what_is_kept(text: str) -> None:
    assert list(faults(ast.parse(text)))

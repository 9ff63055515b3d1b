"""Strings of the source that a user may read: literals of two words and more, and help texts.

Docstrings of code are not among them, except for those of commands, which are their help texts.
Log messages and JavaScript are: they hold no turns of prose. SQL is not: its words are names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import diskbench

SOURCE = Path(diskbench.__file__).parent
MOST_LINES = 2
"""A literal of more lines is a script or a query."""
_VALUE = re.compile(r"\{[^{}]*\}")
_SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE) ")


def visible_strings(path: Path) -> Iterator[tuple[int, str]]:
    """The line and text of each string of a module; `{}` is where a value is filled in."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    hidden: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Expr):
            hidden.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            hidden |= {id(part) for part in ast.walk(node) if part is not node}
        if isinstance(node, ast.FunctionDef) and node.decorator_list and path.parent.name == "cli":
            text = ast.get_docstring(node)
            if text:
                yield node.lineno, text
    for node in nodes:
        text = _text(node)
        is_script = text is not None and (text.count("\n") > MOST_LINES or _SQL.match(text))
        if id(node) not in hidden and text is not None and not is_script and " " in text.strip():
            yield node.lineno, " ".join(_VALUE.sub("{}", text).split())


def sources() -> list[Path]:
    """All modules of diskbench."""
    return sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    """The folder of diskbench, or the module beside the folders, in which a module is."""
    return path.relative_to(SOURCE).parts[0]


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        return "".join(str(part) for part in parts)
    return None

"""What benchmarks/house.py counts by reading source: one function a figure, by syntax tree.

Nothing is imported from the tree that is counted, so an old commit is counted like the present one.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CLOUD = re.compile(r"\b(aws|azure|gcp|google|vsphere|ebs)\b", re.IGNORECASE)
CLOUD_ROOMS = ("providers/", "catalog/")
"""Where a cloud may be named."""
NOT_OF_A_CANCEL = ("providers/", "store/migrations/")
"""A provider's own API may cancel things of its own, and a migration is never edited."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Source:
    """One Python file: its path below the package, its text, and its syntax tree."""

    path: str
    text: str
    tree: ast.Module


def sources(package: Path) -> list[Source]:
    """Every Python file below `package`, in the order of their paths."""
    found = []
    for file in sorted(package.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        found.append(Source(file.relative_to(package).as_posix(), text, ast.parse(text)))
    return found


def line_count(source: Source) -> int:
    """Lines of the file, as `wc -l` counts them."""
    return source.text.count("\n")


def code_lines(source: Source) -> int:
    """Lines that hold code: no blank line, no comment of its own, no docstring, no import.

    A string that stands alone as a statement counts as a docstring wherever it stands, because
    constants and fields are documented by such strings too.
    """
    skipped = (
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER, tokenize.ENCODING,
    )  # fmt: skip
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                lines -= _spanned(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            lines -= _spanned(node)
    return len(lines)


def _spanned(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def import_lines(source: Source) -> int:
    """Lines of `import` and `from … import` statements, wherever they stand."""
    return sum(
        len(_spanned(node))
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def hidden_imports(source: Source) -> int:
    """`import` and `from … import` statements inside a function."""
    inside: set[int] = set()
    for function in ast.walk(source.tree):
        if isinstance(function, _FUNCTIONS):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    inside.add(id(node))
    return len(inside)


def string_keys(source: Source) -> int:
    """Reads such as `row["iops"]` and `document["runs"]`: a subscript by a literal string.

    Annotations, and types such as Literal["read"], are not reads.
    """
    return sum(1 for _ in _string_reads(source.tree))


def row_keys(source: Source) -> int:
    """Those of `string_keys` whose subject is called `row`, or ends so (`first_row["…"]`)."""
    return sum(1 for read in _string_reads(source.tree) if _last_name(read.value).endswith("row"))


def _string_reads(tree: ast.Module) -> Iterator[ast.Subscript]:
    types = {id(node) for annotation in _annotations(tree) for node in ast.walk(annotation)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
            and _last_name(node.value) not in ("Literal", "Annotated")
            and id(node) not in types
        ):
            yield node


def _annotations(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def named_clouds(package: Path) -> list[str]:
    """Files of every kind that name a cloud outside `CLOUD_ROOMS`, as the issue's grep finds them.

    A file that is not UTF-8 text is skipped.
    """
    found = []
    for file in sorted(package.rglob("*")):
        path = file.relative_to(package).as_posix()
        if not file.is_file() or path.startswith(CLOUD_ROOMS) or "__pycache__" in path:
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if CLOUD.search(text):
            found.append(path)
    return found


def of_a_cancel(all_sources: list[Source]) -> list[str]:
    """Files whose code names a cancel: a function, class, variable, attribute, argument or import
    with `cancel` in its name. Words in strings, comments and docstrings do not count, nor do
    `NOT_OF_A_CANCEL`. Who mends a fault in cancelling has to know these files."""
    return [
        source.path
        for source in all_sources
        if not source.path.startswith(NOT_OF_A_CANCEL)
        and any("cancel" in name.lower() for name in _identifiers(source.tree))
    ]


def _identifiers(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.keyword):
            yield node.arg or ""
        elif isinstance(node, ast.alias):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def classes(all_sources: list[Source]) -> dict[str, list[str]]:
    """Every class at the top of a module → the files that define one of that name."""
    found: dict[str, list[str]] = defaultdict(list)
    for source in all_sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(source.path)
    return dict(found)


def repeated_classes(all_sources: list[Source]) -> dict[str, list[str]]:
    """`classes` that stand in several files and are not private (`_Row` is its file's own)."""
    return {
        name: paths
        for name, paths in sorted(classes(all_sources).items())
        if len(paths) > 1 and not name.startswith("_")
    }


def functions_named(all_sources: list[Source], start: str) -> int:
    """Functions and methods whose name begins with `start`, a leading underscore aside."""
    return sum(
        1
        for source in all_sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.lstrip("_").startswith(start)
    )


def longest(all_sources: list[Source], limit: int = 300) -> int:
    """How many files have more than `limit` lines."""
    return sum(1 for source in all_sources if line_count(source) > limit)


def rooms(paths: list[str]) -> Counter[str]:
    """The first folder of each path → how many of the paths lie in it."""
    return Counter(path.split("/")[0] if "/" in path else "." for path in paths)

"""What benchmarks/house.py counts by reading source: one function a figure, by syntax tree.

Nothing is imported from the tree that is counted, so an old commit is counted like the present one.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SMALL = 60
"""A file with fewer lines needs a reason."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Source:
    """One Python file: its path below the folder that was read, its text, and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Lines of the file, as `wc -l` counts them."""
        return self.text.count("\n")


def sources(folder: Path) -> list[Source]:
    """Every Python file below `folder`, in the order of their paths."""
    found = []
    for file in sorted(folder.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        found.append(Source(file.relative_to(folder).as_posix(), text, ast.parse(text)))
    return found


def small_files(all_sources: Iterable[Source]) -> list[str]:
    """Files of fewer than SMALL lines, with how many they have."""
    return [f"{one.path}: {one.lines}" for one in all_sources if one.lines < SMALL]


def hidden_imports(source: Source, package: str) -> int:
    """Statements inside functions that import modules of `package`."""
    inside = {
        id(node): node
        for function in ast.walk(source.tree)
        if isinstance(function, _FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, _IMPORTS)
    }
    return sum(
        any(f"{name}.".startswith(f"{package}.") for name, _ in named(node, source.path, package))
        for node in inside.values()
    )


def type_checking(source: Source) -> int:
    """Blocks below `if TYPE_CHECKING:`."""
    return sum(
        isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for node in ast.walk(source.tree)
    )


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement, wherever it stands; expressions, most of a tree, are not looked into."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, ())


def named(node: ast.AST, path: str, package: str) -> Iterator[tuple[str, str | None]]:
    """What one statement imports into the file `path` of `package`: pairs of a module and the name
    taken from it, None for `import MODULE`."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, None) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        folders = [package, *path.split("/")[:-1]]
        start = folders[: len(folders) - node.level + 1] if node.level else []
        module = ".".join([*start, *([node.module] if node.module else [])])
        yield from ((module, alias.name) for alias in node.names)


def imports(all_sources: Sequence[Source], package: str) -> dict[str, set[str]]:
    """Each file → the other files of `package` that it imports, wherever the statement stands.

    `from a import b` is the file of the module a.b where there is one, and else that of `a`, which
    is `a/__init__.py` for a package. That importing a.b also runs `a/__init__.py` does not count,
    nor does a name taken from the package itself (its version): every module runs that file.
    """
    modules = {_module(one.path, package): one.path for one in all_sources}
    modules.pop(package, None)
    graph: dict[str, set[str]] = {}
    for one in all_sources:
        found = set()
        for node in statements(one.tree):
            for module, name in named(node, one.path, package):
                found |= {modules.get(f"{module}.{name}") or modules.get(module)}
        graph[one.path] = {path for path in found if path is not None} - {one.path}
    return graph


def _module(path: str, package: str) -> str:
    parts = [package, *path.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of files each of which imports all others of its group, by way of others or not:
    the strongly connected components of more than one file."""
    reached = {path: _reached(path, graph) for path in graph}
    groups = {
        frozenset(other for other in reached[path] if path in reached[other])
        for path in graph
        if path in reached[path]
    }
    return sorted(sorted(group) for group in groups)


def _reached(path: str, graph: Mapping[str, set[str]]) -> set[str]:
    """The files that are imported by `path`, by way of others or not."""
    found: set[str] = set()
    waiting = set(graph[path])
    while waiting:
        found |= waiting
        waiting = {other for one in waiting for other in graph[one]} - found
    return found


def imported_once(graph: Mapping[str, set[str]]) -> list[str]:
    """The files that exactly one other imports."""
    by: dict[str, int] = defaultdict(int)
    for imported in graph.values():
        for path in imported:
            by[path] += 1
    return sorted(path for path, count in by.items() if count == 1)


def classes(all_sources: Iterable[Source]) -> dict[str, list[str]]:
    """Every class at the top of a module → the files that define one of that name."""
    found: dict[str, list[str]] = defaultdict(list)
    for source in all_sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(source.path)
    return dict(found)


def lines_of(folder: Path, *endings: str) -> int:
    """Lines of all files below `folder` that end so."""
    return sum(
        file.read_bytes().count(b"\n")
        for file in folder.rglob("*")
        if file.name.endswith(endings) and file.is_file()
    )


def words_of(folder: Path) -> int:
    """Words of the pages (*.md) below `folder`, as `wc -w` counts them."""
    return sum(len(page.read_text(encoding="utf-8").split()) for page in folder.rglob("*.md"))

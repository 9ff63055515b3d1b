"""Benchmarks and emulators that no test runs still import what the source has."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from benchmarks import house_counts

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src"
FILES = sorted([*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "emulators").rglob("*.py")])


@cache
def names_of(module: str) -> frozenset[str] | None:
    """The names that a module or package has at its top, its modules among them; None where there
    is no such module. A package that makes names when asked has those that it lists."""
    path = SOURCE.joinpath(*module.split("."))
    file = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    if not file.is_file():
        return None
    names = {child.stem for child in path.iterdir()} if path.is_dir() else set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and path.is_dir():
            names.add(node.value)
    return frozenset(names)


def missing(text: str) -> list[str]:
    """What a file imports of diskbench that is not there."""
    lost = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "diskbench":
            names = names_of(node.module or "")
            lost += [
                f"{node.module}.{alias.name}"
                for alias in node.names
                if names is None or alias.name not in names
            ]
    return lost


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_is_imported_is_there(file: Path) -> None:
    assert missing(file.read_text("utf-8")) == []


SCRIPT = re.compile(r"benchmarks/(\w+)\.py|-m benchmarks\.(\w+)")


def test_a_benchmark_that_a_page_or_a_docstring_names_is_there() -> None:
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "script").glob("*")]
    for folder in ("docs", "src", "tests", "benchmarks"):
        files += [*(ROOT / folder).rglob("*.md"), *(ROOT / folder).rglob("*.py")]
    lost = {
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in files
        if path.is_file()
        for found in SCRIPT.finditer(path.read_text("utf-8", errors="replace"))
        if not (ROOT / "benchmarks" / f"{found[1] or found[2]}.py").is_file()
    }
    assert lost == set()


@pytest.mark.parametrize(
    "name", [pytest.param("src/diskbench", marks=pytest.mark.slow), "benchmarks", "emulators"]
)
def test_no_two_files_import_each_other(name: str) -> None:
    sources = house_counts.sources(ROOT / name)
    assert house_counts.circles(house_counts.imports(sources, Path(name).name)) == []

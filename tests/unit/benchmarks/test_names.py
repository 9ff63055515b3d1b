"""Benchmarks that pages name are there, and no two files of a package import each other."""

import re
from pathlib import Path

import pytest
from benchmarks import house_counts

ROOT = Path(__file__).parents[3]


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

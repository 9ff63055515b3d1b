"""The counters of benchmarks/house.py, each on a few lines whose count is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import house, house_counts

FILES = {
    "__init__.py": "from pkg.low import low\n",
    "low.py": "from pkg import VERSION\n\n\ndef low():\n    return VERSION\n",
    "a.py": "import json\n\nfrom pkg.b import B\n\n\nclass TrialA:\n    b: B\n",
    "b.py": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from pkg import c\n\n\n"
        "class B:\n    c: 'c.C'\n"
    ),
    "c.py": (
        "class B:\n    pass\n\n\ndef f():\n    import os\n\n    def g():\n"
        "        from pkg.a import TrialA\n\n        return TrialA, os\n"
    ),
    "room/__init__.py": "from .inner import NAME\n",
    "room/inner.py": "from ..low import low\n\nNAME = low\n",
    "room/other.py": "from pkg.room import NAME, inner\n\nOTHER = NAME, inner\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        file = tmp_path / "pkg" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "pkg"


def test_an_import_is_that_of_a_module_and_not_of_its_package(package: Path) -> None:
    graph = house_counts.imports(house_counts.sources(package), "pkg")
    assert graph["room/other.py"] == {"room/__init__.py", "room/inner.py"}
    assert graph["room/__init__.py"] == {"room/inner.py"}
    assert graph["room/inner.py"] == {"low.py"}
    assert graph["b.py"] == {"c.py"}
    assert graph["low.py"] == set()


def test_a_circle_is_found_through_functions_and_type_checking(package: Path) -> None:
    graph = house_counts.imports(house_counts.sources(package), "pkg")
    assert house_counts.circles(graph) == [["a.py", "b.py", "c.py"]]


def test_two_circles_that_one_file_only_uses_stay_two() -> None:
    graph = {"a": {"b"}, "b": {"a"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d", "b"}, "f": {"c"}}
    assert house_counts.circles(graph) == [["a", "b"], ["d", "e"]]


def test_the_figures_of_a_package(package: Path) -> None:
    assert house.package_figures(package) == {
        "Python files": 8,
        "lines": sum(text.count("\n") for text in FILES.values()),
        "files under 60 lines": 8,
        "own imports inside functions": 1,
        "TYPE_CHECKING blocks": 1,
        "import circles": 1,
        "… files in them": 3,
        "modules imported by one other": 4,
        "classes": 3,
        "class names with Trial": 1,
    }
    assert house.listed("classes", package) == ["B: b.py, c.py"]
    assert [line.split(" → ")[0] for line in house.listed("circles", package)] == [
        "a.py", "b.py", "c.py",
    ]  # fmt: skip


def test_the_table_says_what_changed() -> None:
    text = house.table(
        {"before": [("files", 3), ("… small", 1)], "now": [("files", 1), ("… small", 1200)]}
    )
    assert [line.split() for line in text.splitlines()] == [
        ["before", "now", "change"],
        ["files", "3", "1", "-2"],
        ["…", "small", "1", "1,200", "+1,199"],
    ]


@pytest.mark.parametrize(
    "name", [pytest.param("src/diskbench", marks=pytest.mark.slow), "benchmarks", "emulators"]
)
def test_no_two_files_import_each_other(name: str) -> None:
    sources = house_counts.sources(house.ROOT / name)
    assert house_counts.circles(house_counts.imports(sources, Path(name).name)) == []

"""The counters of benchmarks/house.py, each on a few lines whose count is known."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import house, house_counts, house_way

SOURCE = '''"""A docstring
of two lines."""

import json  # counted: 1
from pathlib import (  # counted: 3
    Path,
)

LIMIT = 3
"""What LIMIT is."""


class Machine:
    """A class."""

    size: "dict[str, Path]"

    def cancel(self, row, first_row, found):
        """A method."""
        import os

        # a comment of its own
        def inner():
            from sys import argv

            return argv

        row["written"] = 1
        return (
            row["a"],
            first_row["b"],
            found["c"]["d"],
            row[0],
            row[LIMIT],
            os,
        )


def look_at(kind: Literal["x"]) -> "Literal['y']":
    return json
'''


def source(text: str = SOURCE, path: str = "engine/a.py") -> house_counts.Source:
    return house_counts.Source(path, text, ast.parse(text))


def test_lines_are_counted_as_wc_does():
    assert house_counts.line_count(source()) == SOURCE.count("\n")


def test_code_lines_leave_out_blanks_comments_docstrings_and_imports():
    text = (
        '"""Doc."""\n\nimport os\n\n# why\nX = (\n    1,\n\n    # why\n    2,\n)\n"""Doc of X."""\n'
    )
    assert house_counts.code_lines(source(text)) == 4


def test_a_text_of_several_lines_that_is_a_value_is_code():
    assert house_counts.code_lines(source('X = """a\n\nb"""\n')) == 3


def test_every_line_of_an_import_counts():
    assert house_counts.import_lines(source()) == 1 + 3 + 1 + 1


def test_imports_in_functions_count_once_however_deep():
    assert house_counts.hidden_imports(source()) == 2


def test_reads_by_string_keys_are_neither_writes_nor_types():
    assert house_counts.string_keys(source()) == 4
    assert house_counts.row_keys(source()) == 2


def test_a_cancel_is_named_by_code_and_not_by_words():
    named = [
        source("def cancel(): ...\n", "engine/b.py"),
        source("from a.cancel import x\n", "cli/b.py"),
        source("x.cancelled = 1\n", "store/b.py"),
        source("f(cancel=1)\n", "plan/b.py"),
        source('STATE = "cancelled"  # cancel\n', "report/b.py"),
        source("def cancel(): ...\n", "providers/b.py"),
        source("def cancel(): ...\n", "store/migrations/b.py"),
    ]
    assert house_counts.of_a_cancel(named) == ["engine/b.py", "cli/b.py", "store/b.py", "plan/b.py"]


def test_clouds_are_looked_for_in_files_of_every_kind_but_not_in_their_rooms(tmp_path: Path):
    for path, text in {
        "engine/a.py": "# GCP",
        "engine/b.py": "awsome vsphere_x",
        "report/c.j2": "a Google disk",
        "report/d.bin": "aws\udcff",
        "providers/e.py": "aws",
        "catalog/data/f.yaml": "aws",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode(errors="surrogateescape"))
    assert house_counts.named_clouds(tmp_path) == ["engine/a.py", "report/c.j2"]


def test_public_classes_of_one_name_are_counted_by_file():
    both = [source(path="a.py"), source(path="b.py"), source("class _Row: ...\n", "c.py")]
    both.append(source("class _Row: ...\n", "d.py"))
    assert house_counts.repeated_classes(both) == {"Machine": ["a.py", "b.py"]}
    assert house_counts.functions_named(both, "look") == 2


def test_options_of_a_help_are_lines_that_begin_with_a_dash():
    assert house.help_options("Options:\n  -o, --to FILE  Where - or\n      --x\n  Not -y\n") == 2
    wrapped = (
        "  --to FILE       Where to, or\n                  --here.\n\n  Also: type\n  --to again\n"
    )
    assert house.help_options(wrapped) == 1


def test_the_table_names_what_changed_and_what_one_side_lacks():
    text = house.table({"before": {"files": 3, "old": 1}, "now": {"files": 1, "new": 1200}})
    assert [line.split() for line in text.splitlines()] == [
        ["before", "now", "change"],
        ["files", "3", "1", "-2"],
        ["old", "1", "—", "—"],
        ["new", "—", "1,200", "—"],
    ]


def calls(*found: tuple[str, str, list[str]]) -> house_way.Way:
    return house_way.of([{"path": p, "name": n, "callers": c} for p, n, c in found])


def test_a_function_of_both_commands_counts_once():
    walked = calls(
        ("cli/main.py", "main", [""]),
        ("cli/main.py", "main", [""]),
        ("engine/a.py", "f", ["engine/a.py"]),
        ("engine/a.py", "f", ["cli/main.py"]),
        ("fio/a.py", "Row.value", ["engine/a.py"]),
        ("fio/a.py", "inner", ["fio/a.py"]),
        ("fio/b.py", "parse", ["fio/a.py"]),
    )
    assert walked.entered() == 5
    assert walked.files() == 4
    assert walked.crossed() == 4
    assert walked.between() == 1
    assert walked.stations() == 2
    assert walked.called_back() == 1


def recorded(package: Path, run: str) -> dict[str, Any]:
    """What the recorder notes of `run`, in a process of its own: a profile is the interpreter's."""
    code = (
        "import json, sys; from pathlib import Path; from benchmarks.house_way import Recorder;"
        f"sys.path.insert(0, {str(package.parent)!r}); import pkg.a, threading;"
        f"r = Recorder(Path({str(package)!r})); r.start(); {run}; print(json.dumps(r.calls()))"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    return {call["name"]: (call["path"], call["callers"]) for call in json.loads(done.stdout)}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    made = tmp_path / "pkg"
    made.mkdir()
    (made / "__init__.py").touch()
    (made / "b.py").write_text("def low():\n    return 1\n")
    (made / "a.py").write_text(
        "from pkg.b import low\n"
        "def top():\n    return [low() for _ in range(2)], (lambda: low())()\n"
    )
    return made


def test_the_recorder_names_functions_and_who_called_them(package: Path):
    found = recorded(package, "pkg.a.top()")
    assert found == {"top": ("a.py", [""]), "low": ("b.py", ["a.py"])}


def test_the_recorder_hears_of_threads(package: Path):
    started = "t = threading.Thread(target=pkg.a.low); t.start(); t.join()"
    assert recorded(package, started) == {"low": ("b.py", [""])}

"""The pure rooms look at no clock and read no files but those that come with the package."""

import ast
from pathlib import Path

import pytest

import diskbench

SOURCE = Path(diskbench.__file__).parent
ROOMS = ("fio", "plan", "analysis")
CLOCKS = frozenset({"now", "today", "utcnow", "monotonic", "perf_counter", "time_ns"})
FILES = frozenset(
    {"open", "read_text", "read_bytes", "write_text", "write_bytes", "is_file", "exists", "unlink",
     "mkdir", "getenv", "getcwd", "expanduser"}
)  # fmt: skip
FORBIDDEN = frozenset(
    {"time", "tempfile", "shutil", "socket", "random", "secrets", "diskbench.text_file",
     "diskbench.whole_file"}
)  # fmt: skip
PACKAGE_DATA = {
    "fio/guard.py": {"read_text"},
    "fio/options.py": {"read_text"},
    "fio/profiles.py": {"read_text"},
}


@pytest.mark.parametrize(
    "path",
    [path for room in ROOMS for path in sorted((SOURCE / room).rglob("*.py"))],
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_no_clock_and_no_files(path):
    name, tree = str(path.relative_to(SOURCE)), ast.parse(path.read_text())
    called, imported = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute):
                called.add(function.attr)
            elif isinstance(function, ast.Name):
                called.add(function.id)
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module)
        elif isinstance(node, ast.Import):
            imported |= {one.name for one in node.names}
    assert called & CLOCKS == set()
    assert called & FILES <= PACKAGE_DATA.get(name, set())
    assert imported & FORBIDDEN == set()

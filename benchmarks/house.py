"""How large and how tangled the house is: one table, before and after.

    python benchmarks/house.py                   this checkout
    python benchmarks/house.py --against REV     two columns: that commit, and this checkout
    python benchmarks/house.py --list circles    the files behind a figure: circles, small, once
    python benchmarks/house.py --in emulators    of another folder: emulators, tests, benchmarks

house_counts.py says what each figure is. A circle is a group of files that import each other, by
way of others or not; imports in functions and below TYPE_CHECKING count as well. Another commit is
unpacked by `git archive` into a directory that is removed.
"""

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import house_counts as counts  # noqa: E402 - found by its package

Figures = dict[str, int]
FOLDERS = {"src": "src/diskbench", "emulators": "emulators", "tests": "tests"}
FOLDERS |= {"benchmarks": "benchmarks"}
"""What `--in` names → the folder, whose last part is the package."""


def package_figures(folder: Path) -> Figures:
    """What reading the Python of one package shows."""
    found = counts.sources(folder)
    graph = counts.imports(found, folder.name)
    circles = counts.circles(graph)
    classes = counts.classes(found)
    return {
        "Python files": len(found),
        "lines": sum(one.lines for one in found),
        f"files under {counts.SMALL} lines": len(counts.small_files(found)),
        "own imports inside functions": sum(
            counts.hidden_imports(one, folder.name) for one in found
        ),
        "TYPE_CHECKING blocks": sum(counts.type_checking(one) for one in found),
        "import circles": len(circles),
        "… files in them": sum(len(group) for group in circles),
        "modules imported by one other": len(counts.imported_once(graph)),
        "classes": sum(len(paths) for paths in classes.values()),
        "class names with Trial": sum("Trial" in name for name in classes),
    }


def other_figures(tree: Path) -> Figures:
    """What stands beside the package."""
    emulators = counts.sources(tree / "emulators")
    circles = counts.circles(counts.imports(emulators, "emulators"))
    return {
        "shell and awk lines": counts.lines_of(tree / "src", ".sh", ".awk"),
        "tests lines": counts.lines_of(tree / "tests", ".py"),
        "benchmarks lines": counts.lines_of(tree / "benchmarks", ".py"),
        "emulators lines": sum(one.lines for one in emulators),
        "emulators circles": len(circles),
        "… files in them": sum(len(group) for group in circles),
        "docs words": counts.words_of(tree / "docs"),
        "… of docs/evidence": counts.words_of(tree / "docs" / "evidence"),
    }


def rows_of(tree: Path, inside: str) -> list[tuple[str, int]]:
    """The lines of a column, in order: `…` goes with the one before it."""
    rows = [*package_figures(tree / FOLDERS[inside]).items()]
    return rows + ([*other_figures(tree).items()] if inside == "src" else [])


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """The files of a commit, in a directory that goes afterwards."""
    with tempfile.TemporaryDirectory(prefix="diskbench-house-", dir="/var/tmp") as directory:
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", revision], capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(directory, filter="data")
        yield Path(directory)


def table(columns: dict[str, list[tuple[str, int]]]) -> str:
    """One line a figure, one column a checkout; the last of three columns is what changed."""
    (*_, now) = columns.values()
    width = max(len(name) for name, _ in now)
    heads = [*columns, "change"] if len(columns) == 2 else [*columns]
    lines = [" ".join([" " * width, *(f"{head:>14}" for head in heads)])]
    for number, (name, _) in enumerate(now):
        values = [rows[number][1] for rows in columns.values()]
        cells = [f"{value:,}" for value in values]
        if len(values) == 2:
            cells.append(f"{values[1] - values[0]:+,}")
        lines.append(" ".join([f"{name:<{width}}", *(f"{cell:>14}" for cell in cells)]))
    return "\n".join(lines)


def listed(what: str, folder: Path) -> list[str]:
    """The files behind one figure."""
    found = counts.sources(folder)
    if what == "small":
        return counts.small_files(found)
    graph = counts.imports(found, folder.name)
    if what == "once":
        return counts.imported_once(graph)
    return [
        f"{path} → {', '.join(sorted(graph[path] & set(group)))}"
        + ("\n" if path == group[-1] else "")
        for group in counts.circles(graph)
        for path in group
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", metavar="REV", help="a commit to set beside this checkout")
    parser.add_argument("--in", dest="inside", choices=list(FOLDERS), default="src")
    parser.add_argument("--list", choices=["circles", "small", "once"])
    given = parser.parse_args()
    columns: dict[str, list[tuple[str, int]]] = {}
    if given.against:
        with checkout(given.against) as before:
            columns[given.against[:14]] = rows_of(before, given.inside)
    columns["now"] = rows_of(ROOT, given.inside)
    print(table(columns))
    if given.list:
        print()
        print("\n".join(listed(given.list, ROOT / FOLDERS[given.inside])))


if __name__ == "__main__":
    main()

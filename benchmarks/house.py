"""How large and how tangled the house is: one table, before and after.

    python benchmarks/house.py                   this checkout
    python benchmarks/house.py --against REV     two columns: that commit, and this checkout
    python benchmarks/house.py --way             also runs the emulated AWS (Linux, root, a minute)
    python benchmarks/house.py --list clouds     the files behind a figure: clouds, cancel, classes,
                                                 way (with --way)

Source is counted by house_counts.py and the way of a run by house_way.py; each says there what
its figures mean. Another commit is unpacked by `git archive` into a directory that is removed.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import house_counts as counts  # noqa: E402 - found by its package
from benchmarks import house_way as way  # noqa: E402

Figures = dict[str, int]
NAMED = ("Machine", "Cell", "Promise", "Course", "Fall")
"""Class names that the issue counted."""


def source_figures(package: Path) -> Figures:
    """Everything that reading the package shows."""
    all_sources = counts.sources(package)

    def summed(count: Callable[[counts.Source], int]) -> int:
        return sum(count(source) for source in all_sources)

    repeated = counts.repeated_classes(all_sources)
    every = counts.classes(all_sources)
    cancel = counts.of_a_cancel(all_sources)
    clouds = counts.named_clouds(package)
    return {
        "Python files": len(all_sources),
        "lines": summed(counts.line_count),
        "code lines": summed(counts.code_lines),
        "import lines": summed(counts.import_lines),
        "imports inside functions": summed(counts.hidden_imports),
        'string-key reads (x["…"])': summed(counts.string_keys),
        '… of a row (row["…"])': summed(counts.row_keys),
        "files over 300 lines": counts.longest(all_sources),
        "files of a cancel": len(cancel),
        "rooms of a cancel": len(counts.rooms(cancel)),
        "files naming a cloud, outside providers and catalog": len(clouds),
        "class names in several files": len(repeated),
        "classes of those names": sum(len(paths) for paths in repeated.values()),
        **{f"classes named {name}": len(every.get(name, [])) for name in NAMED},
        "functions named look…": counts.functions_named(all_sources, "look"),
    }


def help_options(text: str) -> int:
    """Options in the output of `--help`, `--help` among them: names at the beginning of a line,
    each once, because a sentence may wrap before one. Wrapped help stands further to the right."""
    return len(set(re.findall(r"^ {1,8}(?:-\w, )?(--?[\w-]+)", text, re.MULTILINE)))


def run_options(tree: Path, python: str) -> int:
    """Options that `diskbench run --help` of `tree` shows."""
    shown = subprocess.run(
        [python, "-m", "diskbench", "run", "--help"],
        env=os.environ | {"PYTHONPATH": str(tree / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=True,
    )
    return help_options(shown.stdout)


def way_figures(walked: way.Way) -> Figures:
    """What the trace of a run shows."""
    return {
        "way: functions entered": walked.entered(),
        "way: files they stand in": walked.files(),
        "way: functions called from another file": walked.crossed(),
        "way: … from another room, no methods": walked.between(),
        "way: … of cli, engine, results, plan and ports": walked.stations(),
        "way: … of those, called by a library alone": walked.called_back(),
    }


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


def table(columns: dict[str, Figures]) -> str:
    """One line a figure, one column a checkout; the last column of two is what changed."""
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    width = max(len(name) for name in names)
    heads = [*columns, "change"] if len(columns) == 2 else [*columns]
    lines = [" ".join([" " * width, *(f"{head:>14}" for head in heads)])]
    for name in names:
        values = [figures.get(name) for figures in columns.values()]
        cells = ["—" if value is None else f"{value:,}" for value in values]
        if len(heads) > len(columns):
            before, after = values
            known = before is not None and after is not None
            cells.append(f"{after - before:+,}" if known else "—")
        lines.append(" ".join([f"{name:<{width}}", *(f"{cell:>14}" for cell in cells)]))
    return "\n".join(lines)


def listed(what: str, package: Path, walked: way.Way | None) -> list[str]:
    """The files (and names) behind one figure."""
    if what == "clouds":
        return counts.named_clouds(package)
    all_sources = counts.sources(package)
    if what == "cancel":
        return counts.of_a_cancel(all_sources)
    if what == "classes":
        repeated = counts.repeated_classes(all_sources)
        return [f"{name}: {', '.join(paths)}" for name, paths in repeated.items()]
    if walked is None:
        return ["--list way needs --way"]
    return [
        f"{call.path}: {call.name} (called by {', '.join(sorted(call.callers - {call.path}))})"
        for call in walked.calls
        if call.callers - {call.path} and call.path.startswith(way.ORCHESTRATION)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", metavar="REV", help="a commit to set beside this checkout")
    parser.add_argument("--way", action="store_true", help="also trace a run on the emulated AWS")
    parser.add_argument("--list", choices=["clouds", "cancel", "classes", "way"])
    given = parser.parse_args()

    def figures(tree: Path) -> tuple[Figures, way.Way | None]:
        walked = way.walked(tree, sys.executable) if given.way else None
        found = source_figures(tree / "src" / "diskbench")
        found |= {"options in run --help": run_options(tree, sys.executable)}
        return found | (way_figures(walked) if walked else {}), walked

    columns: dict[str, Figures] = {}
    if given.against:
        with checkout(given.against) as before:
            columns[given.against[:14]] = figures(before)[0]
    columns["now"], walked = figures(ROOT)
    print(table(columns))
    if given.list:
        print()
        for line in listed(given.list, ROOT / "src" / "diskbench", walked):
            print(line)


if __name__ == "__main__":
    main()

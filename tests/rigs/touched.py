"""Which files of fast tests `script/check` runs: those that a change touches. `tests/unit/*.py` and
`tests/method` run always; of the other folders of tests/unit that of the source that changed, the
test that changed, and each test that imports what changed, itself or by a module of tests.

    python -m tests.rigs.touched    # prints folders and files, one a line; without git, all of them
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALWAYS = ("tests/method",)
EVERYTHING = ("tests/unit", "tests/method")
FOR_ALL = ("tests/conftest.py",)
"""What every test uses."""
BY_WORD = {"tests/golden/": "golden", "tests/cases/": "cases"}
"""Folders of data -> the word by which a test that reads them is known."""

_IMPORT = re.compile(
    r"^\s*(?:from\s+((?:diskbench|tests|emulators|benchmarks)[\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)"
    r"|import\s+((?:diskbench|tests|emulators|benchmarks)[\w.]*))",
    re.MULTILINE,
)


def imported(text):
    """Every module that a source may import: of `from a import b` both `a` and `a.b`."""
    names = set()
    for module, things, alone in _IMPORT.findall(text):
        names.add(module or alone)
        names.update(f"{module}.{name}" for name in re.findall(r"\w+", things))
    return frozenset(names)


def module_of(file):
    if not file.endswith(".py"):
        return None
    return file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def touched(changed, sources):
    """Tests that these files touch; `sources` are the texts of Python files of tests by path."""
    files = list(changed)
    if any(file in FOR_ALL for file in files):
        return list(EVERYTHING)
    names = {file: imported(text) for file, text in sources.items()}
    modules = {module for file in files if (module := module_of(file))}
    # A module of tests that imports what changed has changed, too.
    while more := {
        name
        for file, found in names.items()
        if (name := module_of(file)) and name not in modules and found & modules
    }:
        modules |= more
    words = {word for place, word in BY_WORD.items() if any(f.startswith(place) for f in files)}
    chosen = {
        file
        for file, text in sources.items()
        if re.match("tests/unit/.+/test_", file)
        and (module_of(file) in modules or any(word in text for word in words))
    }
    folders = {folder for file in files if (folder := _folder(file, sources))}
    lone = {file for file in chosen if not any(file.startswith(f"{one}/") for one in folders)}
    outer = {one for one in folders if not any(one.startswith(f"{other}/") for other in folders)}
    return sorted(outer) + sorted(lone)


def _folder(file, sources):
    """The folder of tests of a source, or of what tests share: the nearest that has tests."""
    beginning = next((b for b in ("src/diskbench/", "tests/unit/") if file.startswith(b)), None)
    if beginning is None or (beginning == "tests/unit/" and "/test_" in file):
        return None
    parts = file.removeprefix(beginning).split("/")[:-1]
    while parts:
        folder = "/".join(["tests/unit", *parts])
        if any(test.startswith(f"{folder}/") for test in sources):
            return folder
        parts.pop()
    return None


def changed_files():
    """What differs from `main`, on `main` from the commit before; None where git cannot say."""
    main = _git("merge-base", "HEAD", "main")
    head = _git("rev-parse", "HEAD")
    since = main[0] if main and main != head else "HEAD~1"
    differs = _git("diff", "--name-only", "--no-renames", since)
    new = _git("ls-files", "--others", "--exclude-standard")
    return None if differs is None or new is None else [*differs, *new]


def _git(*words):
    command = ["git", "-c", "core.quotePath=false", *words]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.splitlines()


def main():
    changed = changed_files()
    if changed is None:
        print(*EVERYTHING, sep="\n")
        return
    texts = {
        str(file.relative_to(ROOT)): file.read_text("utf-8")
        for file in sorted((ROOT / "tests").rglob("*.py"))
    }
    found = touched(changed, texts)
    if found != list(EVERYTHING):
        top = (ROOT / "tests/unit").glob("test_*.py")
        found = [*ALWAYS, *sorted(str(file.relative_to(ROOT)) for file in top), *found]
    print(*found, sep="\n")


if __name__ == "__main__":
    main()

"""What comments and pages point to is there: headings of pages, requirements, files and rooms."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT

PACKAGE = ROOT / "src/diskbench"
ENDINGS = {".py", ".md", ".toml", ".sh", ".yaml", ".j2", ".awk", ".ipynb", ""}
PLACES = ("src", "docs", "tests", "emulators", "benchmarks", "profiles", "notebooks", "script")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
REFERENCE = re.compile(r"docs/((?:[\w-]+/)*[\w-]+\.md)#([\w-]+)")
LINK = re.compile(r"\]\(((?:[\w./-]+\.md)?)#([\w-]+)\)")
REQUIREMENT = re.compile(r"\bMR-(\d+)\b")
ROOMS = re.compile(r"<!-- rooms -->\n(.*?)<!-- end -->", re.DOTALL)
NOT_A_ROOM = {"__pycache__"}
OWN_FILE = Path(__file__).resolve()


def texts() -> Iterator[tuple[Path, str]]:
    files = [file for place in PLACES for file in sorted((ROOT / place).rglob("*"))]
    for file in [*files, *sorted(ROOT.glob("*.md")), ROOT / "pyproject.toml"]:
        if "__pycache__" in file.parts or file == OWN_FILE:
            continue
        if file.is_file() and file.suffix in ENDINGS:
            yield file, file.read_text(encoding="utf-8", errors="replace")


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(heading) for heading in HEADING.findall(page.read_text(encoding="utf-8"))}


def led_to() -> Iterator[tuple[Path, Path, str]]:
    """Each file, and the page and heading that a reference or a link in it leads to."""
    for file, text in texts():
        for page, heading in REFERENCE.findall(text):
            yield file, ROOT / "docs" / page, heading
        for page, heading in LINK.findall(text) if file.suffix == ".md" else ():
            yield file, file.parent / page if page else file, heading


def test_references_and_links_to_headings_resolve():
    lost = [
        f"{file.relative_to(ROOT)}: {page}#{heading}"
        for file, page, heading in led_to()
        if not page.exists() or heading not in anchors(page)
    ]
    assert lost == []


def test_every_requirement_that_is_named_is_defined():
    method = (ROOT / "docs/METHOD.md").read_text(encoding="utf-8")
    defined = re.findall(r"^### MR-(\d+) \w", method, re.MULTILINE)
    assert defined == [str(number) for number in range(1, 16)]
    lost = [
        f"{file.relative_to(ROOT)}: MR-{number}"
        for file, text in texts()
        for number in REQUIREMENT.findall(text)
        if number not in defined
    ]
    assert lost == []


def test_the_design_names_every_room_and_only_rooms():
    found = ROOMS.search((ROOT / "docs/design.md").read_text(encoding="utf-8"))
    assert found
    named = {line.split()[0].removesuffix("/") for line in found[1].splitlines() if line.strip()}
    assert named == {file.name for file in PACKAGE.iterdir() if file.is_dir()} - NOT_A_ROOM

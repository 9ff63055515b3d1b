"""What the pages show is what the program does. The manual page holds every command, and roff takes
it without a warning."""

import os
import re
import subprocess
import sys
from pathlib import Path

from diskbench.cli.lazy import COMMANDS
from diskbench.cli.man_page import _as_it_is, man_page
from diskbench.model.doubts import DOUBTS

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")])
HELP = re.compile(r"<!-- diskbench --help -->\n```text\n(.*?)```", re.DOTALL)


def test_the_page_of_commands_shows_the_help_as_it_is():
    """To bring it up to date: COLUMNS=80 diskbench --help, pasted between the fences."""
    found = HELP.search((ROOT / "docs/commands.md").read_text())
    assert found
    script = "import sys; from diskbench.cli.main import main; sys.exit(main())"
    shown = subprocess.run(
        [sys.executable, "-c", script, "--help"], env=os.environ | {"COLUMNS": "80"},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert found.group(1).strip() == shown.strip()


def test_links_to_files_lead_somewhere():
    dead = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in PAGES
        for target in re.findall(r"\]\(([^)#]+)", path.read_text())
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert dead == []


def test_every_warning_stands_in_the_method():
    given = {one.code for one in DOUBTS.values() if one.shown == "warnings"}
    table = (ROOT / "docs/METHOD.md").read_text().split("## Reasons to doubt")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert {code for row in rows for code in re.findall(r"`([a-z-]+)`", row)} == given


def test_every_page_but_evidence_is_listed():
    listed = (ROOT / "docs/index.md").read_text()
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    read = [str(page) for page in pages if page.parts[0] != "evidence"]
    assert [name for name in read if f"({name})" not in listed] == ["index.md"]


def test_every_command_is_a_section_and_no_line_is_taken_for_a_request() -> None:
    sections = re.findall(r"^\.SS (.+)$", man_page(), re.MULTILINE)
    assert sections == [f"diskbench {words}" for words in COMMANDS]
    assert _as_it_is(".gitignore\na\\b --c") == [".nf", "\\&.gitignore", "a\\(rsb \\-\\-c", ".fi"]
    requests = {line.split()[0] for line in man_page().splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".BR", ".nf", ".fi"}


def test_it_is_rendered_without_a_warning() -> None:
    groff = ["groff", "-man", "-Tutf8", "-k", "-ww", "-P", "-cbou"]
    done = subprocess.run(groff, input=man_page(), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "diskbench matrix run" in done.stdout
    assert "--fail-if" in done.stdout

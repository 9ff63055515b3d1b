"""The manual page holds every command, and roff takes it without a warning."""

import re
import subprocess

from diskbench.cli.lazy import COMMANDS
from diskbench.cli.man_page import _as_it_is, man_page


def rendered(page: str) -> str:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-k", "-ww", "-P", "-cbou"],
        input=page, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


def test_every_command_is_a_section() -> None:
    sections = re.findall(r"^\.SS (.+)$", man_page(), re.MULTILINE)
    assert sections == [f"diskbench {words}" for words in COMMANDS]


def test_no_line_is_taken_for_a_request() -> None:
    assert _as_it_is(".gitignore\na\\b --c") == [".nf", "\\&.gitignore", "a\\(rsb \\-\\-c", ".fi"]
    requests = {line.split()[0] for line in man_page().splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".BR", ".nf", ".fi"}


def test_it_is_rendered_without_a_warning() -> None:
    text = rendered(man_page())
    assert "diskbench matrix run" in text
    assert "--fail-if" in text

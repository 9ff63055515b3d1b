"""The tutorial as a new user follows it: every command in order, and what it prints looks as shown.

Figures differ from machine to machine. Of a line that is shown, the words before its first figure
are looked for, at the beginning of a line of the output, in the order of the page. A line with an
ellipsis stands for any lines."""

import re

import pytest
from tests.docs.pages import ROOT, commands
from tests.docs.test_pages import follow

PAGE = ROOT / "docs/tutorial.md"
FIGURE = re.compile(r"[~]?\d[\d,.:]*%?|–|…|/\S*|\$\d+|\(\S*")

LINES = [one.line for one in commands(PAGE) if one.in_block]


def label(line):
    """The words of a line before its first figure, path or parenthesis."""
    words = line.split()
    figures = [place for place, word in enumerate(words) if FIGURE.fullmatch(word.rstrip(";,"))]
    return tuple(words[: figures[0]] if figures else words)


def shown():
    blocks: dict[int, list[str]] = {}
    inside: list[str] | None = None
    for number, line in enumerate(PAGE.read_text().splitlines(), 1):
        if inside is not None and line.startswith("```"):
            inside = None
        elif inside is not None:
            inside.append(line)
        elif line.startswith("```text"):
            inside = blocks[number] = []
    return blocks


def missing(block, output):
    left = iter([label(line) for line in output.splitlines()])
    absent = []
    for line in block:
        wanted = label(line)
        if wanted and not any(found[: len(wanted)] == wanted for found in left):
            absent.append(line)
            break
    return absent


def not_shown(one, output):
    blocks = shown()
    end = min((other for other in LINES if other > one.line), default=10**6)
    own = [block for begin, block in blocks.items() if one.line < begin < end]
    return [line for block in own for line in missing(block, output)]


def tried(*, thorough):
    steps = [one for one in commands(PAGE) if one.in_block and not one.said("parsed")]
    return [one for one in steps if thorough or not one.said("thorough")]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_its_quick_commands_print_what_it_shows(tmp_path):
    follow(tried(thorough=False), tmp_path, not_shown)


@pytest.mark.thorough
@pytest.mark.timeout(2400)
def test_all_of_its_commands_print_what_it_shows(tmp_path):
    follow(tried(thorough=True), tmp_path, not_shown)

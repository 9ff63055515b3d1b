"""What is read from a page, and that a page with a mistake is found."""

from __future__ import annotations

import pytest
from tests.docs import pages
from tests.docs.kinds import kind
from tests.docs.pages import commands
from tests.docs.test_pages import follow


@pytest.fixture
def read(tmp_path, monkeypatch):
    """The commands of a page of one's own."""
    monkeypatch.setattr("tests.docs.kinds.ROOT", tmp_path)
    monkeypatch.setattr(pages, "ROOT", tmp_path)

    def write(text):
        (tmp_path / "page.md").write_text(text)
        return list(commands(tmp_path / "page.md"))

    return write


def test_commands_of_blocks_fences_and_sentences_are_found(read):
    found = read(
        "Type `diskbench\nconfig` or\n\n"
        "    sudo diskbench run --path x \\\n      --runs 2   # slow\n"
        "    IOPS  1\n\n```bash\n$ python3 x.py\n```\n```text\ndiskbench nothing\n```\n"
        "- a list\n    diskbench in its text\n\n    x = diskbench · 2\n"
    )
    assert [(one.line, one.text.split("  ")[0], one.in_block) for one in found] == [
        (1, "diskbench config", False),
        (4, "sudo diskbench run --path x --runs 2", True),
        (9, "python3 x.py", True),
    ]
    assert found[1].words == ["diskbench", "run", "--path", "x", "--runs", "2"]


def test_a_comment_says_how_the_commands_behind_it_are_tried(read):
    one, other = read(
        "<!-- try: {lines: run, exit: 2, replace: {/data: d}, add: --size 1} -->\n"
        "<!-- try: {lines: status, parsed: it has no end} -->\n\n"
        "    diskbench run --path /data   # all of it\n    diskbench status\n\n    diskbench gc\n"
    )[:2]
    assert one.typed == "diskbench run --path d --size 1   # all of it"
    assert (one.said("exit"), kind(one)) == (2, "run")
    assert (other.said("exit"), kind(other)) == (0, "parsed")


def test_what_stands_for_something_else_has_to_be_replaced(read):
    (loose,) = read("    diskbench results show RUN\n")
    (bound,) = read("<!-- try: {replace: {RUN: last}} -->\n\n    diskbench results show RUN\n")
    assert (kind(loose), kind(bound)) == ("uncovered", "run")


@pytest.mark.slow
def test_a_command_that_ends_otherwise_is_named(read, tmp_path):
    found = read(
        "<!-- try: {lines: show, exit: 2} -->\n\n    diskbench results show last\n"
        "    diskbench results list\n    diskbench report last\n"
    )
    with pytest.raises(AssertionError, match=r"page\.md:5: diskbench report last") as said:
        follow(found, tmp_path / "scratch")
    assert "results" not in str(said.value).partition("ended with")[0]

"""Every command of every page: the parser takes it, it is tried, and the light ones work."""

import os
import re
import shlex
from dataclasses import replace

from tests.docs.kinds import ELSEWHERE, is_light, is_name, kind
from tests.docs.pages import PAGES, ROOT, commands
from tests.docs.setups import SETUPS
from tests.rigs.advised import SOURCE, Advised, fault
from tests.rigs.cli import a_user
from tests.rigs.limited import limited

ALL = [one for page in PAGES for one in commands(page)]
OURS = [one for one in ALL if one.words[:1] == ["diskbench"]]


def test_the_commands_of_all_pages_are_found_and_covered():
    pages = {str(one.page.relative_to(ROOT)) for one in ALL}
    assert len(ALL) > 300
    assert {"README.md", "CONTRIBUTING.md", "docs/lab.md", "docs/contributing/measure.md"} <= pages
    # A new one is run, or its page says in a comment `try` how (tests/docs/pages.py).
    loose = [f"{one.where}: {one.text}" for one in ALL if kind(one) == "uncovered"]
    assert loose == [], "they hold what stands for something else"
    assert {one.setup for each in ALL for one in each.tries} <= {"", *SETUPS}


def test_the_parser_takes_every_command():
    both = [(each, one.where) for one in OURS for each in (replace(one, tries=()), one)]
    lines = {shlex.join(one.words[1:]): where for one, where in both}
    refused = [
        f"{where}: {line}: {why}"
        for line, where in lines.items()
        if (why := fault(Advised(where, line, quoted=True)))
    ]
    assert refused == []


def test_scripts_are_there_and_other_programs_are_known():
    clouds = {path.parent.name for path in (ROOT / "emulators").glob("*/serve.py")}
    known = {
        "script/demo-cloud": {"matrix", "--lag", "3", *clouds},
        "script/test": {"--all", "[tests/ROOM…]"},
        "script/check": {"--all"},
        "script/bench": {"--all"},
    }
    for one in ALL:
        if kind(one) == "elsewhere" and one.words[0] not in ELSEWHERE:
            program, *words = one.words
            assert os.access(ROOT / program, os.X_OK), one.where
            rooms = {word for word in words if (ROOT / word).is_dir()}
            assert set(words) - rooms <= known.get(program, set()), one.where


QUOTED = re.compile(r"['`]diskbench ([a-z][^'`\"{}\n]*)['`]")
"""A whole command in a message; those with values in them go to the parser (tests/drills)."""


def light_lines() -> dict[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for one in ALL:
        if kind(one) == "light":
            found.setdefault(tuple(one.words[1:]), one.where)
        if kind(one) == "named" and one.words[0] == "diskbench":
            found.setdefault((*one.words[1:], "--help"), one.where)
    for path in SOURCE.rglob("*.py"):
        for told in QUOTED.findall(path.read_text()):
            words = shlex.split(told)
            if is_light(words) and not any(word.isupper() or word == "…" for word in words):
                if is_name(["diskbench", *words]):  # of a group, perhaps
                    words.append("--help")
                found.setdefault(tuple(words), path.name)
    return found


WIDE = re.compile(r"-o |--to |--output|--print-policy|profiles render|schema|--wide|\bconfig\b")
"""Commands whose output is a file's or one line for each value, however long."""


ANSWERED = (
    "profiles show sustained", "results show nosuch", "run --path . --profile quikc", "compare 1",
    "plan --provider aws --disk gp9 --size 20 --offline", "regressions", "devices", "advise",
    "plan --provider aws --disk gp2 --size 20 --instance-type m9x.large --offline",
)  # fmt: skip
"""Commands that no page tells to type, some of them refused."""


def too_wide(text: str) -> list[str]:
    """Lines that could be shorter in 80 columns: of more than one word that is no command."""
    return [
        line for line in text.splitlines()
        if len(line) > 80 and len(line.split()) > 1 and not line.lstrip().startswith("diskbench ")
    ]  # fmt: skip


def test_light_commands_end_with_what_they_imply_and_fit_eighty_columns(tmp_path):
    lines = light_lines()
    assert len(lines) > 30
    said = [*lines, *(tuple(line.split()) for line in ANSWERED)]
    answers = limited(a_user(tmp_path, COLUMNS="80"), said)
    failed = [
        f"{where}: diskbench {shlex.join(words)}: {ended.returncode}\n{ended.stderr[-1000:]}"
        for (words, where), ended in zip(lines.items(), answers, strict=False)
        if ended.returncode
    ]
    assert failed == []
    wide = [
        f"diskbench {shlex.join(words)}: {line}"
        for words, ended in zip(said, answers, strict=True)
        if not WIDE.search(shlex.join(words))
        for line in too_wide(ended.stdout + ended.stderr)
    ]
    assert wide == []

"""Every command of every page: the parser takes it, it is tried, and the light ones work."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.docs.kinds import ELSEWHERE, is_light, is_name, kind
from tests.docs.pages import PAGES, ROOT, Command, commands, other_lines
from tests.docs.setups import SETUPS
from tests.rigs.advised import SOURCE, Advised, fault

ALL = [one for page in PAGES for one in commands(page)]
NOT_TYPED = {"aws", "fio", "hdparm", "kill", "last", "pytest", "zstd"}
"""Words in output and in sentences that are also programs."""
OURS = [one for one in ALL if one.words[:1] == ["diskbench"]]


def test_the_commands_of_all_pages_are_found():
    pages = {str(one.page.relative_to(ROOT)) for one in ALL}
    assert len(ALL) > 300
    assert {"README.md", "CONTRIBUTING.md", "docs/lab.md", "docs/contributing/measure.md"} <= pages


def test_no_command_of_another_program_is_passed_over():
    """A program that is typed on a page stands in PROGRAMS."""
    words = {tuple(line.split()[:2]) for page in PAGES for line in other_lines(page) if " " in line}
    names = {first for first, second in words if second != "=" and shutil.which(first)}
    assert names <= NOT_TYPED


def test_every_command_is_covered():
    """A new one is run, or its page says in a comment `try` how (tests/docs/pages.py)."""
    loose = [f"{one.where}: {one.text}" for one in ALL if kind(one) == "uncovered"]
    assert loose == [], "they hold what stands for something else"
    assert {one.setup for each in ALL for one in each.tries} <= {"", *SETUPS}


def test_the_parser_takes_every_command():
    lines = {shlex.join(each.words[1:]): one.where for one in OURS for each in (_written(one), one)}
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
    """The words of every light command of pages and messages, and where it stands."""
    found: dict[tuple[str, ...], str] = {}
    for one in ALL:
        if kind(one) == "light" and one not in planned():
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


def test_light_commands_end_with_what_they_imply(tmp_path):
    lines = light_lines()
    assert len(lines) > 30
    answers = answered(list(lines), tmp_path)
    failed = [
        f"{where}: diskbench {shlex.join(words)}: {code}\n{said[-1000:]}"
        for (words, where), (code, _, said) in zip(lines.items(), answers, strict=True)
        if code
    ]
    assert failed == []


def _written(one: Command) -> Command:
    """Without what its page wants changed."""
    return Command(one.page, one.line, one.text, one.in_block)


@cache
def planned() -> list[Command]:
    """The runs that can be planned without asking anybody."""
    return [
        one for one in OURS
        if one.in_block and _written(one).words[1] == "run" and "--provider" in one.words
        and not {"local", "vsphere"} & set(one.words)
    ]  # fmt: skip


LONG_S = 600.0
SAYS_HOW_LONG = re.compile(r"#.*\b(?:minutes?|hours?|days?)\b")


def test_a_page_says_how_long_a_reader_has_to_wait(tmp_path):
    """By the plan of each run."""
    waits = planned()
    assert len(waits) > 10
    plans = [("plan", *_written(one).words[2:], "--offline", "--output", "json") for one in waits]
    long = []
    for one, (code, out, said) in zip(waits, answered(plans, tmp_path), strict=True):
        assert code == 0, f"{one.where}: {one.text}: {said}"
        seconds = sum(trial["plan"]["expected_s"] for trial in json.loads(out)["trials"])
        if seconds > LONG_S and not SAYS_HOW_LONG.search(one.text):
            long.append(f"{one.where}: {seconds:.0f} s: {one.text}")
    assert long == []


def answered(lines: list[tuple[str, ...]], home: Path) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of light commands, in an empty home."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DISKBENCH_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.light"],
        input="".join(json.dumps(words) + "\n" for words in lines),
        cwd=home, env=kept | {"HOME": str(home), "PYTHONPATH": _path()},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines), done.stderr
    return answers


def _path() -> str:
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

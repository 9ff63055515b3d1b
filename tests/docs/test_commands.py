"""Every command of every page: the parser takes it, it is tried somewhere, and the light ones work."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest
from tests.docs.kinds import ELSEWHERE, is_light, kind
from tests.docs.pages import PAGES, ROOT, Command, commands
from tests.docs.setups import SETUPS
from tests.rigs.advised import Advised, advised, fault

ALL = [one for page in PAGES for one in commands(page)]
OURS = [one for one in ALL if one.words[:1] == ["diskbench"]]


def test_the_commands_of_all_pages_are_found():
    pages = {str(one.page.relative_to(ROOT)) for one in ALL}
    assert len(ALL) > 300
    assert {"README.md", "CONTRIBUTING.md", "docs/lab.md", "docs/contributing/matrix.md"} <= pages


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.where)
def test_a_command_is_covered(one: Command):
    """A new one is run, or its page says in a comment `try` how (tests/docs/pages.py)."""
    assert kind(one) != "uncovered", f"{one.where}: {one.text!r} holds what stands for something else"
    assert one.said("setup") in {"", *SETUPS}


@pytest.mark.parametrize("one", OURS, ids=lambda one: one.where)
def test_the_parser_takes_it(one: Command):
    whole = Command(one.page, one.line, one.text, one.in_block).words
    for words in (whole, one.words):
        assert fault(Advised(one.where, shlex.join(words[1:]), quoted=True)) is None


@pytest.mark.parametrize(
    "one", [one for one in ALL if kind(one) == "elsewhere"], ids=lambda one: one.where
)
def test_a_script_is_there_and_another_program_is_known(one: Command):
    program, *words = one.words
    if program in ELSEWHERE:
        return
    script = ROOT / program
    assert os.access(script, os.X_OK)
    clouds = {path.parent.name for path in (ROOT / "tests/cloud/emulator").glob("*/serve.py")}
    known = {"script/demo-cloud": {"matrix", *clouds}, "script/test": {"--all"}}
    assert set(words) <= known.get(program, set())


def light_lines() -> dict[tuple[str, ...], str]:
    """The words of every light command of pages and messages, and where it stands."""
    found: dict[tuple[str, ...], str] = {}
    for one in ALL:
        if kind(one) == "light":
            found.setdefault(tuple(one.words[1:]), one.where)
        if kind(one) == "named" and one.words[0] == "diskbench":
            found.setdefault((*one.words[1:], "--help"), one.where)
    for told in advised():
        words = shlex.split(told.line)
        if told.quoted and is_light(words) and not any(w.isupper() or w == "VALUE" for w in words):
            found.setdefault(tuple(words), told.where)
    return found


def test_light_commands_end_with_what_they_imply(tmp_path):
    lines = light_lines()
    assert len(lines) > 30
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DISKBENCH_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.light"],
        input="".join(json.dumps(words) + "\n" for words in lines),
        cwd=tmp_path, env=kept | {"HOME": str(tmp_path), "PYTHONPATH": _path()},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines), done.stderr
    failed = [
        f"{where}: diskbench {shlex.join(words)}: {code}\n{said}"
        for (words, where), (code, said) in zip(lines.items(), answers, strict=True)
        if code
    ]
    assert failed == []


def _path() -> str:
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

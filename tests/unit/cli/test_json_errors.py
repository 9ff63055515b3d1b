"""With --log-format json every error on stderr is one JSON object, wherever it was found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.rigs.cli import a_user

if TYPE_CHECKING:
    from pathlib import Path

WRONG = {
    "a command that does not exist": ("nosuch",),
    "an option that does not exist": ("run", "--dsik", "gp2"),
    "an option without its value": ("run", "--disk"),
    "a word too many": ("run", "--provider", "local", "x"),
    "a provider that does not exist": ("run", "--provider", "nix"),
    "a value of another type": ("run", "--size", "3x"),
    "a choice that is not offered": ("results", "list", "--format", "papyrus"),
    "a directory that does not exist": ("run", "--path", "/nonexistent"),
    "a directory of a plan": ("plan", "--path", "/nonexistent"),
    "a run that does not exist": ("results", "show", "nosuch"),
    "a lease that does not exist": ("gc", "nosuch"),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG)
def test_an_error_is_one_json_object(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = a_user(tmp_path).call_refused("--log-format", "json", *words)
    problems = [json.loads(line) for line in done.stderr.splitlines()]
    assert (done.returncode, [problem["exit_code"] for problem in problems]) == (2, [2])
    assert problems[0]["event"]
    assert problems[0]["kind"]

"""Sentences are asserted in golden files; elsewhere tests compare codes, fields and figures.

A reworded message should change one golden file and no test. The tests below still pin sentences;
their number may fall and not grow: put a new sentence into a golden file (tests/rigs/golden.py).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
WORDS = 4
"""From so many words on, a text in an assertion is a sentence."""
MOST = {
    "browser": 10,
    "cloud": 70,
    "contract": 7,
    "docs": 5,
    "drills": 44,
    "lab": 5,
    "method": 11,
    "notebooks": 1,
    "plugin": 5,
    "qemu": 12,
    "run": 12,
    "unit": 556,
}
"""Assertions of each folder that hold a sentence."""


def sentences(text: str) -> Iterator[int]:
    """The lines of a test module on which an assertion or a `match=` holds a sentence."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Assert(test=part):
                pass
            case ast.keyword(arg="match", value=part):
                pass
            case _:
                continue
        for leaf in ast.walk(part):
            if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
                words = re.findall(r"[A-Za-z]{2,}", leaf.value)
                is_query = leaf.value.startswith("SELECT ")
                if len(words) >= WORDS and " " in leaf.value and not is_query:
                    yield leaf.lineno


@pytest.mark.slow
def test_no_folder_pins_more_sentences_than_it_did() -> None:
    counted = Counter[str]()
    for path in TESTS.rglob("*.py"):
        counted[path.relative_to(TESTS).parts[0]] += len(set(sentences(path.read_text("utf-8"))))
    grown = {
        room: f"{count}, at most {MOST.get(room, 0)}"
        for room, count in counted.items()
        if count > MOST.get(room, 0)
    }
    assert grown == {}


def test_a_sentence_is_told_from_a_code_and_a_figure() -> None:
    text = 'assert "no such disk is sold" in out\nassert code == "runs-disagree"\nassert x == "a b"'
    assert list(sentences(text)) == [1]

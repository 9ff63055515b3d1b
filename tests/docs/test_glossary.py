"""One thing has one name: no two public classes share one, and the nouns are in the glossary."""

from __future__ import annotations

import re

import pytest
from benchmarks import house_counts
from tests.docs.pages import ROOT

NOUN = re.compile(r"^\| ([\w ]+) \| (?:`(\w+)`)? ?\| (.+) \|$", re.MULTILINE)
NOUNS = [row for row in NOUN.findall((ROOT / "docs/glossary.md").read_text()) if row[0] != "noun"]


@pytest.fixture(scope="module")
def sources() -> list[house_counts.Source]:
    """All modules of the source, read once and not where the tests are only collected."""
    return house_counts.sources(ROOT / "src/diskbench")


@pytest.fixture(scope="module")
def classes(sources: list[house_counts.Source]) -> dict[str, list[str]]:
    return house_counts.classes(sources)


def test_public_classes_have_names_of_their_own(sources):
    assert house_counts.repeated_classes(sources) == {}


def test_the_glossary_has_each_noun_once_and_says_what_it_means():
    names = [noun for noun, _, _ in NOUNS]
    assert len(names) > 40
    assert len(set(names)) == len(names)
    assert all(meaning.strip() for _, _, meaning in NOUNS)


@pytest.mark.parametrize("name", [name for _, name, _ in NOUNS if name])
def test_a_noun_that_is_a_class_is_defined_once(name: str, classes):
    assert len(classes.get(name, [])) == 1

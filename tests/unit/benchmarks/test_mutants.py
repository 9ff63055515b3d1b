"""What benchmarks/mutants.py changes and copies is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.mutants import COPIED, MUTANTS, ROOT, Mutant, place_of


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_its_text_stands_once_and_its_tests_exist(mutant: Mutant) -> None:
    assert place_of(mutant, ROOT / "src" / "diskbench")
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert f"def {name}" in Path(ROOT, path).read_text("utf-8")


def test_a_copy_has_every_folder_that_tests_import() -> None:
    imported: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text("utf-8")
        imported |= set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
    assert "emulators" in imported
    missing = {one for one in imported if (ROOT / one).is_dir()} - set(COPIED)
    assert missing == set()

"""Figures in words."""

import re
from pathlib import Path

import pytest

import diskbench
from diskbench.units import counted

_OWN_PLURAL = re.compile(r"""['"]s['"] (if|\*)|else ['"]s['"]""")


@pytest.mark.parametrize(("count", "words"), [(0, "0 runs"), (1, "1 run"), (1234, "1,234 runs")])
def test_one_is_singular(count: int, words: str) -> None:
    assert counted(count, "run") == words


def test_a_plural_is_made_in_one_place_so_that_none_is_forgotten() -> None:
    root = Path(diskbench.__file__).parent
    own = [path for path in root.rglob("*.py") if _OWN_PLURAL.search(path.read_text())]
    assert own == [], "diskbench.units.counted does it"

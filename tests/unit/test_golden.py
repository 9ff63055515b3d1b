"""Words in files (tests/rigs/golden.py): compared, shown as a difference, written when asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rigs.golden import Golden, text_of


def test_what_is_said_otherwise_is_shown_as_a_difference(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    Golden(tmp_path, update=False).check("a.txt", "one \ntwo\n\n")
    with pytest.raises(AssertionError, match=r"-two\n\+three\n.*--update-golden"):
        Golden(tmp_path, update=False).check("a.txt", "one\nthree")


def test_a_file_that_is_missing_is_no_agreement(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"\+one"):
        Golden(tmp_path, update=False).check("a.txt", "one")


def test_a_file_is_written_and_the_run_fails_once(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="read its diff"):
        Golden(tmp_path, update=True).check("new/a.txt", "one\ntwo")
    Golden(tmp_path, update=False).check("new/a.txt", "one\ntwo")


def test_a_page_is_read_without_its_scripts_and_drawings() -> None:
    html = "<style>a</style><h1>Of <b>it</b></h1><script>b</script><svg><text>c</text></svg>"
    html += "<table><tr><td>1</td><td>2</td></tr></table>"
    assert text_of(html) == "Of it\n1 | 2 |"

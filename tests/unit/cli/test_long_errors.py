"""An error about a text of any length is one that can be read."""

import pytest

from diskbench.cli.messages import emit_problem
from diskbench.visible import MOST


@pytest.mark.parametrize("text", ["x" * 100_000, "a host says this. " * 9_000])
def test_no_line_of_an_error_is_longer_than_can_be_read(text, capsys):
    emit_problem("InvalidValue", f"{text}\nsecond line", text, 2)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) < MOST + 60
    assert any("second line" in line for line in lines)
    assert sum("characters more)" in line for line in lines) == 2

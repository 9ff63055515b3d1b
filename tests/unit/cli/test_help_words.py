"""The help of each command at 80 columns, in files: tests/golden/help."""

import pytest

from diskbench.cli import main
from diskbench.cli.lazy import COMMANDS


@pytest.mark.parametrize("words", ["", *COMMANDS], ids=lambda words: words or "diskbench")
def test_the_help_says_what_its_file_says(words, golden, monkeypatch, capsys):
    for name in ("TERMINAL_WIDTH", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    assert main.main([*words.split(), "--help"]) == 0
    name = "-".join(["diskbench", *words.split()])
    golden.check(f"help/{name}.txt", capsys.readouterr().out)

"""What goes to a shell is one word, whatever it holds: asked of a real shell."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from diskbench.hosts.unit import Unit, environment
from diskbench.ssh_command import ssh_command

HOSTILE = ["a b", "$(id)", "`id`", "a'b", 'a"b', "a;b", "a\\b", "*", "~", "a\nb", "-x"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_of_a_unit_is_what_the_shell_reads(tmp_path: Path, text: str) -> None:
    unit = Unit(
        trial_id="t", run_index=0, name="s", state_dir="/s", job="", work_dir=text, if_busy="wait"
    )
    (tmp_path / "unit.env").write_text(environment(unit))
    read = subprocess.run(
        ["sh", "-c", '. ./unit.env && printf %s "$work_dir"'],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert read.stdout == text


@pytest.mark.parametrize("text", HOSTILE)
def test_a_word_of_an_ssh_command_stays_one(text: str) -> None:
    line = ssh_command("host", text, user="me", config=text)
    assert shlex.split(line) == ["ssh", "-F", text, "me@host", text]

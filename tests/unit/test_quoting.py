"""What goes to a shell is one word, whatever it holds: asked of a real shell."""

import base64
import shlex
import subprocess
import zlib

import pytest

from diskbench.hosts.calls import request
from diskbench.hosts.shell import assignments
from diskbench.ssh_command import ssh_command

HOSTILE = ["a b", "$(id)", "`id`", "a'b", 'a"b', "a;b", "a\\b", "*", "~", "a\nb", "-x"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_of_a_request_is_what_the_host_reads(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = b"import json, sys; print(json.loads(sys.argv[1])['work'], end='')"
    packed = base64.b64encode(zlib.compress(program)).decode()
    monkeypatch.setattr("diskbench.hosts.calls._agent", lambda: packed)
    read = subprocess.run(
        ["sh", "-c", request("start", work=text)], capture_output=True, text=True, check=True
    )
    assert read.stdout == text


@pytest.mark.parametrize("text", HOSTILE)
def test_a_word_of_an_ssh_command_stays_one(text: str) -> None:
    line = ssh_command("host", text, user="me", config=text)
    assert shlex.split(line) == ["ssh", "-F", text, "me@host", text]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_that_is_put_before_a_script_is_what_it_reads(text: str) -> None:
    script = assignments({"value": text}) + 'printf %s "$value"'
    read = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert read.stdout == text

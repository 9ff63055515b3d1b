"""`results show` draws: by the second, percentiles; on terminals, and where there is none."""

import os
import pty
import subprocess
import sys

import pytest
from tests.rigs.synthetic import Noise, bucket, flat

from diskbench.cli import main

CLIFF = bucket(900_000, 3000, 100, 900, Noise(sd=0.0), seed=1)


@pytest.fixture
def shown(here, monkeypatch, capfd):
    """Import a series as fio's log; returns what `results show` with these flags prints."""
    monkeypatch.setenv("COLUMNS", "80")

    def show(series, *flags):
        rows = (f"{n * 1000}, {round(v)}, 0, 0, 0, 0\n" for n, v in enumerate(series, 1))
        (here / "gp2_iops.1.log").write_text("".join(rows))
        assert main.main(["results", "import", "gp2_iops.1.log"]) == 0
        capfd.readouterr()
        assert main.main(["results", "show", "-v", *flags]) == 0
        return capfd.readouterr().out

    return show


def on_a_terminal(**environment):
    """What `results show` writes to a terminal of 80 columns, its newlines as in a file."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", **environment}
    command = [sys.executable, "-m", "diskbench", "results", "show", "-v"]
    process = subprocess.Popen(command, stdout=theirs, env=environ, text=True)
    os.close(theirs)
    chunks = []
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux: the other end was closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(ours)
    assert process.wait() == 0
    return b"".join(chunks).decode().replace("\r\n", "\n")


def test_each_step_has_a_line_of_blocks_and_plots_are_drawn_when_asked_for(shown):
    [line] = [one for one in shown(CLIFF).splitlines() if "100 to 3,000" in one]
    assert line.split()[:2] == ["gp2", "read"]
    assert "█" in line
    assert "▁" in line
    out = shown(CLIFF, "--plot")
    plot = out[out.index("gp2: IOPS over 900 s") :].splitlines()
    assert plot[-1] == "│ cliff at 5:10: 3,000 → 100"
    assert max(map(len, plot)) <= 80
    assert "\x1b" not in out
    assert shown(CLIFF, "--plot", "--output", "json").startswith("{")


def test_where_there_is_no_terminal_nothing_is_drawn_unasked(shown):
    assert "IOPS over" not in shown(CLIFF)


@pytest.mark.slow
def test_on_a_terminal_a_fall_is_drawn_unasked_in_colours_and_one_level_is_not(shown):
    shown(CLIFF)
    assert "\x1b[36m" in on_a_terminal()
    plain = on_a_terminal(NO_COLOR="1")
    assert "IOPS over 900 s" in plain
    assert "\x1b[36m" not in plain
    drawn = on_a_terminal(NO_COLOR="1", PYTHONIOENCODING="ascii")
    assert "IOPS over 900 s" in drawn
    assert drawn.isascii()
    shown(flat(500, 400, Noise(sd=0.02), seed=1))
    assert "IOPS over" not in on_a_terminal()

"""A matrix on the terminal, and as a document."""

import io
import sys

import pytest
from rich.console import Console
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.cli.matrix_display import print_matrix_status, progress_table
from diskbench.engine.matrix.status import matrix_status
from diskbench.store.campaigns import load_campaign, save_campaign
from diskbench.store.clock import now

STATES = ("done", "failed", "waiting", "measuring", "spared", "refused")
NOTES = (
    None, "fio ended with 1", "the host 磁盘-1 does not answer",
    "first line\nsecond line, which is longer", f"an escape \x1b[31m and {'many words ' * 12}",
)  # fmt: skip


def filled(database, count):
    cells = [
        cell_row(
            n,
            key=f"aws/gp2-{n % 7}GiB,note={'é' * (n % 50)}#{n}",
            state=(state := STATES[n % len(STATES)]),
            error=NOTES[n % len(NOTES)],
            note="waits for the disk" if n % 4 else None,
            trial_id=f"t{n}" if state != "waiting" else None,
            # Ended, so that nothing is told that changes between two looks.
            started_at=now() if state != "waiting" else None,
            finished_at=now(),
            expected_s=None,
        )
        for n in range(count)
    ]
    save_campaign(database, campaign_row(), cells)
    return load_campaign(database, CAMPAIGN)


def shown(database, campaign, output):
    print_matrix_status(database, matrix_status(database, campaign), output)


@pytest.mark.parametrize("columns", ["50", "80", "140"])
def test_every_listed_cell_has_a_line_that_fits(database, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    shown(database, filled(database, 60), "table")
    lines = capsys.readouterr().out.splitlines()
    listed = [n for n in range(60) if STATES[n % len(STATES)] != "spared"]
    assert [int(line.split()[0]) - 1 for line in lines if line.split()[:1][0].isdigit()
            and " of " not in line] == listed  # fmt: skip
    assert not any("\x1b" in line for line in lines)


def test_on_a_terminal_the_lines_have_the_colours_of_the_table(database, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    campaign = filled(database, 60)
    monkeypatch.setattr(sys, "stdout", Terminal())
    shown(database, campaign, "table")
    lines = sys.stdout.getvalue().splitlines()
    assert sum("\x1b[31mfailed" in line for line in lines) == 60 // len(STATES)
    assert not any("\x1b[31m and" in line for line in lines), "the escape of an error is visible"


@pytest.mark.parametrize("count", [0, 1, 700])
def test_the_document_holds_every_cell(database, count, capsys):
    campaign = filled(database, count)
    shown(database, campaign, "json")
    status = matrix_status(database, campaign)
    assert type(status).model_validate_json(capsys.readouterr().out) == status
    assert len(status.cells) == count


def test_a_live_table_has_the_cells_that_matter_most_and_counts_the_others(database, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    filled(database, 120)
    console = Console(file=io.StringIO(), width=200)
    console.print(progress_table(database, CAMPAIGN))
    text = console.file.getvalue()
    assert sum(line.split()[2:3] == ["measuring"] for line in text.splitlines()) == 20
    assert "and 80 more" in text

"""A matrix of many cells is printed as a whole, and its document page by page."""

import io
import sys

import pytest
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.whole_matrix import status_of_matrix

from diskbench.cli.matrix_display import print_matrix_status
from diskbench.engine.matrix.status import look_at
from diskbench.model.ids import short
from diskbench.report.terminal.matrix_table import LISTED, matrix_table
from diskbench.report.terminal.screen import print_trimmed, screen
from diskbench.store.campaigns import load_campaign, save_campaign
from diskbench.store.cells import PAGE
from diskbench.store.clock import now
from diskbench.store.database import open_database

STATES = ("done", "failed", "waiting", "measuring", "spared", "refused")
NOTES = (
    None,
    "fio ended with 1",
    "the host 磁盘-1 does not answer",
    "first line\nsecond line, which is longer",
    f"an escape \x1b[31m and {'many words ' * 12}",
)


@pytest.fixture
def database(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    yield engine
    engine.dispose()


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


@pytest.mark.parametrize("count", [PAGE + 1])
@pytest.mark.parametrize("columns", ["", "50", "80", "140"])
def test_a_table_of_many_cells_is_that_which_rich_lays_out(
    database, count, columns, monkeypatch, capsys
):
    monkeypatch.setenv("COLUMNS", columns)
    campaign = filled(database, count)
    whole = status_of_matrix(database, campaign)
    cells = tuple(cell for cell in whole.cells if cell.row.state in LISTED)
    print_trimmed(screen(), matrix_table(whole.model_copy(update={"cells": cells})))
    expected = capsys.readouterr().out
    assert short(CAMPAIGN) in expected.splitlines()[0]
    print_matrix_status(look_at(database, campaign), "table")
    assert capsys.readouterr().out.splitlines() == expected.splitlines()


def test_on_a_terminal_the_lines_have_the_colours_of_the_table(database, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    campaign = filled(database, 2 * PAGE)
    monkeypatch.setattr(sys, "stdout", Terminal())
    print_matrix_status(look_at(database, campaign), "table")
    lines = sys.stdout.getvalue().splitlines()
    assert sum("\x1b[31mfailed" in line for line in lines) == len(range(1, 2 * PAGE, len(STATES)))
    assert not any("\x1b[31m and" in line for line in lines), "the escape of an error is visible"


@pytest.mark.parametrize("count", [0, 1, PAGE + 1])
def test_a_document_of_many_cells_is_that_of_the_whole(database, count, capsys):
    campaign = filled(database, count)
    print_matrix_status(look_at(database, campaign), "json")
    whole = status_of_matrix(database, campaign)
    printed = type(whole).model_validate_json(capsys.readouterr().out)
    assert printed == whole
    assert len(printed.cells) == count

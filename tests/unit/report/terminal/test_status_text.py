"""Tables of cells, workers and leases at every width, and that of the doctor."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from tests.rigs.plans import make_plan

from diskbench.model import campaign
from diskbench.model.finding import Finding
from diskbench.report.assemble.words import cut
from diskbench.report.terminal.status_text import ORDER, cell_table, finding_lines, fleet_table

LONG = "sqlite:////a/very/long/path/that/nobody/wants/to/read/but/copy/rows.db:"


def finding(told: str, advice: str = "", state: str = "ok") -> Finding:
    return Finding(check="clock", where="this machine", state=state, told=told, advice=advice)


def test_columns_are_as_wide_as_their_widest_cell_and_words_are_wrapped():
    why = "not synchronised by anybody, and nobody knows since when that has been so"
    found = [finding("agrees"), finding(why, "start timesyncd", "warning")]
    assert list(finding_lines(found)) == [
        "ok       clock  this machine  agrees",
        "warning  clock  this machine  not synchronised by anybody, and nobody knows",
        "                              since when that has been so",
        "                              → start timesyncd",
    ]


def test_no_line_is_longer_than_the_terminal_and_a_path_is_never_broken():
    words = "word " * 100
    for width in (80, 100, 200):
        lines = list(finding_lines([finding(words, words)], width=width))
        assert max(len(line) for line in lines) <= width
    lines = list(finding_lines([finding(f"{LONG} there is none")]))
    assert lines[1] == f"    {LONG}"
    assert max(len(line) for line in lines) <= 80
    assert list(finding_lines([])) == []


STEP = "rand-read-4k-qd1-of-a-vendor-with-a-long-name: 1,234 IOPS, run 2 of 3, 12 min 30 s left"
NAMES = ["lab/quick", "aws/eu-central-1/m5.large/gp3-100GiB-iops3000-tp125/quick,runtime=30"]
WIDTHS = [60, 80, 100, 120]


def cells(name, doing):
    for position, state in enumerate(ORDER):
        row = campaign.CellRow(
            campaign_id="c", position=position + 120, key=f"{name}#{position + 10}", block="b",
            route="lab", partition="lab", cell=make_plan().cell, state=state,
        )  # fmt: skip
        yield campaign.CellStatus(row=row, doing=doing)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("doing", ["", STEP, STEP * 9])
def test_a_long_step_text_cuts_no_number_state_or_replicate(name, doing, width):
    out, of = io.StringIO(), list(cells(name, doing))
    longest = max(len(cell.row.key) for cell in of)
    Console(file=out, width=width).print(cell_table(of, longest))
    _, *lines = out.getvalue().splitlines()
    assert len(lines) == len(of)
    for cell, line in zip(of, lines, strict=True):
        assert len(line) <= width
        number, key, state, *_ = line.split()
        assert (number, state) == (str(cell.row.position + 1), cell.row.state)
        assert key.endswith(cell.row.key.rpartition("#")[2])
        assert not doing or line.rstrip()[-1] in f"…{doing[-1]}"


@pytest.mark.parametrize("width", WIDTHS)
def test_status_shows_every_column_of_every_row(width):
    document = campaign.FleetDocument.model_construct(
        workers=(campaign.WorkerSeen.model_construct(
            name="worker-" + "x" * 40, hostname="h" * 60, pid=12345, queues=("q" * 90,), running=1,
            concurrency=2, beat_age_s=4.0, alive=False, draining=False),),
        queues=(),
        cells=(campaign.CellSeen.model_construct(
            name=f"{NAMES[1]}#12", state="measuring", doing=STEP, age_s=4000.0, worker="w" * 50),),
        leases=(campaign.LeaseSeen.model_construct(
            lease_id="01m84gwkh7y6j9xb6q4ky01vd4", provider="aws", region="r" * 60, age_s=4000.0,
            usd=1.25, in_use=False, error="e" * 300),),
        usd=1.25, unpriced=0,
    )  # fmt: skip
    out = io.StringIO()
    Console(file=out, width=width).print(fleet_table(document))
    lines = out.getvalue().splitlines()
    for whole in ("1 of 2", "dead", "#12", "measuring", "1 h 07 min", "$1.25"):
        assert sum(whole in line for line in lines), whole
    assert max(map(len, lines)) <= width


@given(st.text(), st.integers(1, 40), st.booleans())
def test_a_cut_text_is_never_wider_than_its_column(text, width, middle):
    shown = cut(text, width, middle=middle)
    assert cell_len(shown) <= width
    assert shown == text or "…" in shown

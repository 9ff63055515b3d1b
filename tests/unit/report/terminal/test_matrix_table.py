"""A running matrix on a terminal of 80 columns."""

import io

from rich.console import Console
from tests.rigs.plans import make_plan

from diskbench.model.campaign import CellRow, CellStatus, MatrixStatus
from diskbench.model.ids import short
from diskbench.report.terminal.matrix_table import matrix_table

CAMPAIGN = "01m84gwkh7y6j9xb6q4ky01vd4"
KEY = "lab/gp2-20GiB/quick#0"


def printed(doing):
    row = CellRow(
        campaign_id=CAMPAIGN, position=0, key=KEY, block="b", route="lab", partition="lab",
        cell=make_plan().cell, state="measuring",
    )  # fmt: skip
    seen = MatrixStatus(
        campaign_id=CAMPAIGN, name="two", state="running", created_at="2026-11-21T10:00:00+00:00",
        max_parallel=1, counts={"measuring": 1}, spent_usd=0.0,
        cells=(CellStatus(row=row, doing=doing),),
    )  # fmt: skip
    out = io.StringIO()
    Console(file=out, width=80).print(matrix_table(seen))
    return out.getvalue().splitlines()


def test_a_long_note_does_not_cut_the_name_of_its_cell():
    lines = printed(f"lab host 127.0.0.1 is up with /dev/disk/by-id/{'x' * 80}")
    assert sum(KEY in line for line in lines) == 1
    assert max(map(len, lines)) <= 80


def test_the_matrix_is_named_by_its_short_id():
    assert printed("")[0].split() == ["matrix", "two", short(CAMPAIGN)]

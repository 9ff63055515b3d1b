"""The seconds of many runs on one page."""

import re
import shutil

import pytest

from diskbench.cli import main
from diskbench.model.ids import short

pytestmark = pytest.mark.slow


@pytest.fixture
def imported(here, capsys):
    """Five runs of two minutes, the last of which falls and stalls; their ids, oldest first."""
    ids = []
    for number in range(5):
        place = here / f"run-{number}"
        place.mkdir()
        rates = [1000 + 100 * number] * 150
        if number == 4:
            rates = [3000] * 80 + [100] * 40 + [0] * 3 + [100] * 57
        rows = [
            f"{1000 * second}, {rate}, 0, 0, 0, 0\n" for second, rate in enumerate(rates, 1) if rate
        ]
        log = place / "disk_iops.1.log"
        log.write_text("".join(rows))
        assert main.main(["results", "import", str(log), "--label", "of=many"]) == 0
        ids += capsys.readouterr().out.split()
    return ids


def test_all_runs_are_one_picture_and_the_telling_ones_are_drawn_in_full(imported, tmp_path):
    path = tmp_path / "many.html"
    assert main.main(["report", "of=many", "-q", "-o", str(path)]) == 0
    page = path.read_text()
    titles = re.findall(r"<strong>([^<]*)</strong>", page)
    assert "disk: all runs second by second" in titles
    for why in ("the middle", "the lowest", "the highest"):
        assert f"disk: {why} of 5 runs" in titles
    told = re.findall(r'aria-label="(run [^"]* · \d: disk · [^"]*)"', page)
    assert sorted(re.search(r"run (\w+)", one)[1] for one in told) == sorted(map(short, imported))
    [fallen] = [one for one in told if short(imported[4]) in one]
    assert re.search(r"fell at 1:(19|20|21)", fallen)
    assert "stalled for 3 s" in fallen


def test_series_are_made_on_import_and_a_lost_one_costs_only_its_row(imported, tmp_path):
    for run_id in imported:
        kept = {one.name for one in (tmp_path / "evidence/runs" / run_id / "derived").iterdir()}
        assert any("series" in name for name in kept), kept
        assert any("phases" in name for name in kept), kept
    shutil.rmtree(tmp_path / "evidence" / "runs" / imported[0])
    path = tmp_path / "many.html"
    assert main.main(["report", "of=many", "-q", "-o", str(path)]) == 0
    assert "n = 4 runs" in path.read_text()

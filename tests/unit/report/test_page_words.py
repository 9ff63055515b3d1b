"""Every word of the page, in files: tests/golden/page."""

from __future__ import annotations

import pytest
from tests.rigs.golden import Golden, text_of
from tests.unit.report.made import row
from tests.unit.report.reported import DOUBT, PRICE, fallen, judged, report, trial, verdict

from diskbench.report.page.page import page

pytestmark = pytest.mark.slow
PAGES = {
    "fallen.txt": lambda: report(trial(verdicts=(fallen(),), price=PRICE)),
    "doubted.txt": lambda: report(
        trial(verdicts=(verdict(judged(90000.0), trust="no", reasons=(DOUBT,)),))
    ),
    "bare.txt": lambda: report(trial(verdicts=(verdict(judged(1.0)),))),
    "one-row.txt": lambda: report(trial([row()])),
    "no-rows.txt": lambda: report(trial([])),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_says_what_its_file_says(golden: Golden, name: str) -> None:
    golden.check(f"page/{name}", text_of(page(PAGES[name]())))

"""Which runs are old enough to lose their raw logs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from diskbench.model.result import FINAL_STATES
from diskbench.model.run import RUN_FIELDS, Run
from diskbench.results.pruning import is_due

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY_S = 86_400.0
RUN = Run(
    **dict.fromkeys(RUN_FIELDS)
    | {
        "run_id": "r", "trial_id": "t", "state": "done", "imported": False,
        "created_at": "2020-01-01T00:00:00.000000+00:00",
    }
)  # fmt: skip


def ended(days, **changes):
    return replace(RUN, finished_at=(AT - timedelta(days=days)).isoformat(), **changes)


UNDATED = replace(RUN, finished_at=None)
IMPORT = replace(UNDATED, imported=True)


@pytest.mark.parametrize(
    ("run", "goes_on", "due"),
    [
        (ended(29.9), (), False), (ended(30), (), False), (ended(30.1), (), True),
        (ended(-1), (), False),
        *((ended(400, state=state), (), True) for state in FINAL_STATES),
        *((ended(400, state=state), (), False) for state in ("planned", "running", "suspended")),
        (ended(400), {"t"}, False), (ended(400), {"another"}, True),
        (UNDATED, (), False),
        (IMPORT, (), True), (replace(IMPORT, created_at=AT.isoformat()), (), False),
    ],
)  # fmt: skip
def test_a_run_is_due_when_it_or_its_undated_import_ended_longer_ago_than_is_kept(
    run, goes_on, due
):
    assert is_due(run, goes_on, 30 * DAY_S, AT) is due

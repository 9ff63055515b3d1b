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


@pytest.mark.parametrize(("days", "due"), [(29.9, False), (30, False), (30.1, True), (-1, False)])
def test_a_run_is_due_when_it_ended_longer_ago_than_is_kept(days, due):
    assert is_due(ended(days), (), 30 * DAY_S, AT) is due


@pytest.mark.parametrize("state", ["planned", "running", "suspended", *FINAL_STATES])
def test_a_run_that_ended_in_any_way_is_due_and_no_other(state):
    assert is_due(ended(400, state=state), (), 30 * DAY_S, AT) is (state in FINAL_STATES)


def test_a_run_of_a_trial_that_goes_on_is_not_due():
    assert not is_due(ended(400), {"t"}, 0, AT)
    assert is_due(ended(400), {"another"}, 0, AT)


def test_an_end_that_nobody_knows_is_not_long_ago():
    assert not is_due(replace(RUN, finished_at=None), (), 0, AT)


def test_an_import_without_a_date_counts_from_its_import():
    undated = replace(RUN, finished_at=None, imported=True)
    assert is_due(undated, (), 30 * DAY_S, AT)
    assert not is_due(replace(undated, created_at=AT.isoformat()), (), 30 * DAY_S, AT)

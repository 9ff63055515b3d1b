"""How many cells may begin in a minute."""

import pytest
from tests.rigs.matrix_rows import cell_row

from diskbench.model.matrix import Limits
from diskbench.plan.admit import AdmissionMoment, admit

NOW = "2026-11-21T12:00:00.000000+00:00"
JUST_NOW = "2026-11-21T11:59:30.000000+00:00"
A_MINUTE_AGO = "2026-11-21T11:59:00.000000+00:00"


def begun(cells, **rates):
    limits = Limits(max_parallel=99, calls_per_minute=rates)
    return admit(cells, limits, AdmissionMoment(now=NOW, elapsed_s=600.0)).begin


def test_no_more_begin_than_the_rate_of_their_provider_lets():
    cells = [*(cell_row(n) for n in range(3)), cell_row(3, provider="gcp", partition="gcp/x")]
    assert begun(cells, aws=2) == (0, 1, 3)


@pytest.mark.parametrize("state", ["measuring", "done", "failed"])
def test_those_of_the_last_minute_count_whatever_became_of_them(state):
    cells = [cell_row(0, state=state, queued_at=JUST_NOW), cell_row(1)]
    assert begun(cells, aws=1) == ()


def test_those_of_a_minute_ago_count_no_more():
    cells = [cell_row(0, state="measuring", queued_at=A_MINUTE_AGO), cell_row(1)]
    assert begun(cells, aws=1) == (1,)


def test_a_region_has_a_rate_of_its_own():
    cells = [cell_row(0), cell_row(1), cell_row(2, partition="aws/eu-west-1")]
    assert begun(cells, **{"aws/us-east-1": 1}) == (0, 2)

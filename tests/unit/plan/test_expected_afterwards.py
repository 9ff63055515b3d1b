"""What steps that nobody planned should have got, from what they did."""

import pytest
from tests.books import SHIPPED

from diskbench.model.expectation import Load
from diskbench.plan.as_disk import limit_paths_of_words
from diskbench.plan.expected_afterwards import PastStep, expected_afterwards

LOAD = Load(block_bytes=4096, depth=32)


def test_credit_is_charged_with_what_was_done_before():
    path = limit_paths_of_words("aws:gp2:20", None, SHIPPED)[0].path
    first, second, third = expected_afterwards(
        path, [PastStep(LOAD, 3000, 931), PastStep(LOAD, 3000, 931), PastStep(LOAD, 100, 60)]
    )
    assert first.credit["disk-iops"] == 1
    assert second.credit["disk-iops"] == pytest.approx(0.5, abs=0.01)
    assert third.credit["disk-iops"] == pytest.approx(0.0, abs=0.01)
    assert first.expected.begin.iops == 3000


def test_an_idle_time_gives_credit_back():
    path = limit_paths_of_words("aws:gp2:20", None, SHIPPED)[0].path
    *_, after = expected_afterwards(
        path, [PastStep(LOAD, 3000, 1862), PastStep(LOAD, 3000, 60, idle_s=27_000)]
    )
    assert after.credit["disk-iops"] == pytest.approx(0.5, abs=0.01)


def test_a_slow_step_leaves_credit_that_a_full_load_would_have_spent():
    path = limit_paths_of_words("aws:gp2:20", None, SHIPPED)[0].path
    *_, after = expected_afterwards(path, [PastStep(LOAD, 90, 3600), PastStep(LOAD, 3000, 60)])
    assert after.credit["disk-iops"] == 1


def test_a_step_of_which_nothing_is_known_is_promised_nothing():
    path = limit_paths_of_words("aws:gp2:20", None, SHIPPED)[0].path
    assert expected_afterwards(path, [PastStep(None, 3000, 60)]) == [None]


def test_a_machine_named_with_the_disk_limits_it_too():
    path = limit_paths_of_words("aws:io1:100:iops=5000", "c4.xlarge", SHIPPED)[0].path
    (found,) = expected_afterwards(path, [PastStep(Load(block_bytes=2**20, depth=8), 89, 60)])
    assert found.expected.begin.limited_by == "vm-throughput"

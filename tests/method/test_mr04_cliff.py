"""MR-4: cliffs are found where they are, and nowhere else; what stalls is told apart from them.

The rates are those that benchmarks/method.py prints, held to their bounds; each case has its own
seed."""

import pytest
from benchmarks.method import alarms, cliffs, phases, stalled
from tests.rigs.synthetic import Noise, steps


def test_a_fall_of_a_fifth_with_a_minute_or_nearly_on_both_sides_is_a_cliff():
    for first, last, count in [
        ((1000, 600), (700, 600), 1),
        ((1000, 600), (900, 600), 0),
        ((3000, 70), (100, 600), 1),
        ((3000, 15), (100, 600), 0),
    ]:
        assert len(phases(steps([first, last], Noise(0.02), seed=3)).cliffs) == count


CASES = (20, 50)
"""Of a kind; all of the fewer ones are among the more. `script/test --all` alone has the more."""


@pytest.mark.slow
@pytest.mark.parametrize("cases", CASES)
@pytest.mark.parametrize("rates", [cliffs, alarms, stalled])
def test_cliffs_are_found_noise_raises_no_alarm_and_stalls_are_found_to_the_second(rates, cases):
    assert [rate.line() for rate in rates(cases) if not rate.holds] == []

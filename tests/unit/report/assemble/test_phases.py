"""What a person reads of phases."""

import pytest
from tests.rigs.synthetic import Noise, flat, settling, steps, with_stalls

from diskbench.analysis.phases import step_phases
from diskbench.report.assemble.phases import MOST_LINES, cliff_words, clock, phase_lines

QUIET = Noise(sd=0.0)
FLAT = flat(1000, 600, QUIET, seed=1)


def of(values, step="read", run="r1", **more):
    found = step_phases(values, values * 4096)
    return found.model_copy(update={"step": step, "run_id": run, **more})


def cliff(step="read", run="r1"):
    return of(steps([(3000, 1862), (100, 600)], QUIET, seed=1), step, run)


def test_each_phase_has_a_line_with_its_level_and_its_time():
    assert phase_lines([cliff()]) == [
        "read: steady (baseline)",
        "  burst     0:00–31:02  3,000 IOPS  12.3 MB/s",
        "  baseline 31:02–41:02    100 IOPS  0.41 MB/s",
    ]


def test_a_ramp_tells_where_it_comes_from_and_goes_to():
    [_, ramp, level] = phase_lines([of(settling(2500, 1000, 150, 1800, QUIET, seed=1))])
    assert " → " in ramp
    assert level.split()[0] == "level"


def test_stalls_are_counted_and_the_longest_are_told_in_order():
    stalls = [(10, 11), (60, 62), (100, 103), (200, 204)]
    *_, told = phase_lines([of(with_stalls(FLAT, stalls))])
    assert told == "  4 stalls, 10 s in all, the longest: 2 s at 1:00, 3 s at 1:40, 4 s at 3:20"
    assert phase_lines([of(with_stalls(FLAT, [(60, 62)]))])[-1] == "  1 stall: 2 s at 1:00"


def test_of_several_runs_only_what_happened_is_told_with_the_run_it_happened_in():
    assert phase_lines([of(FLAT[:100])]) == [], "a short step of one level"
    level = of(FLAT, run="r1")
    assert phase_lines([level, cliff(run="r2")])[0] == "read (run 2): steady (baseline)"
    assert phase_lines([of(FLAT, rounds=10)])[0] == "read: steady in 10 rounds"


@pytest.mark.slow
def test_many_steps_are_cut_short_and_the_rest_counted():
    lines = phase_lines([cliff(step=f"s{i}") for i in range(30)])
    assert len(lines) <= MOST_LINES + 1
    assert lines[-1] == "22 more steps with phases (all: --output json)"


def test_a_cliff_is_said_in_words_on_a_clock():
    told = "burst of 3,000 IOPS for 31:02 in read, then a baseline of 100 IOPS"
    assert cliff_words([cliff()]) == told
    assert cliff_words([of(FLAT)]) == ""
    assert cliff_words([of(steps([(100, 600), (3000, 600)], QUIET, seed=1))]) == ""
    # Hours are told only where there are some.
    assert [clock(0), clock(59.6), clock(3599), clock(3600)] == ["0:00", "1:00", "59:59", "1:00:00"]

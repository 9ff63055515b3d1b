"""What one number stands for a step, on courses whose levels are known."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.synthetic import Noise, flat, settling, steps, with_stalls
from tests.unit.report.made import row

import diskbench
from diskbench.analysis.figure import Figure, figure_of, levels_of, middle, of_one_level, of_rounds
from diskbench.analysis.phases import step_phases
from diskbench.analysis.row_figures import step_figure

STILL = Noise(sd=0.0)
QUIET = Noise(sd=0.03, phi=0.5)


def course(values, **more):
    return step_phases(values, values * 4096).model_copy(update=more)


def figure(values, *, share=None, **more):
    counted = [Figure(float(values.mean()), float(values.mean()) * 4096)]
    return figure_of(counted, course(values, **more), share or (1.0, 1.0))


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=12), st.booleans())
def test_the_middle_is_one_of_the_values_and_never_a_mean(values, worst_is_high):
    found = middle(values, worst_is_high=worst_is_high)
    assert found in values
    assert sum(one <= found for one in values) * 2 >= len(values)
    assert sum(one >= found for one in values) * 2 >= len(values)


def test_of_two_the_worse_one_is_told_and_of_rounds_the_last_five_count():
    assert middle([3000, 2000]) == 2000
    assert middle([3.0, 2.0], worst_is_high=True) == 3.0
    with pytest.raises(ValueError, match="no value"):
        middle([])
    assert of_rounds([9000, 100, 101, 102, 103, 104]) == 102
    assert of_rounds([100, 300]) == 100


@pytest.mark.parametrize(("read_s", "iops"), [(60, 3000), (58, 3000), (10, 1750)])
def test_directions_that_ran_for_different_times_have_the_mean_over_all_of_it(read_s, iops):
    """1,500 IOPS each; together they are 3,000 only while both run."""

    def of(direction, seconds):
        done = {"ios": 1500 * seconds, "bytes": 1500 * seconds * 4096}
        rate = {"iops": 1500.0, "bytes_per_s": 1500.0 * 4096}
        return row(direction=direction, runtime_ns=seconds * 10**9, **done, **rate)

    found = step_figure([of("read", read_s), of("write", 60)], None)
    assert (found.iops, found.bytes_per_s) == (iops, iops * 4096)


def test_of_one_level_it_is_what_fio_counted_and_of_a_dip_that_recovers_the_longest_level():
    found = figure(flat(1000, 900, QUIET, seed=1))
    assert (found.level, found.iops) == (None, pytest.approx(1000, rel=0.01))
    assert figure(steps([(1000, 900), (500, 300), (1000, 600)], STILL, seed=5)).iops == 1000


def test_after_a_cliff_it_is_the_level_that_lasts_and_of_a_direction_its_share_of_that():
    found = figure(steps([(3002, 186), (100, 417)], STILL, seed=1))
    assert (found.iops, found.kind, found.crosses) == (100, "baseline", True)
    values = steps([(3000, 200), (100, 200)], STILL, seed=1)
    values[199:202] = (2100, 1500, 800)
    burst, baseline = levels_of(course(values))
    assert (burst.iops, baseline.iops) == (3000, 100), "without the second of the fall"
    found = figure(steps([(3000, 600), (100, 600)], STILL, seed=1), share=(0.7, 0.5))
    assert (found.iops, found.bytes_per_s) == (pytest.approx(70), pytest.approx(50 * 4096))


def test_stalls_count_as_the_seconds_that_they_are_at_the_level_that_lasts_too():
    values = with_stalls(flat(2997, 600, STILL, seed=1), [(250, 341)])
    (whole, only) = figure(values), figure_of([], course(values))
    assert (whole.level, whole.iops) == (None, pytest.approx(2997 * 509 / 600))
    assert only.iops == pytest.approx(2997 * 509 / 600, rel=0.003)
    values = with_stalls(steps([(3000, 600), (100, 600)], STILL, seed=1), [(800, 830)])
    assert figure(values).iops == pytest.approx(100 * 570 / 600, rel=0.01)


def test_what_a_step_settled_at_is_its_figure_and_of_rounds_past_a_cliff_the_last_five():
    found = figure(settling(2500, 1000, 200, 1800, QUIET, seed=6))
    assert found.iops == pytest.approx(1000, rel=0.06)
    assert (found.kind, found.crosses) == ("level", False)
    values = steps([(3000, 1862), (100, 900)], STILL, seed=1)
    counted = [Figure(value, value * 4096) for value in (3000.0, 98.0, 99.0, 100.0, 101.0, 102.0)]
    found = figure_of(counted, course(values, rounds=6))
    assert (found.iops, found.kind, found.crosses) == (100, "baseline", False)


def test_runs_at_the_baseline_make_the_figure_of_a_trial():
    assert of_one_level(["burst", "burst", "baseline"]) == [2]
    assert of_one_level([None, None]) == [0, 1]
    fell = [3011.0, 3013.0, 3007.0, 3011.0, 107.0, 103.0, 109.0]
    assert of_one_level([None] * 7, fell) == [4, 5, 6]


def test_the_number_of_rounds_that_count_stands_in_one_place():
    source = Path(diskbench.__file__).parent
    found = [
        f"{path.relative_to(source)}: {target.id}"
        for path in source.rglob("*.py")
        if "ROUNDS" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in ("ROUNDS", "WINDOW_ROUNDS")
    ]
    assert found == ["analysis/steady.py: ROUNDS"]


def test_no_surface_takes_a_median_of_runs_of_its_own():
    """`statistics.median` is the mean of the two in the middle: of machines, never of runs."""
    source = Path(diskbench.__file__).parent
    found = sorted(
        str(path.relative_to(source))
        for room in ("report", "cli", "engine", "results")
        for path in (source / room).rglob("*.py")
        if "statistics" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        and node.module == "statistics"
        and any(each.name in ("median", "fmean", "mean") for each in node.names)
    )
    assert found == sorted(MEDIANS)


MEDIANS = [
    "results/history.py",  # of the machines of a time
    "results/measured_disks.py",  # of trials, each of a machine of its own
    "results/step_groups.py",  # of the block sizes of a log
    "results/verdicts.py",  # of runs, for how much they vary: no figure of a step
    "report/charts/bars.py",  # of machines, and of bars, for the one that dwarfs them
    "report/charts/history.py",  # of times
    "report/charts/promised.py",  # of machines
    "report/published/beside.py",  # of runs, as posts give their means
    "report/terminal/screen.py",  # of what a character stands for
]

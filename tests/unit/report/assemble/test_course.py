import numpy as np
import polars as pl
import pytest
from tests.unit.report.inside import expectation, series
from tests.unit.report.made import plan, step

from diskbench.model.expectation import CreditRange, PlanExpectation, StepExpectation
from diskbench.model.spec import Loop
from diskbench.report.assemble.course import courses


def test_a_course_holds_every_second_but_the_last_unwhole_one():
    [found] = courses(series([3000] * 20 + [5]))
    assert found.seconds == 20
    assert found.tracks["read"].iops.tolist() == [3000.0] * 20


def test_a_short_step_keeps_its_last_second():
    [found] = courses(series([3000] * 5))
    assert found.seconds == 5


def test_rounds_lie_after_each_other_without_their_last_seconds():
    rounds = [series([k] * 12, index=k, of_round=k) for k in (1, 2, 3)]
    [found] = courses(pl.concat(rounds))
    assert found.rounds == (0, 11, 22)
    assert found.seconds == 11 + 11 + 12 - 1
    assert found.tracks["read"].iops[[0, 10, 11, 22]].tolist() == [1, 1, 2, 3]


def test_a_direction_that_did_nothing_is_left_out_and_what_is_not_known_is_nan():
    read = series([100, 0, 100])
    write = series([0, 0, 0], latency=False).with_columns(direction=pl.lit("write"))
    [found] = courses(pl.concat([read, write]))
    assert set(found.tracks) == {"read"}
    assert np.isnan(found.tracks["read"].p50_ns[1])
    assert found.total("iops").tolist() == [100, 0, 100]


def test_steps_that_are_not_wanted_are_left_out():
    frame = pl.concat([series([1] * 9, step="fill", index=0), series([1] * 9, index=1)])
    assert [one.step for one in courses(frame, is_selected=lambda name: name != "fill")] == [
        "burst"
    ]


def test_a_frame_without_rows_has_no_courses():
    assert courses(pl.DataFrame()) == ()


def foreseen(gone_s=None, lasts_s=310.0):
    credits_ = CreditRange(
        bucket="disk-iops",
        gone_s=gone_s,
        earliest_s=gone_s and gone_s - 20,
        latest_s=gone_s and gone_s + 30,
        full_load_s=310,
        run=1,
        step="burst",
    )
    return PlanExpectation(
        expectations=(expectation(lasts_s=lasts_s),),
        steps=(StepExpectation(index=1, name="burst", start_s=8, seconds=900, load=0),),
        credits=(credits_,),
    )


def planned(found):
    return plan(steps=(step(0, "fill", role="fill"), step(1, "burst"))).model_copy(
        update={"expectation": found}
    )


def test_the_predicted_cliff_is_on_the_clock_of_its_step():
    [found] = courses(series([3000] * 900), plan=planned(foreseen(gone_s=318.0)))
    assert found.predicted is not None
    assert (found.predicted.earliest_s, found.predicted.at_s, found.predicted.latest_s) == (
        290,
        310,
        340,
    )


def test_without_a_simulated_run_the_credit_of_the_step_alone_tells_the_cliff():
    [found] = courses(series([3000] * 900), plan=planned(foreseen(lasts_s=250.0)))
    assert found.predicted is not None
    assert found.predicted.at_s == 250


def test_a_cliff_beyond_the_end_of_the_step_is_not_predicted_in_it():
    [found] = courses(series([3000] * 200), plan=planned(foreseen(gone_s=318.0)))
    assert found.predicted is None
    assert found.expected is not None


def test_a_run_without_a_plan_expects_nothing():
    [found] = courses(series([3000] * 200))
    assert found.expected is None
    assert found.predicted is None


@pytest.mark.parametrize(("index", "place"), [(0, 0), (1, 1), (2, 2), (3, 1), (4, 2), (9, 1)])
def test_a_step_of_a_later_round_has_its_place_in_the_plan(index, place):
    looped = plan(
        steps=tuple(step(k, name) for k, name in enumerate(("fill", "a", "b"))),
        loop=Loop(first=1, tracked="a", direction="read"),
    )
    assert looped.place_of(index) == place
    assert looped.expected_of(index) is None


def test_of_an_imported_run_what_was_said_of_its_disk_is_expected():
    [found] = courses(series([3000] * 900), expectations={1: expectation(lasts_s=250.0)})
    assert found.expected is not None
    assert found.predicted is not None
    assert found.predicted.at_s == 250

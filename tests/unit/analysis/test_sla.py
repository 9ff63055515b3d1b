"""The search for the highest rate within a latency target halves, ends, and tells its interval."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report.made import result, row

from diskbench.analysis.sla import keeps, needed_ios, next_share, slas_of
from diskbench.model.doubts import doubt_of
from diskbench.model.spec import Search, Step
from diskbench.model.threshold import Threshold

TARGET = Threshold.parse("p99 < 2ms")


def search(precision=0.02, target=TARGET):
    steps = tuple(f"probe-{n}" for n in range(1, 10))
    return Search(capacity="capacity", steps=steps, target=target, precision=precision, beyond=100)


def probed(step, iops, p99_ms, *codes):
    """A step of one row that did so many reads a second, with doubts by their codes."""
    ns = None if p99_ms is None else p99_ms * 1e6
    doubts = tuple(doubt_of(code).warning("") for code in codes)
    made = Step(index=0, name=step, role="offered", job="", expected_s=1.0)
    return result(made, row(step, iops=iops, p99_ns=ns), warnings=doubts)


def probes(*kept, capacity=3000):
    """A run whose probes kept to the target or did not; a text is the doubt in one that did not."""
    steps = [probed("capacity", capacity, 90.0)]
    for number, did in enumerate(kept, start=1):
        doubts = (did,) if isinstance(did, str) else ()
        steps.append(probed(f"probe-{number}", 1000, 1.0 if did is True else 9.0, *doubts))
    return steps


@pytest.mark.parametrize(
    ("target", "ios"),
    [("p99 < 2ms", 10_000), ("p99.9 < 2ms", 100_000), ("p50 < 2ms", 200), ("mean < 2ms", 10_000)],
)
def test_a_probe_lasts_until_100_ios_lie_beyond_its_percentile(target, ios):
    assert needed_ios(Threshold.parse(target), 100) == ios


@pytest.mark.parametrize(
    ("kept", "share"),
    [
        ((), 0.5), ((True,), 0.75), ((True, False), 0.625), ((False, True), 0.375),
        (("steal",), 0.5), (("steal", True), 0.75), (("steal", "steal"), 0.25),
        ((True, "other-io", False), 0.625), (("too-short",), 0.25),
    ],
)  # fmt: skip
def test_the_share_is_halved_and_a_miss_of_a_disturbed_machine_is_tried_once_more(kept, share):
    assert next_share(search(), probes(*kept)) == share


@given(st.floats(0.02, 1.0), st.sampled_from([0.005, 0.02, 0.1]))
def test_it_ends_with_the_knee_in_an_interval_of_the_asked_width(knee, precision):
    kept, tried = [], []
    asked = search(precision).model_copy(
        update={"steps": tuple(f"probe-{n}" for n in range(1, 20))}
    )
    while (share := next_share(asked, probes(*kept))) is not None:
        tried.append(share)
        kept.append(share <= knee)
    low = max((s for s, did in zip(tried, kept, strict=True) if did), default=0.0)
    high = min((s for s, did in zip(tried, kept, strict=True) if not did), default=1.0)
    assert low <= knee <= high
    assert high - low <= precision * high or high <= precision
    assert len(tried) <= 14


def test_a_disk_that_never_keeps_to_it_is_given_up():
    kept = []
    while next_share(search(), probes(*kept)) is not None:
        kept.append(False)
    assert len(kept) == 6  # 1/64 of the capacity


def test_each_direction_or_the_one_that_is_named_has_to_keep_to_the_target_with_enough_ios():
    rows = [row("x", iops=700, p99_ns=1e6), row("x", iops=300, p99_ns=3e6, direction="write")]
    assert not keeps(TARGET, rows)
    assert keeps(Threshold.parse("read p99 < 2ms"), rows)
    assert not keeps(Threshold.parse("write p99 < 2ms"), rows)
    assert not keeps(TARGET, [row("x", iops=700, p99_ns=None)])
    assert not keeps(TARGET, [])


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([("capacity", 3000, 9.0), ("probe-1", 1500, 1.0), ("probe-2", 2250, 5.0),
          ("probe-3", 1875, 1.9)], (1875, 2250, 3)),
        # 1,500 were offered, and 980 served: that is no rate that it missed the target at.
        ([("capacity", 2000, 9.0), ("probe-1", 990, 1.0), ("probe-2", 980, 1.0, "saturated")],
         (1000, 1500, 2)),
        ([("capacity", 3000, 9.0), ("probe-1", 1500, 9.0, "steal"), ("probe-2", 1500, 1.0)],
         (1500, None, 2)),
        ([("capacity", 3000, 9.0), ("probe-1", 1500, 9.0, "steal")], (0, 1500, 1)),
        ([("probe-1", 1500, 1.0)], (1500, None, 1)),
        ([("probe-1", 1500, 9.0)], (0, 1500, 1)),
    ],
    ids=["kept and missed", "saturated", "kept when repeated", "ended before it was repeated",
         "all kept", "none kept"],
)  # fmt: skip
def test_the_result_is_the_highest_that_kept_and_the_lowest_that_did_not(steps, found):
    sla = slas_of(search(), {"run": [probed(*step) for step in steps]})["run"]
    assert (sla.iops, sla.missed_iops, sla.probes) == found


def test_no_probe_offers_more_than_lasts_without_credit():
    bursts = search().model_copy(update={"lasting_iops": 100.0})
    assert 0.75 < next_share(bursts, probes(*[True] * 4, capacity=125.0)) < 0.8


def test_a_run_that_ended_before_its_first_probe_has_no_result():
    assert slas_of(search(), {"run": [probed("capacity", 1500, 9.0)]}) == {}

"""Whether a figure is trusted: the heaviest of its reasons decides.

Which figure stands for a run, and for the runs of a trial, in a list.
"""

from __future__ import annotations

import pytest

from diskbench.analysis.trust import headline_step, of_trial, over_runs, reasons_of, trust
from diskbench.model.processor import Processor
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.run import Headline, ListedStep

IDLE = Processor(busiest_core=0.3, busiest_job=0.1, all_jobs=0.1)


def reasons(code, *, limited_by="unknown", device_share=None, processor=IDLE):
    doubt = Warning(code=code, message="recorded", advice="repeat")
    return reasons_of(
        [doubt], limited_by=limited_by, device_share=device_share, processor=processor
    )


@pytest.mark.parametrize(
    ("code", "share", "expected"),
    [
        ("page-cache", 0.01, "no"), ("page-cache", 0.49, "no"), ("page-cache", 0.9, "with care"),
        ("page-cache", None, "with care"), ("unwritten", 0.0, "no"),
        ("unwritten", 0.94, "with care"), ("not-a-disk", None, "no"),
        ("too-short", None, "with care"), ("fio-error", None, "with care"), ("clock", None, "yes"),
        ("import", None, "yes"), ("of a later diskbench", None, "yes"),
    ],
)  # fmt: skip
def test_a_warning_weighs_what_it_says_of_the_disk(code, share, expected):
    assert trust(reasons(code, device_share=share)) == expected


def test_without_a_reason_a_figure_is_believed():
    found = reasons_of([], limited_by="disk-iops", device_share=None, processor=IDLE)
    assert (found, trust(found)) == ((), "yes")


@pytest.mark.parametrize(
    ("limited_by", "expected"),
    [
        ("client", "with care"), ("queue-depth", "with care"), ("disk-iops", "yes"),
        ("credit", "yes"),
    ],
)  # fmt: skip
def test_a_busy_core_takes_nothing_from_a_figure_at_its_cap(limited_by, expected):
    busy = Processor(busiest_core=0.95, busiest_job=0.5, all_jobs=0.9)
    found = reasons("client-bound", limited_by=limited_by, processor=busy)
    assert [one.code for one in found] == ["client-bound"]
    assert trust(found) == expected


def test_a_core_that_others_fill_is_not_called_the_load_generator():
    busy = Processor(busiest_core=0.97, busiest_job=0.02, all_jobs=0.02)
    (found,) = reasons("client-bound", processor=busy)
    assert found.code == "machine-busy"


def test_a_busy_core_is_told_where_no_warning_did():
    busy = Processor(busiest_core=1.0)
    (found,) = reasons_of([], limited_by="client", device_share=None, processor=busy)
    assert (found.code, found.weight) == ("client-bound", "with care")


def test_one_odd_run_of_several_does_not_decide_and_each_of_two_does():
    assert over_runs(["yes"] * 9 + ["no"]) == "yes"
    assert over_runs(["yes"] * 199 + ["with care"]) == "yes"
    assert over_runs(["yes"] * 4 + ["no", "with care"]) == "with care"
    assert over_runs(["yes"] * 2 + ["no"] * 2) == "no"
    assert over_runs(["yes", "no"]) == "no"
    assert over_runs(["with care"]) == "with care"
    assert over_runs([]) == "yes"


def load(
    step: str, *, random: bool = True, block: int | None = 4096, iops: float | None = 1.0
) -> ListedStep:
    return ListedStep(step, random, block, iops, None if iops is None else iops * 4096)


def chosen(*loads: ListedStep) -> str | None:
    found = headline_step(loads)
    return found.step if found else None


def test_random_goes_before_sequential_and_small_before_large() -> None:
    steps = [
        load("seq", random=False, iops=9e9), load("large", block=2**20, iops=9e9),
        load("small", iops=10.0), load("deep", iops=3000.0), load("same as deep", iops=3000.0),
    ]  # fmt: skip
    assert chosen(*steps) == "deep"
    assert chosen(*steps[:2]) == "large"
    assert chosen(load("unknown", block=None), load("known", block=2**20)) == "known"
    assert chosen() is None


def one(iops: float, trust: str | None = "yes", kind: str | None = None) -> Headline:
    return Headline("read", iops, None, kind, trust)  # type: ignore[arg-type]


def test_a_trial_has_the_middle_of_its_runs_at_the_baseline() -> None:
    runs = [one(100.0, kind="baseline"), one(3000.0, kind="burst"), one(3000.0, kind="burst")]
    found = of_trial(runs)
    assert (found.iops, found.kind) == (100.0, "baseline")
    found = of_trial([one(1.0), one(2.0), one(3.0), one(4.0)])
    assert found.iops == 2.0  # of an even number the lower one


def test_a_trial_has_the_trust_over_its_runs_and_none_where_one_was_not_judged() -> None:
    for trusts, expected in (
        (["yes", "yes"], "yes"),
        (["yes", "with care"], "with care"),
        (["no", "with care"], "no"),
        (["yes", None], None),
    ):
        found = of_trial([one(1.0, trust) for trust in trusts])
        assert found.trust == expected
    assert of_trial([]) is None

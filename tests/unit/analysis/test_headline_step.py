"""Which figure stands for a run, and for the runs of a trial, in a list."""

from __future__ import annotations

from diskbench.analysis.headline_step import headline_step, of_trial
from diskbench.model.run import Headline, ListedStep


def load(
    step: str, *, random: bool = True, block: int | None = 4096, iops: float | None = 1.0
) -> ListedStep:
    return ListedStep(step, random, block, iops, None if iops is None else iops * 4096)


def chosen(*loads: ListedStep) -> str | None:
    found = headline_step(loads)
    return found.step if found else None


def test_random_goes_before_sequential_and_small_before_large() -> None:
    steps = [
        load("seq", random=False, iops=9e9),
        load("large", block=2**20, iops=9e9),
        load("small", iops=10.0),
        load("deep", iops=3000.0),
        load("same as deep", iops=3000.0),
    ]
    assert chosen(*steps) == "deep"
    assert chosen(*steps[:2]) == "large"
    assert chosen(load("unknown", block=None), load("known", block=2**20)) == "known"
    assert chosen() is None


def one(iops: float, trust: str | None = "yes", kind: str | None = None) -> Headline:
    return Headline("read", iops, None, kind, trust)  # type: ignore[arg-type]


def test_a_trial_has_the_middle_of_its_runs_at_the_baseline() -> None:
    runs = [one(100.0, kind="baseline"), one(3000.0, kind="burst"), one(3000.0, kind="burst")]
    found = of_trial(runs)
    assert found is not None
    assert (found.iops, found.kind) == (100.0, "baseline")
    found = of_trial([one(1.0), one(2.0), one(3.0), one(4.0)])
    assert found is not None
    assert found.iops == 2.0  # of an even number the lower one


def test_a_trial_has_the_worst_trust_of_its_runs_and_none_where_one_was_not_judged() -> None:
    for trusts, worst in (
        (["yes", "yes"], "yes"),
        (["yes", "with care"], "with care"),
        (["no", "with care"], "no"),
        (["yes", None], None),
    ):
        found = of_trial([one(1.0, trust) for trust in trusts])
        assert found is not None
        assert found.trust == worst
    assert of_trial([]) is None

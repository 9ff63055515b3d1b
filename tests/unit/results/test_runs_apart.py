"""Verdicts on the runs of a trial together: noise, one fall in all steps, runs far apart."""

import pytest
from tests.books import SHIPPED
from tests.rigs.runs import bare_run

from diskbench.model.result import Measurement, StepResult
from diskbench.results.run_evidence import ReadRun
from diskbench.results.verdicts import judge
from diskbench.units import NS_PER_S


def result(run_id: str, index: int, name: str, iops: float) -> StepResult:
    row = Measurement(
        run_id=run_id, step_index=index, step=name, role="measure", scope="step", job="all",
        job_index=-1, direction="read", ios=round(iops * 30), bytes=round(iops * 30 * 4096),
        runtime_ns=30 * NS_PER_S, iops=iops, bytes_per_s=iops * 4096,
    )  # fmt: skip
    return StepResult(
        step_index=index, step=name, role="measure", started_at="", finished_at="",
        fio_exit=0, fio_version="", measurements=(row,),
    )  # fmt: skip


def judged(**steps: list[float]):
    """The verdicts of the last run, by step."""
    count = len(next(iter(steps.values())))
    runs = [bare_run(run_id=f"r{at}", run_index=at, provider="import") for at in range(count)]
    results = {
        run.run_id: [
            result(run.run_id, index, name, values[at])
            for index, (name, values) in enumerate(steps.items())
        ]
        for at, run in enumerate(runs)
    }
    nothing = {run.run_id: ReadRun() for run in runs}
    found, _ = judge(runs, results, None, nothing, SHIPPED)
    return {one.step: one for one in found if one.run_id == runs[-1].run_id}


@pytest.mark.parametrize(
    ("values", "trust"),
    [
        ([1000, 1010, 990, 1005, 1000, 995] * 3, "yes"),
        ([1000, 150, 900, 1700, 90, 1300, 2100, 400] * 3, "with care"),
        ([3000] * 8 + [100] * 8, "yes"),
        ([1000, 1600], "yes"),
    ],
    ids=["alike", "far apart", "fell", "two say little"],
)
def test_runs_far_apart_are_taken_with_care_unless_a_fall_explains_them(values, trust):
    verdict = judged(a=values)["a"]
    assert verdict.trust == trust
    assert ("runs-disagree" in {reason.code for reason in verdict.reasons}) == (trust != "yes")


def test_a_step_that_fell_beside_another_is_at_what_lasts():
    iops = [1000.0, 1004, 996, 1002] * 2 + [815.0, 811, 819, 812] * 2
    read = [300.0] * 8 + [100.0] * 8
    alone = judged(random=iops)["random"]
    beside = judged(read=read, random=iops)["random"]
    assert alone.stands_for.kind != "baseline"
    assert beside.stands_for.kind == "baseline"
    assert beside.stands_for.limiter.name == "credit"

"""What steps that nobody planned should have got is reckoned from all that was done before them."""

from dataclasses import replace

import pytest
from tests.books import SHIPPED
from tests.rigs.runs import bare_run

from diskbench.model.result import Measurement, StepResult
from diskbench.model.spec import Role, Step
from diskbench.plan.limit_path import Hint
from diskbench.results.expectations import promises_of
from diskbench.results.run_evidence import StepEvidence
from diskbench.results.step_groups import groups_of
from diskbench.units import KIB, MIB, NS_PER_S

RUN = bare_run(run_id="a", run_index=0, started_at="2026-01-01T00:00:00Z", provider="ssh")


def step(index: int, role: Role, options: str, iops: float, block: int, seconds: int):
    job = f"[{role}]\n{options}\ndirect=1\nbs={block}\n"
    row = Measurement(
        run_id="a",
        step_index=index,
        step=role,
        role=role,
        scope="step",
        job="all",
        job_index=-1,
        direction="write" if role == "fill" else "read",
        ios=round(iops * seconds),
        bytes=round(iops * seconds * block),
        runtime_ns=seconds * NS_PER_S,
        iops=iops,
        bytes_per_s=iops * block,
    )
    result = StepResult(
        step_index=index,
        step=role,
        role=role,
        started_at="",
        finished_at="",
        fio_exit=0,
        fio_version="",
        measurements=(row,),
    )
    return result, StepEvidence(Step(index=index, name=role, role=role, job=job, expected_s=1))


def test_a_fill_before_a_measured_step_spends_its_credit():
    """128 MiB/s for 6,554 s are 512 I/Os of 256 KiB, 412 above the baseline: half of the bucket."""
    seconds = round(2_700_000 / 412)
    filled = step(0, "fill", "rw=write", 128, MIB, seconds)
    read = step(1, "measure", "rw=randread\nioengine=libaio\niodepth=32", 3000, 4 * KIB, 60)
    groups = groups_of([filled[0], read[0]], [filled[1], read[1]], (), None, "ssh")

    found = promises_of([(RUN, groups)], None, Hint(as_disk="aws:gp2:20"), SHIPPED)

    assert [one.is_judged for one in groups] == [False, True]
    assert found["a", 1].credit == {"disk-iops": pytest.approx(0.5, abs=0.01)}


def test_the_word_of_an_owner_is_counted_as_the_provider_of_the_run_counts():
    large = step(0, "measure", "rw=read", 90, MIB, 60)
    groups = groups_of([large[0]], [large[1]], (), None, "vsphere")
    run = replace(RUN, provider="vsphere")
    found = promises_of([(run, groups)], None, Hint(promise="iops=3200"), SHIPPED)
    assert found["a", 0].expected.begin.iops == 100

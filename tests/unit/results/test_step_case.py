"""Device and fio counts of I/Os are compared where I/O is direct (MR-12)."""

from dataclasses import replace

import pytest
from tests.unit.report.made import result, row

from diskbench.model.expectation import Load
from diskbench.model.processor import SampleSummary
from diskbench.model.spec import Step
from diskbench.results.run_evidence import StepEvidence
from diskbench.results.step_case import counted_otherwise
from diskbench.results.step_groups import groups_of

MIB = 2**20


DIRECT = Load(block_bytes=MIB, depth=8, random=False)


def group(device_ios, *, device_bytes=100 * MIB, load=DIRECT):
    """100 reads of 1 MiB, and what the device counted of them."""
    samples = SampleSummary(seconds=1, device_read_ios=device_ios, device_read_bytes=device_bytes)
    step = Step(index=0, name="seq", job="", expected_s=1)
    of_step = result(step, row("seq", step_index=0, ios=100, bytes=100 * MIB))
    made = groups_of([of_step], [StepEvidence(step, samples=samples)], (), None, "")[0]
    return replace(made, load=load)


@pytest.mark.parametrize(
    ("device_ios", "code", "words"),
    [
        (400, "requests-split", "split into requests of 256 KiB: the device counted 4 I/Os a"),
        (107, "requests-split", "split"), (50, "requests-merged", "merged"),
    ],
)  # fmt: skip
def test_a_count_more_than_five_percent_apart_is_told(device_ios, code, words):
    (found,) = counted_otherwise(group(device_ios))
    assert (found.code, found.weight) == (code, "note")
    assert words in found.message


SAMPLED = group(400)


@pytest.mark.parametrize(
    "alike",
    [
        *(group(device_ios) for device_ios in (96, 100, 104)),
        group(400, load=DIRECT.model_copy(update={"direct": False})),
        group(400, device_bytes=10 * MIB),
        replace(SAMPLED, evidence=(StepEvidence(SAMPLED.evidence[0].step),)),
    ],
    ids=["96", "100", "104", "buffered", "other bytes", "no samples"],
)
def test_counts_that_are_alike_or_of_other_things_say_nothing(alike):
    assert counted_otherwise(alike) == ()

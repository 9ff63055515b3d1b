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
    ("device_ios", "code"),
    [(400, "requests-split"), (107, "requests-split"), (50, "requests-merged")],
)
def test_a_count_more_than_five_percent_apart_is_told(device_ios, code):
    (found,) = counted_otherwise(group(device_ios))
    assert (found.code, found.weight) == (code, "note")


def test_the_size_of_the_requests_is_told():
    (found,) = counted_otherwise(group(400))
    assert "split into requests of 256 KiB: the device counted 4 I/Os a block" in found.message


@pytest.mark.parametrize("device_ios", [96, 100, 104])
def test_counts_within_five_percent_are_alike(device_ios):
    assert counted_otherwise(group(device_ios)) == ()


def test_buffered_io_has_no_count_to_compare():
    buffered = DIRECT.model_copy(update={"direct": False})
    assert counted_otherwise(group(400, load=buffered)) == ()


def test_where_the_bytes_differ_the_count_says_nothing():
    assert counted_otherwise(group(400, device_bytes=10 * MIB)) == ()


def test_without_samples_nothing_is_said():
    sampled = group(400)
    unsampled = replace(sampled, evidence=(StepEvidence(sampled.evidence[0].step),))
    assert counted_otherwise(unsampled) == ()

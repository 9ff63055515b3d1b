"""fio's buffers must fit into the machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import InvalidValue
from diskbench.fio.jobfile import jobs, parse
from diskbench.model.facts import HostFacts
from diskbench.model.spec import Step
from diskbench.plan.trial import BASE_BYTES, buffer_bytes, check_memory
from diskbench.units import GIB, KIB, MIB


def a_step(text: str) -> Step:
    return Step(index=0, name="s", job=text, expected_s=1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("rw=read", 4 * KIB),
        ("bs=1m\niodepth=32", 32 * MIB),
        ("bs=4k,64k\nnumjobs=4", 4 * 64 * KIB),
        ("bsrange=4k-128k\niodepth=2\nnumjobs=3", 6 * 128 * KIB),
    ],
)
def test_buffers_are_jobs_times_depth_times_the_largest_block(options: str, expected: int) -> None:
    (job,) = jobs(parse(f"[a]\n{options}\n").sections)
    assert buffer_bytes(job) == expected


def test_a_job_that_does_not_fit_is_refused_with_both_figures() -> None:
    step = a_step("[a]\nrw=read\nbs=64m\niodepth=32\n")
    with pytest.raises(InvalidValue, match=r"2(\.1)? GiB"):
        check_memory([step], HostFacts(memory_available_bytes=GIB), "box")


@given(st.integers(1, 64), st.integers(1, 8))
def test_what_fits_is_let_pass(depth: int, count: int) -> None:
    step = a_step(f"[a]\nrw=read\nbs=4k\niodepth={depth}\nnumjobs={count}\n")
    needed = BASE_BYTES + depth * count * 4 * KIB
    check_memory([step], HostFacts(memory_available_bytes=needed), "box")
    with pytest.raises(InvalidValue):
        check_memory([step], HostFacts(memory_available_bytes=needed - 1), "box")


def test_unknown_memory_is_let_pass() -> None:
    check_memory([a_step("[a]\nbs=1g\niodepth=100\n")], HostFacts(), "box")

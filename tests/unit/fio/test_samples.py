import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import SAMPLES

from diskbench.fio.samples import parse_samples


def test_samples_are_summed_from_the_first_to_the_last():
    found = parse_samples(SAMPLES)
    assert found.seconds == 10
    assert found.mean_cpu == pytest.approx(1 - 50 / 1000)
    assert found.busiest_core == pytest.approx(1 - 50 / 1000)
    assert found.steal == pytest.approx(50 / 1000)
    assert found.context_switches_per_s == 1000
    assert (found.device_read_ios, found.device_write_ios) == (100, 200)
    assert (found.device_read_bytes, found.device_write_bytes) == (800 * 512, 1600 * 512)
    assert found.mean_in_flight == pytest.approx(2.0)


def test_the_busiest_core_is_one_core_not_the_mean():
    data = (
        b"@ 1\ncpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n"
        b"@ 2\ncpu 100 0 0 100 0 0 0 0\ncpu0 100 0 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0\n"
    )
    found = parse_samples(data)
    assert (found.busiest_core, found.mean_cpu) == (1.0, 0.5)
    assert found.device_read_ios is None


@pytest.mark.parametrize("data", [b"", b"@ 1\n", SAMPLES[: SAMPLES.index(b"@ 1010")]])
def test_one_sample_tells_nothing(data):
    assert parse_samples(data) is None


def test_a_last_sample_that_was_cut_short_costs_no_more_than_itself():
    cut = SAMPLES + b"@ 1011.5\ncpu  950 0 2"
    assert parse_samples(cut).device_read_ios == 100


@given(st.binary(max_size=400), st.integers(0, len(SAMPLES)))
def test_any_bytes_give_a_summary_or_none(garbage, at):
    parse_samples(SAMPLES[:at] + garbage + SAMPLES[at:])

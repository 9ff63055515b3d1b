"""Histograms: merging loses nothing, quantiles are fio's own, and few I/Os print none."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.fio_reports import bucket_index
from tests.rigs.plans import call_fio

from diskbench.fio import histogram as buckets
from diskbench.fio.histogram import bucket_middle_ns, count, merge, value_at
from diskbench.fio.output import parse_output

LATENCIES = st.integers(0, 2**33)
HISTOGRAMS = st.dictionaries(LATENCIES, st.integers(1, 10**9), max_size=12)


@given(HISTOGRAMS, HISTOGRAMS, HISTOGRAMS)
def test_merging_is_associative_and_commutative_and_keeps_every_count(a, b, c):
    assert merge([merge([a, b]), c]) == merge([a, merge([b, c])]) == merge([c, b, a])
    assert count(merge([a, b, c])) == count(a) + count(b) + count(c)


@given(LATENCIES)
def test_a_bucket_is_off_by_at_most_one_part_in_128(latency):
    assert abs(bucket_middle_ns(bucket_index(latency)) - latency) <= latency / 128


@given(st.lists(LATENCIES, min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_a_quantile_is_within_one_part_in_128_of_the_sample(latencies, fraction):
    histogram = merge({bucket_middle_ns(bucket_index(v)): 1} for v in latencies)
    exact = sorted(latencies)[math.ceil(fraction * len(latencies) - 1e-9) - 1]
    found = value_at(histogram, fraction)
    assert found is not None
    assert abs(found - exact) <= exact / 128


@given(st.lists(HISTOGRAMS, min_size=1, max_size=4), st.floats(0.01, 1))
def test_a_merged_quantile_is_the_quantile_of_the_union(histograms, fraction):
    union = sorted(ns for one in histograms for ns, n in one.items() for _ in range(min(n, 5)))
    small = [{value: min(n, 5) for value, n in one.items()} for one in histograms]
    found = value_at(merge(small), fraction)
    if not union:
        assert found is None
    else:
        assert found == union[max(math.ceil(fraction * len(union) * (1 - 1e-9)), 1) - 1]


def test_coarse_columns_lie_in_the_middle_of_what_they_hold_and_nothing_has_no_quantile():
    fine = [bucket_middle_ns(index) for index in range(512, 520)]
    assert fine[0] < bucket_middle_ns(64, coarseness=3) < fine[-1]
    assert value_at({}, 0.5) is None


@pytest.mark.parametrize(
    ("fraction", "ios"), [(0.5, 5), (0.95, 59), (0.99, 299), (0.999, 2995), (0.9999, 29956)]
)
def test_a_quantile_is_printed_from_the_number_of_ios_that_backs_it(fraction, ios):
    assert buckets.needed(fraction) == ios
    assert buckets.quantile({1000: ios}, fraction) == 1000
    assert buckets.quantile({1000: ios - 1}, fraction) is None


@pytest.mark.slow
def test_quantiles_are_those_that_fio_prints(tmp_path):
    wanted = (50, 90, 95, 99, 99.9)
    job = (
        f"[global]\nfilename=disk.bin\nsize=4m\nbs=4k\nrw=randrw\nnumjobs=2\nruntime=1\ntime_based\n"
        f"percentile_list={':'.join(map(str, wanted))}\nlat_percentiles=1\n[a]\n"
    )
    outputs = []
    for text in (job, job.replace("[a]", "group_reporting\n[a]")):
        (tmp_path / "job.fio").write_text(text)
        outputs.append(call_fio("--output-format=json+", "job.fio", at=tmp_path).stdout)
    for data in outputs:
        for job in parse_output(data, where="x").jobs:
            for direction in ("read", "write"):
                for latency in (job.directions[direction].lat, job.directions[direction].clat):
                    assert count(latency.bins) == latency.samples
                    for percent in wanted:
                        assert value_at(latency.bins, percent / 100) == latency.percentiles[percent]
                    total = sum(value * ios for value, ios in latency.bins.items())
                    mean_ns = total / count(latency.bins)
                    assert mean_ns == pytest.approx(latency.mean_ns, rel=1 / 128)
    # A group that fio merged itself: our merge of its members cannot be told from it.
    entries = json.loads(outputs[0])["jobs"]
    merged = buckets.step_histograms(parse_output(outputs[0], where="x"), "read")["clat"]
    assert count(merged) == sum(entry["read"]["clat_ns"]["N"] for entry in entries)

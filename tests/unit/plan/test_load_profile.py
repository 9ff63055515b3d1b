"""A recorded load becomes a profile that diskbench accepts, with its rates, blocks and mix."""

import re

from hypothesis import given
from hypothesis import strategies as st

from diskbench.fio.profiles import parse_profile
from diskbench.fio.steps import build_steps
from diskbench.fio.target import FioTarget
from diskbench.importers.load import Recorded, Sample
from diskbench.model.facts import HostFacts
from diskbench.plan.load_profile import load_profile

TARGET = FioTarget(kind="directory", path="/mnt/disk/work", size_bytes=None, capacity_bytes=None)


def record(*samples):
    loads = (
        Sample(60.0 * n, r, w, r * s, w * s, seconds=60.0) for n, (r, w, s) in enumerate(samples)
    )
    return Recorded("sda", tuple(loads), is_dated=False)


def steps(load, name="week.txt"):
    profile = parse_profile(load_profile(load, name), name="mine")
    facts = HostFacts(fio_version="fio-3.33", fio_engines=("libaio",))
    return build_steps(profile, {}, facts, TARGET).steps


def rate_of(step):
    jobs = int(re.search(r"numjobs=(\d+)", step.job)[1])
    return jobs * sum(map(int, re.search(r"rate_iops=([\d,]+)", step.job)[1].split(",")))


def test_the_steps_have_the_rates_of_the_percentiles_and_the_blocks_and_mix_of_their_samples():
    load = record(*[(rate, 0, 4096) for rate in range(100, 2100, 100)])  # 20 samples
    made = {step.name: rate_of(step) for step in steps(load) if step.role == "offered"}
    for name, rate in {"p50": 1000, "p75": 1500, "p90": 1800, "p95": 1900, "p99": 2000}.items():
        assert abs(made[name] - rate) <= 0.03 * rate
    load = record(*[(70, 30, 16_384)] * 10, *[(0, 900, 131_072)] * 10)
    made = {step.name: step.job for step in steps(load)}
    assert "bs=16384" in made["p50"]
    assert "rwmixread=70" in made["p50"]
    assert "bs=131072" in made["p75"]
    assert "rw=randwrite" in made["p75"]


def test_a_name_that_is_no_yaml_does_no_harm():
    assert steps(record((100, 0, 4096)), name='a: "b" {{ c }} #.txt'.replace("{{ c }}", "c"))


rates = st.integers(0, 50_000)


samples = st.lists(st.tuples(rates, rates, st.integers(512, 1 << 20)), min_size=1, max_size=30)


@given(samples.filter(lambda all_of_it: any(r + w for r, w, _ in all_of_it)))
def test_whatever_was_recorded_diskbench_accepts_its_profile(samples):
    made = [step for step in steps(record(*samples)) if step.role == "offered"]
    most = max(r + w for r, w, _ in samples)
    assert made
    assert abs(rate_of(made[-1]) - most) <= max(0.03 * most, 33)

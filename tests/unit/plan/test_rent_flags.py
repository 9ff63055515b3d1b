import shlex
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.cli.lazy import load
from diskbench.model.options import RentSpec
from diskbench.plan.rent_options import rent_spec, typed, words
from diskbench.plugins import plugin
from diskbench.providers.options import EmulationOptions

TEXT = st.text("abcdefgh-0123", min_size=1, max_size=8).filter(lambda t: not t.startswith("-"))
SPECS = st.builds(
    RentSpec,
    disk=st.none() | TEXT,
    size_gib=st.none() | st.integers(1, 64),
    iops=st.none() | st.integers(1, 9999),
    throughput_mib_per_s=st.none() | st.integers(1, 500).map(float),
    count=st.integers(1, 4),
    stripe=st.booleans(),
    spot=st.booleans(),
    region=st.none() | TEXT,
    tags=st.dictionaries(TEXT, TEXT).map(lambda tags: tuple(sorted(tags.items()))),
    kms_key=st.none() | TEXT,
    snapshot=st.none() | TEXT,
    account=st.none() | TEXT,
    lab=st.builds(
        EmulationOptions, time_scale=st.integers(1, 99).map(float), seed=st.integers(0, 9)
    ),
)


def test_the_words_of_a_spec_are_what_a_person_would_type_each_tag_and_the_clouds_own_word():
    spec = RentSpec(
        disk="gp2", size_gib=20, spot=True, account="work", lab=EmulationOptions(time_scale=60)
    )
    assert shlex.join(words(spec, "aws")) == (
        "--profile-name work --disk gp2 --size 20 --spot --time-scale 60"
    )
    assert dict(typed(RentSpec())) == {}
    spec = RentSpec(disk="gp2", tags=(("env", "test"), ("team", "db")))
    assert shlex.join(words(spec, "aws")) == "--disk gp2 --tag env=test --tag team=db"
    spec = RentSpec(disk="x", account="them")
    assert words(spec, "azure")[:2] == ["--subscription", "them"]
    assert words(spec, "gcp")[:2] == ["--project", "them"]


@given(SPECS, st.sampled_from(["aws", "azure", "gcp"]))
def test_every_word_is_a_flag_that_run_knows(spec, provider):
    known = _run_flags(provider)
    assert {word for word in words(spec, provider) if word.startswith("--")} <= known


@cache
def _run_flags(provider: str) -> set[str]:
    return {name for one in load("run", ["--provider", provider]).params for name in one.opts}


@pytest.mark.parametrize(
    ("provider", "typed", "disk"),
    [
        ("azure", "Premium SSD", "Premium_LRS"), ("azure", "premium ssd v2", "PremiumV2_LRS"),
        ("azure", "premium_lrs", "Premium_LRS"), ("aws", "GP3", "gp3"),
        ("aws", "no such disk", "no such disk"),
    ],
)  # fmt: skip
def test_a_disk_type_is_found_by_what_people_call_it(provider, typed, disk):
    assert rent_spec(plugin(provider), {"disk": typed, "size": 64}).disk == disk

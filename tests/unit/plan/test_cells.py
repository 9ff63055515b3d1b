"""What the flags of `diskbench run` mean, and what they cannot mean; and of what is rented."""

import shlex
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import cells_of

from diskbench.cli.lazy import load
from diskbench.errors import InvalidValue
from diskbench.model.options import RentSpec
from diskbench.plan.cells import key_values
from diskbench.plan.rent_options import rent_spec, typed, words
from diskbench.plugins import plugin
from diskbench.providers.options import EmulationOptions
from diskbench.units import GIB


def a_request(**changes: object) -> dict[str, object]:
    fields: dict[str, object] = {"provider": "local", "profile": "quick"}
    if not changes.keys() & {"path", "device", "destroy_data"}:
        fields["path"] = "/mnt/disk"
    return fields | changes


def test_one_host_is_one_cell_per_replicate() -> None:
    made = cells_of(a_request(provider="ssh", host=("a", "b"), replicates=2))
    assert [(c.address, c.replicate) for c in made] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


def test_what_is_measured_must_be_named_a_device_with_its_identity_and_its_size_is_in_gib() -> None:
    with pytest.raises(InvalidValue, match="no target is given"):
        cells_of(a_request(path=None))
    (cell,) = cells_of(a_request(size=0.5))
    assert cell.target.size_bytes == GIB // 2
    for size in (0.0, -1.0, float("nan"), float("inf"), 1e300):
        with pytest.raises(InvalidValue, match="--size"):
            cells_of(a_request(size=size))
    with pytest.raises(InvalidValue, match="destroys all data") as refused:
        cells_of(a_request(device=("/dev/sdz",)))
    assert "--destroy-data" in refused.value.advice


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "/a", "device": ("/dev/sdz",), "destroy_data": ("x",)}, {"destroy_data": ("x",)},
        {"runs": 0}, {"replicates": -1}, {"filesystem": "btrfs"}, {"host": ("a", "a")},
        {"labels": ("no-value",)}, {"labels": ("a b=c",)}, {"parameters": ("size=1g", "size=2g")},
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        cells_of(a_request(**changes))


NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True)


@given(st.dictionaries(NAMES, st.text(max_size=8).map(str.strip)))
def test_pairs_come_back_as_typed_and_sorted(pairs: dict[str, str]) -> None:
    typed = [f"{k}={v}" for k, v in pairs.items()]
    assert key_values("--label", typed) == tuple(sorted(pairs.items()))


def test_a_promise_is_what_its_owner_expects_and_not_for_disks_of_a_catalogue() -> None:
    (cell,) = cells_of(a_request(promise="iops=5000, mb_per_s=104.5"))
    assert cell.promise.words() == "5,000 IOPS, 104.5 MB/s, by --promise"
    (cell,) = cells_of(a_request(promise="iops=5000,io_kib=32"))
    assert cell.promise.words() == "5,000 IOPS of up to 32 KiB, by --promise"
    (cell,) = cells_of(a_request(promise="mb_per_s=1e3"))
    assert cell.promise.words() == "1,000 MB/s, by --promise"
    with pytest.raises(InvalidValue, match="its catalogue has the limits"):
        cells_of(a_request(provider="aws", promise="iops=5000"))
    wrong = ("", "5000", "iops=", "iops=0", "iops=nan", "iops=inf", "speed=1", "io_kib=32")
    for text in (*wrong, "iops=5,io_kib=0.5", "iops=5,io_kib=0"):
        with pytest.raises(InvalidValue, match="--promise"):
            cells_of(a_request(promise=text))


WORD = st.text("abcdefgh-0123", min_size=1, max_size=8).filter(lambda t: not t.startswith("-"))
SPECS = st.builds(
    RentSpec,
    disk=st.none() | WORD,
    size_gib=st.none() | st.integers(1, 64),
    iops=st.none() | st.integers(1, 9999),
    throughput_mib_per_s=st.none() | st.integers(1, 500).map(float),
    count=st.integers(1, 4),
    stripe=st.booleans(),
    spot=st.booleans(),
    region=st.none() | WORD,
    tags=st.dictionaries(WORD, WORD).map(lambda tags: tuple(sorted(tags.items()))),
    kms_key=st.none() | WORD,
    snapshot=st.none() | WORD,
    account=st.none() | WORD,
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


def test_a_disk_type_is_found_by_what_people_call_it():
    azure = {"Premium SSD": "Premium_LRS", "premium ssd v2": "PremiumV2_LRS"}
    known = {"azure": {**azure, "premium_lrs": "Premium_LRS"}, "aws": {"GP3": "gp3", "x y": "x y"}}
    for provider, said, disk in ((of, *pair) for of in known for pair in known[of].items()):
        assert rent_spec(plugin(provider), {"disk": said, "size": 64}).disk == disk

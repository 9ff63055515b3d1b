"""What the flags of `diskbench run` mean, and the order in which the cells of a matrix start."""

import shlex
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.matrix_rows import cell_row
from tests.rigs.plans import cells_of
from tests.unit.plan.planned import a_matrix

from diskbench.cli.lazy import load
from diskbench.errors import InvalidValue
from diskbench.model.matrix import Limits, MatrixCell
from diskbench.model.options import RentSpec
from diskbench.plan.admit import AdmissionMoment, admit
from diskbench.plan.matrix import expand, ordered, rounds
from diskbench.plan.rent_options import key_values, rent_spec, typed, words
from diskbench.plugin import plugin
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


PATIENT = settings(deadline=None, max_examples=40)
SEEDS = st.integers(0, 2**40)
REPLICATES = st.lists(st.integers(1, 8), min_size=1, max_size=8)


def made_of(replicates: list[int], seed: int = 0, order: str = "random") -> tuple[MatrixCell, ...]:
    """A matrix with a block of each number of replicates."""
    values = [{"disk": f"d{n}", "replicates": count} for n, count in enumerate(replicates)]
    matrix = a_matrix(defaults={"provider": "lab"}, axes={"v": values}, order=order)
    return expand(matrix, seed=seed)


@PATIENT
@given(REPLICATES, SEEDS)
def test_an_order_is_a_permutation_that_follows_from_its_seed_and_not_the_file(replicates, seed):
    listed, shuffled = made_of(replicates, order="listed"), made_of(replicates, seed)
    assert Counter(one.key for one in shuffled) == Counter(one.key for one in listed)
    assert [one.position for one in shuffled] == list(range(len(listed)))
    assert ordered(list(reversed(listed)), "random", seed) == ordered(listed, "random", seed)


@PATIENT
@given(REPLICATES, SEEDS)
def test_replicates_keep_their_order_each_in_a_round_of_its_own_spread_evenly(replicates, seed):
    cells = made_of(replicates, seed)
    number = rounds(cells, seed)
    assert set(number.values()) <= set(range(max(replicates)))
    by_block = defaultdict(list)
    for one in cells:
        by_block[one.block].append((number[one.key], one.cell.replicate))
    for block in by_block.values():
        numbers = [round_ for round_, _ in block]
        assert block == sorted(block)
        assert len(set(numbers)) == len(block)
        assert [replicate for _, replicate in block] == list(range(len(block)))
        gap = max(replicates) / len(block)
        assert all(abs(later - earlier - gap) <= 1 for earlier, later in pairwise(numbers))


def test_a_random_order_stays_the_same_for_ever_and_listed_is_as_the_file_has_it():
    """Recorded campaigns are repeated by their seed: this order may never change."""
    recorded = ((1, 0), (0, 0), (2, 0), (0, 1), (1, 1))
    keys = [f"lab/d{block}/default#{replicate}" for block, replicate in recorded]
    assert [one.key for one in made_of([2, 2, 1], seed=42)] == keys
    listed = [f"lab/d{block}/default#{n}" for block, n in ((0, 0), (0, 1), (1, 0))]
    assert [one.key for one in made_of([2, 1], order="listed")] == listed


def test_every_place_in_a_round_falls_to_every_block_alike():
    """A chi-squared test with fixed seeds: 600 rounds of 4 blocks, 16 counts of 150 expected."""
    counts = Counter()
    for seed in range(100):
        counts.update((one.position % 4, one.block) for one in made_of([6] * 4, seed))
    chi_squared = sum((n - 150) ** 2 / 150 for n in counts.values())
    assert len(counts) == 16
    assert chi_squared < 27.9  # 0.1 % of 9 degrees of freedom


AWS = {"provider": "aws", "region": "us-east-1", "instance_type": "m5.large", "size": 20}
NOW = "2026-11-21T12:00:00.000000+00:00"


def machines(*, reuse_host=True, **fields):
    matrix = a_matrix(reuse_host=reuse_host, **fields)
    return {one.key: one.machine for one in expand(matrix, seed=1)}


def machines_of(*cells):
    return AdmissionMoment(now=NOW, elapsed_s=0.0, machines=cells)


def shared(position, machine="one", **changes):
    return cell_row(position, machine=machine, **changes)


def test_by_default_each_cell_has_a_machine_of_its_own_and_one_that_is_there_is_measured_in_turn():
    found = machines(reuse_host=False, defaults=AWS, axes={"disk": ["gp2", "gp3"]})
    assert set(found.values()) == {None}
    found = machines(defaults={"provider": "local", "path": "/data"}, axes={"size": [1, 2]})
    assert set(found.values()) == {None}


def test_disks_of_any_kind_share_the_machine_of_their_place_and_type():
    volumes = [{"disk": "gp2"}, {"disk": "io1", "iops": 500}, {"disk": "gp3", "size": 100}]
    found = machines(defaults={**AWS, "replicates": 2}, axes={"volume": volumes})
    assert len(found) == 6
    (name,) = set(found.values())
    assert name.startswith("aws/us-east-1/m5.large~")


def test_whatever_makes_another_machine_is_not_shared():
    axes = {
        "region": ["us-east-1", "eu-west-1"], "instance_type": ["m5.large", "c5.large"],
        "image": ["ami-1", "ami-2"], "spot": [True, False], "profile_name": ["mine", "other"],
        "zones": [["us-east-1a"], ["us-east-1b", "us-east-1a"]], "route": ["here", "there"],
    }  # fmt: skip
    for name, values in axes.items():
        found = machines(defaults={**AWS, "disk": "gp2"}, axes={name: values})
        assert len(set(found.values())) == 2, name


def test_virtual_disks_of_any_provisioning_share_the_machine_of_their_datastore():
    defaults = {"provider": "vsphere", "size": 8}
    provisioning = ["thin", "eager-zeroed"]
    stores = ["fast", "slow"]
    found = machines(defaults=defaults, axes={"datastore": stores, "provisioning": provisioning})
    assert len(set(found.values())) == 2


def test_one_cell_at_a_time_uses_a_machine_that_takes_a_place_until_it_is_given_back():
    cells = [shared(0), shared(1), cell_row(2)]
    assert admit(cells, Limits(), machines_of())[0] == [0, 2]
    cells = [shared(0, state="measuring"), shared(1), cell_row(2)]
    assert admit(cells, Limits(), machines_of())[0] == [2]
    cells = [shared(0, state="done"), shared(1, "two"), shared(2)]
    limits = Limits(max_parallel=1)
    assert admit(cells, limits, machines_of(cells[0]))[0] == [2], "two machines would be too many"
    assert admit(cells, limits, machines_of())[0] == [1]
    cells = [shared(0, state="done"), cell_row(1)]
    assert admit(cells, Limits(max_parallel=1), machines_of(cells[0])) == ([], {})
    cells = [shared(0, state="measuring"), shared(1, "two"), shared(2, "three", provider="gcp")]
    assert admit(cells, Limits(max_parallel=9, per={"aws": 1}), machines_of())[0] == [2]

"""What the flags of `diskbench run` mean, and what they cannot mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import cells_of

from diskbench.errors import InvalidValue
from diskbench.plan.cells import key_values
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
    with pytest.raises(InvalidValue, match="nothing to measure is named"):
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


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.text(max_size=8).map(str.strip)
    )
)
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
    with pytest.raises(InvalidValue, match="its catalogue promises"):
        cells_of(a_request(provider="aws", promise="iops=5000"))


@pytest.mark.parametrize(
    "text",
    [
        "", "5000", "iops=", "iops=0", "iops=nan", "iops=inf", "speed=1", "io_kib=32",
        "iops=5,io_kib=0.5", "iops=5,io_kib=0",
    ],
)  # fmt: skip
def test_a_promise_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="--promise"):
        cells_of(a_request(promise=text))

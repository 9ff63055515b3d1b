"""Zones in turn, as every cloud tries them."""

import pytest

from diskbench.errors import NoCapacity, QuotaExceeded
from diskbench.providers.skeleton.provision import in_first_with_capacity, zones_from
from diskbench.testing.rig import RigOnlooker


def rent(full: set[str], tried: list[str]):
    def make(zone: str) -> str:
        tried.append(zone)
        if zone in full:
            raise NoCapacity(f"{zone} is full")
        return f"machine in {zone}"

    return make


def test_the_next_zone_is_tried_after_what_the_first_gave_is_taken_back():
    onlooker, tried = RigOnlooker(), list[str]()
    found = in_first_with_capacity(
        ("a", "b", "c"), rent({"a"}, tried), lambda: tried.append("undo"), onlooker, region="r"
    )
    assert found == "machine in b"
    assert tried == ["a", "undo", "b"]
    assert onlooker.notes == ["no capacity in a; trying b"]


def test_without_capacity_anywhere_each_zone_is_named_and_nothing_stays():
    onlooker, tried = RigOnlooker(), list[str]()
    with pytest.raises(NoCapacity, match="no zone of r has capacity: a: a is full; b: b is full"):
        in_first_with_capacity(
            ("a", "b"), rent({"a", "b"}, tried), lambda: tried.append("undo"), onlooker, region="r"
        )
    assert tried == ["a", "undo", "b", "undo"]
    assert onlooker.notes == ["no capacity in a; trying b", "no capacity in b"]


def test_another_refusal_ends_it_at_once():
    def refuse(zone: str) -> str:
        raise QuotaExceeded(zone)

    with pytest.raises(QuotaExceeded, match="a"):
        in_first_with_capacity(("a", "b"), refuse, lambda: None, RigOnlooker(), region="r")


def test_a_lease_with_a_machine_goes_on_in_its_zone():
    zones = ("a", "b", "c")
    assert zones_from(zones, "b") == ("b", "c")
    assert zones_from(zones, None) == zones
    assert zones_from(zones, "elsewhere") == zones

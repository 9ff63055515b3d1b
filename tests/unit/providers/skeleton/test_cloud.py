"""A session is opened once for all threads, and anew only after the cloud refused it; zones are
tried in turn. The details of a rental are stored in plans: what they are called there stays."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from tests.unit.providers.vsphere.made import resolved

from diskbench.errors import NoCapacity, QuotaExceeded
from diskbench.providers.aws.disk_request import AwsResolved
from diskbench.providers.azure.disk_request import AzureResolved
from diskbench.providers.gcp.disk_request import GcpResolved
from diskbench.providers.skeleton.cloud import Sessions
from diskbench.providers.skeleton.provision import in_first_with_capacity, zones_from
from diskbench.providers.vsphere.disk_request import VsphereResolved
from diskbench.testing.rig import RigOnlooker


@dataclass
class Opened:
    refused: threading.Event = field(default_factory=threading.Event)
    closed: int = 0

    def close(self) -> None:
        self.closed += 1


def test_threads_that_ask_at_the_same_time_share_one_session():
    sessions = Sessions()
    all_asked, made = threading.Barrier(4), list[Opened]()

    def open_new() -> Opened:
        made.append(Opened())
        return made[-1]

    def ask(_: int) -> Opened:
        all_asked.wait(60)
        return sessions.of("eu", open_new)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert len(made) == 1
    assert all(session is made[0] for session in found)
    assert sessions.of("us", open_new) is not made[0]


def fail(*_: object) -> Opened:
    raise OSError("nobody answers")


def test_a_refused_session_is_opened_anew_and_closing_ends_all_also_after_one_that_fails():
    sessions = Sessions()
    with pytest.raises(OSError, match="nobody"):
        sessions.of("eu", fail)
    first = sessions.of("eu", Opened)
    first.refused.set()
    second = sessions.of("eu", Opened)
    assert second is not first
    assert sessions.of("eu", Opened) is second
    assert first.closed == 0, "others may use it"
    sessions = Sessions()
    sessions.of("us", lambda: SimpleNamespace(close=fail, refused=threading.Event()))
    second = sessions.of("eu", Opened)
    sessions.close()
    sessions.close()
    assert second.closed == 1
    assert sessions.of("eu", Opened) is not second


def test_details_are_stored_under_their_old_names_and_read_as_they_were_written():
    for kind in (AwsResolved, AzureResolved, GcpResolved, VsphereResolved):
        assert kind.model_fields["requested"].serialization_alias == "wanted"
    details = resolved()
    stored = details.model_dump(mode="json")
    assert stored["wanted"]["size_gib"] == details.requested.size_gib
    assert "requested" not in stored
    assert VsphereResolved.model_validate(stored) == details


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


def test_another_refusal_ends_it_at_once_and_a_lease_with_a_machine_goes_on_in_its_zone():
    def refuse(zone: str) -> str:
        raise QuotaExceeded(zone)

    with pytest.raises(QuotaExceeded, match="a"):
        in_first_with_capacity(("a", "b"), refuse, lambda: None, RigOnlooker(), region="r")
    zones = ("a", "b", "c")
    assert zones_from(zones, "b") == ("b", "c")
    assert zones_from(zones, None) == zones
    assert zones_from(zones, "elsewhere") == zones

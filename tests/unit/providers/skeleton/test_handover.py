"""A session is opened once for all threads, and anew only after the cloud refused it; zones are
tried in turn. The details of a rental are stored in plans: what they are called there stays.
What a cloud gave, against what was asked for; and which of the guest's disks is ours, in each
cloud: in doubt none is, and nothing is written. How far this machine's clock is from a cloud's."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.providers.vsphere.made import resolved

from diskbench.errors import HostUnavailable, NoCapacity, QuotaExceeded, RentalFailed
from diskbench.providers.aws.attach import find_volume
from diskbench.providers.aws.disk_request import AwsResolved
from diskbench.providers.azure.attach import find_lun
from diskbench.providers.azure.disk_request import AzureResolved
from diskbench.providers.gcp.attach import find_disk
from diskbench.providers.gcp.disk_request import GcpResolved
from diskbench.providers.guest import GuestDisk
from diskbench.providers.skeleton.cloud import Sessions
from diskbench.providers.skeleton.doctor import http_date, skew
from diskbench.providers.skeleton.handover import AttachedDisk, Machine, differs, reached, refuse
from diskbench.providers.skeleton.provision import in_first_with_capacity, zones_from
from diskbench.providers.vsphere.attach import find_disks
from diskbench.providers.vsphere.disk_request import VsphereResolved
from diskbench.providers.waits import CloudTiming
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


def test_the_next_zone_is_tried_after_what_the_first_gave_is_taken_back_and_nowhere_stays_any():
    onlooker, tried = RigOnlooker(), list[str]()
    found = in_first_with_capacity(
        ("a", "b", "c"), rent({"a"}, tried), lambda: tried.append("undo"), onlooker, region="r"
    )
    assert found == "machine in b"
    assert tried == ["a", "undo", "b"]
    assert onlooker.notes == ["no capacity in a; trying b"]
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


SIZE = 20 * 2**30
ROOT = GuestDisk(node="/dev/sda", number="8:0", size_bytes=2**35, identity="naa.1", wwn="naa.1")
UUID = "6000C29f-1111-2222-3333-444455556666"
WWN = UUID.replace("-", "").lower()
VOLUME = AttachedDisk("vol-0abc", "/dev/sdf", SIZE)
VIRTUAL = AttachedDisk(UUID, "1", SIZE)
Find = Callable[[Sequence[GuestDisk], Sequence[GuestDisk]], Any]
CLOUDS: dict[str, tuple[dict[str, Any], Find]] = {
    "aws": (
        {"identity": "vol0abc", "serial": "vol0abc"},
        lambda found, before: find_volume(found, VOLUME, before, nvme=True),
    ),
    "azure": (
        {"identity": "naa.2", "wwn": "naa.2", "links": ("/dev/disk/azure/scsi1/lun0",)},
        lambda found, before: find_lun(found, 0, SIZE, before),
    ),
    "gcp": (
        {"identity": "t10.Google", "links": ("/dev/disk/by-id/google-diskbench-0",)},
        lambda found, before: find_disk(found, "diskbench-0", SIZE, before),
    ),
    "vsphere": (
        {"identity": f"naa.{WWN}", "links": (f"/dev/disk/by-id/wwn-0x{WWN}",)},
        lambda found, before: find_disks(found, [VIRTUAL], before, "pvscsi"),
    ),
}
"""What the guest shows of our disk, and how it is found."""


def ours(cloud: str, **more: Any) -> GuestDisk:
    usual = {"node": "/dev/sdb", "number": "8:16", "size_bytes": SIZE}
    return GuestDisk(**usual | CLOUDS[cloud][0] | more)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_our_disk_is_waited_for_and_found(cloud):
    find = CLOUDS[cloud][1]
    assert find([ROOT], [ROOT]) is None
    found = find([ROOT, ours(cloud)], [ROOT])
    assert (found[0] if isinstance(found, tuple) else found).node == "/dev/sdb"


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize(
    ("changed", "seen_before", "words"),
    [
        ([{"size_bytes": SIZE + 512}], [], "bytes, .* has 21,474,836,480"),
        ([{"size_bytes": SIZE - 512}], [], "bytes, .* has 21,474,836,480"),
        ([{}], [{}], "existed before"),
        ([{}, {"node": "/dev/sdc", "number": "8:32"}], [], "/dev/sdb, /dev/sdc in the guest"),
    ],
)
def test_a_disk_that_may_be_somebody_elses_is_never_taken(cloud, changed, seen_before, words):
    shown = [ours(cloud, **one) for one in changed]
    before = [ROOT, *(ours(cloud, **one) for one in seen_before)]
    with pytest.raises(RentalFailed, match=words):
        CLOUDS[cloud][1]([ROOT, *shown], before)


def test_a_value_that_is_not_as_asked_is_named_as_it_is_and_as_asked():
    found = [*differs("disk a", "size in GiB", 10, 20), *differs("disk a", "type", "x", "x")]
    assert found == ["size in GiB of disk a is 20, but 10 was requested"]
    words = "Sky delivered something other than what was requested: size in GiB"
    with pytest.raises(RentalFailed, match=words):
        refuse("Sky", found)
    # What is not reported, or was not asked for, is no difference.
    refuse("Sky", [*differs("disk a", "IOPS", 100, None), *differs("disk a", "IOPS", None, 100)])


class Silent(RigOnlooker):
    """A machine that nobody reaches, and who watches the attempts."""

    def connect(self) -> None:
        raise HostUnavailable("no route to host")

    def close(self) -> None:
        pass

    def host(self, *_: object) -> Any:
        return self


@pytest.mark.parametrize(
    ("admitted", "says"),
    [
        ("203.0.113.7/32", "SSH was admitted from 203.0.113.7/32 only"),
        (None, "look whether your own group, rules or network"),
    ],
)
def test_a_machine_that_never_answers_says_which_network_was_admitted(admitted, says):
    timing = CloudTiming(ssh_s=0.0)
    order: Any = SimpleNamespace(
        details=SimpleNamespace(ssh_cidr=admitted), watch=Silent(), timing=timing, bare_metal=False
    )
    access: Any = None
    machine = Machine("machine one", "198.51.100.1", access, alive=lambda: None)
    with pytest.raises(RentalFailed, match="no route to host") as late, reached(order, machine):
        pass
    assert says in late.value.advice


NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def told(off_s: float, took_s: float = 0.2) -> tuple[str, str]:
    """State and words where our clock is `off_s` ahead of the cloud's."""
    theirs = (NOW - timedelta(seconds=off_s)).replace(microsecond=0)
    found = skew("aws", theirs, NOW, NOW + timedelta(seconds=took_s))
    return found.state, found.told


@pytest.mark.parametrize(("off_s", "took_s"), [(0, 0.2), (0.9, 0.2), (-9, 0.2), (-20, 25)])
def test_some_seconds_are_borne_because_headers_count_whole_ones_and_answers_take_some(
    off_s, took_s
):
    assert told(off_s, took_s)[0] == "ok"


def test_half_a_minute_is_a_warning_and_six_minutes_are_a_problem():
    assert told(31) == ("warning", "30 s ahead of the cloud's")
    assert told(-31) == ("warning", "31 s behind the cloud's")
    behind = "360 s behind the cloud's: calls are refused as out of time"
    assert told(-360) == ("problem", behind)


def test_dates_are_read_as_http_writes_them_and_none_is_a_warning():
    assert http_date("Sat, 21 Nov 2026 12:00:00 GMT") == NOW
    assert http_date("yesterday") is None
    assert skew("aws", http_date(None), NOW, NOW).state == "warning"

"""What a cloud gave, against what was asked for; and which of the guest's disks is ours, in each
cloud: in doubt none is, and nothing is written. How far this machine's clock is from a cloud's."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from diskbench.errors import HostUnavailable, RentalFailed
from diskbench.providers.aws.attach import find_volume
from diskbench.providers.azure.attach import find_lun
from diskbench.providers.gcp.attach import find_disk
from diskbench.providers.guest import GuestDisk
from diskbench.providers.skeleton.doctor import http_date, skew
from diskbench.providers.skeleton.handover import AttachedDisk, Machine, differs, reached, refuse
from diskbench.providers.vsphere.attach import find_disks
from diskbench.providers.waits import CloudTiming
from diskbench.testing.rig import RigOnlooker

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

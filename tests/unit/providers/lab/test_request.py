"""Names and addresses: derived, legal, and the same each time, also while several lab hosts come
and go at once."""

import ipaddress
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import HostUnavailable, InvalidValue
from diskbench.model.rental import CUSTOM, DiskSpec
from diskbench.providers.lab import machines, places, request
from diskbench.providers.lab.places import ADDRESSES, LeaseFolder, claim_address, give_up_address
from diskbench.providers.lab.processes import find_groups

LEASES = st.from_regex(r"[a-z0-9]{1,26}", fullmatch=True)


@given(LEASES)
def test_an_address_follows_from_the_lease(lease_id):
    here = places.LeaseFolder(lease_id, Path("/var/tmp/lab") / lease_id)
    found = list(islice(places.candidates(here), 5))
    assert found == list(islice(places.candidates(here), 5))
    for address in found:
        parsed = ipaddress.ip_address(address)
        assert parsed.is_loopback
        assert not address.startswith("127.0.")


def test_two_leases_never_share_an_address(tmp_path):
    first = places.LeaseFolder("one", tmp_path / "one")
    address, port = places.claim_address(first)
    assert places.claim_address(first) == (address, port)
    second = places.LeaseFolder("two", tmp_path / "two")
    taken = tmp_path / ".addresses" / next(places.candidates(second))
    taken.symlink_to("one")
    assert places.claim_address(second)[0] != taken.name
    places.give_up_address(first)
    assert [link.readlink() for link in taken.parent.iterdir()] == [Path("two")]


@pytest.mark.parametrize("style", list(request.MAX_DISKS))
def test_every_disk_of_a_host_has_names_of_its_own(style):
    most = request.MAX_DISKS[style]
    volumes = enumerate(request.made_up_volume(style, "lease", n) for n in range(most))
    found = [request.disk_names(style, n, volume) for n, volume in volumes]
    assert len({names[-1] for names in found}) == len({names[0] for names in found}) == most
    best, _ = request.disk_names("aws-nvme", 0, "vol-0abc")
    assert best == "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0abc"


def test_a_custom_disk_has_its_limits_and_what_no_catalogue_has_or_is_no_name_is_refused():
    disk = DiskSpec(type=CUSTOM, size_gib=1, iops=5, throughput_mib_per_s=2)
    (pool,) = request.disk_limits("vsphere", disk).pools
    assert pool.iops.baseline == 5
    with pytest.raises(InvalidValue, match="no catalogue"):
        request.disk_limits("vsphere", DiskSpec(type="thin", size_gib=1))
    for lease_id in ("", "..", "A", "a/b", "-a", "a" * 65, "a\n"):
        with pytest.raises(InvalidValue):
            request.check_lease_id(lease_id)
    for volume in ("", "../x", "a/b", ".", "-a"):
        with pytest.raises(InvalidValue):
            request.check_volume(volume)


@pytest.mark.parametrize(
    ("style", "disk", "unit"),
    [("azure", "PremiumV2_LRS", "MB/s"), ("aws-nvme", "gp3", "MiB/s"), ("azure", CUSTOM, "MiB/s")],
)
def test_throughput_is_told_in_the_unit_it_is_sold_in(style, disk, unit):
    assert request.throughput_unit(style, DiskSpec(type=disk, size_gib=100)) == unit


def test_cgroup_v2_is_found_or_told_and_a_base_of_somebody_else_is_refused(tmp_path, monkeypatch):
    with pytest.raises(HostUnavailable, match=r"io\.max"):
        find_groups(tmp_path)
    (tmp_path / "cgroup.controllers").write_text("cpu io memory\n")
    found = find_groups(tmp_path)
    assert (found.version, found.throttle_of("one")) == (2, found.of("one"))
    monkeypatch.setenv("DISKBENCH_LAB_DIR", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    with pytest.raises(HostUnavailable) as refused, places.locked("one"):
        pass
    assert "DISKBENCH_LAB_DIR" in refused.value.advice


def folders(base, number):
    found = [LeaseFolder(f"lease{n}", base / f"lease{n}") for n in range(number)]
    for place in found:
        place.path.mkdir(parents=True)
    return found


def first_time(patched, name, before):
    """Do something just before the first call of this method of Path: what another process does."""
    method, done = getattr(Path, name), []

    def called(self, *args, **kwargs):
        if not done:
            done.append(True)
            before(self)
        return method(self, *args, **kwargs)

    patched.setattr(Path, name, called)


def test_a_mark_that_goes_while_it_is_read_keeps_no_other(tmp_path, monkeypatch):
    ours, *others = folders(tmp_path, 4)
    for place in (ours, *others):
        claim_address(place)
    first_time(monkeypatch, "readlink", lambda _: [give_up_address(place) for place in others])
    give_up_address(ours)
    assert list((tmp_path / ADDRESSES).iterdir()) == []


def test_a_registry_that_its_last_host_takes_along_is_made_again(tmp_path, monkeypatch):
    [ours] = folders(tmp_path, 1)
    first_time(monkeypatch, "symlink_to", lambda link: link.parent.rmdir())
    claim_address(ours)
    assert [str(link.readlink()) for link in (tmp_path / ADDRESSES).iterdir()] == ["lease0"]


def test_an_address_that_is_given_up_while_it_is_asked_for_is_taken(tmp_path, monkeypatch):
    [ours] = folders(tmp_path, 1)
    taken = tmp_path / ADDRESSES / next(places.candidates(ours))
    taken.parent.mkdir()
    taken.symlink_to("another")
    first_time(monkeypatch, "readlink", lambda link: link.unlink())
    assert claim_address(ours)[0] == taken.name


def test_hosts_that_are_released_at_once_leave_no_registry(tmp_path):
    for _ in range(20):
        found = folders(tmp_path, 8)
        for place in found:
            claim_address(place)
        together = threading.Barrier(len(found))

        def release(place, together=together):
            together.wait()
            give_up_address(place)

        with ThreadPoolExecutor(len(found)) as pool:
            list(pool.map(release, found))
        assert list((tmp_path / ADDRESSES).iterdir()) == []
        for place in found:
            place.path.rmdir()


def test_a_release_of_nothing_removes_what_the_last_one_left(tmp_path, monkeypatch):
    monkeypatch.setenv(places.VARIABLE, str(tmp_path / "lab"))
    (tmp_path / "lab" / ADDRESSES).mkdir(parents=True)
    machines.release("never")
    assert not (tmp_path / "lab").exists()

"""Names and addresses: derived, legal, and the same each time."""

import ipaddress
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import HostUnavailable, InvalidValue
from diskbench.model.rental import CUSTOM, DiskSpec
from diskbench.providers.lab import places, request
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

"""What may be asked of vSphere, and in which words what may not is refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.model.options import RentSpec
from diskbench.providers.options import EmulationOptions
from diskbench.providers.vsphere.disk_request import MAX_COUNT, disk_request, server_url
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.providers.vsphere.requests import unit_number

NVME = VsphereOptions(datastore="nvme")


def of(**more):
    """A disk of 20 GiB by these options of vSphere's."""
    return RentSpec(size_gib=20, vsphere=NVME.model_copy(update=more))


def test_a_datastore_and_a_size_are_enough_and_no_disk_takes_the_place_of_its_controller():
    found = disk_request(RentSpec(size_gib=20, vsphere=NVME))
    assert (found.provisioning, found.controller, found.vcpus) == ("eager-zeroed", "pvscsi", 4)
    assert found.memory_mib == 8192
    assert found.spec("nvme").type == "nvme"
    places = [unit_number("pvscsi", index) for index in range(MAX_COUNT)]
    assert 7 not in places
    assert len(set(places)) == MAX_COUNT
    assert [unit_number("nvme", index) for index in range(3)] == [0, 1, 2]


def test_a_storage_policy_decides_how_the_disk_is_made_unless_a_known_way_is_typed():
    gold = {"datastore": None, "storage_policy": "gold"}
    assert disk_request(of(**gold)).provisioning is None
    assert disk_request(of(**gold, provisioning="thin")).provisioning == "thin"
    with pytest.raises(UnknownName, match="eager-zeroed"):
        disk_request(of(provisioning="eager"))


@pytest.mark.parametrize("memory_gib", [0.001, 1.001, 3.3])
def test_memory_is_a_multiple_of_four_mebibytes(memory_gib):
    found = disk_request(of(memory_gib=memory_gib)).memory_mib
    assert found >= 4
    assert found % 4 == 0


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (RentSpec(size_gib=20), "needs a datastore"),
        (RentSpec(vsphere=NVME), "needs a size"),
        (RentSpec(size_gib=20, disk="gp2", vsphere=NVME), "--disk gp2"),
        (RentSpec(size_gib=20, iops=100, vsphere=NVME), "--iops 100"),
        (RentSpec(size_gib=20, throughput_mib_per_s=9, vsphere=NVME), "--throughput 9"),
        (RentSpec(size_gib=20, spot=True, vsphere=NVME), "--spot"),
        (RentSpec(size_gib=70_000, vsphere=NVME), "at most 63,488 GiB"),
        (RentSpec(size_gib=20, count=9, stripe=True, vsphere=NVME), "too many"),
        (RentSpec(size_gib=20, stripe=True, vsphere=NVME), "several disks"),
        (of(insecure=True, ca_file="b"), "--insecure and --ca-file"),
        (RentSpec(size_gib=20, vsphere=NVME, lab=EmulationOptions(noise=0.1)), "lab's options"),
    ],
)
def test_what_cannot_be_had_is_named(spec, told):
    with pytest.raises(InvalidValue) as refused:
        disk_request(spec)
    assert told in refused.value.message


def test_a_server_is_known_by_name_or_url():
    for text in ("vcenter.example", "https://vcenter.example/sdk", "https://vcenter.example:443"):
        assert server_url(text) == "https://vcenter.example:443"


@pytest.mark.parametrize("text", ["http://vcenter.example", "https://", "https://a:b", "a b"])
def test_what_is_no_server_or_would_show_the_password_is_refused(text):
    with pytest.raises(InvalidValue):
        server_url(text)


@given(st.text())
def test_any_text_is_a_server_or_refused(text):
    with contextlib.suppress(UserError):
        assert server_url(text).startswith("https://")

"""The emulated Azure makes, refuses and forgets what the real one does."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from emulators import guests
from tests.cloud.rented import Keys, make_keys, until
from tests.cloud.rented_azure import (
    REGION,
    Azure,
    attach,
    disk,
    group,
    interface,
    launch,
    machine_body,
    refused,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def here(azure: Azure) -> str:
    return group(azure)


def put_machine(azure: Azure, here: str, keys: Keys, change: Any = None, **more: Any) -> Any:
    """Ask for a machine whose body `change` was shown."""
    body = machine_body(interface(azure, here).id, keys, **more)
    if change is not None:
        change(body["properties"])
    return azure.compute.virtual_machines.begin_create_or_update(here, "guest", body)


# Trust.


def test_its_certificate_is_of_its_own_authority(azure: Azure) -> None:
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(azure.endpoint, timeout=120)
    answer = requests.get(azure.endpoint, timeout=120, verify=str(azure.cloud.ca_file))
    assert answer.status_code == 401


def test_a_token_that_is_none_of_its_own_is_refused(azure: Azure) -> None:
    answer = requests.get(
        f"{azure.endpoint}/subscriptions?api-version=2022-12-01",
        headers={"Authorization": "Bearer forged"},
        verify=str(azure.cloud.ca_file),
        timeout=120,
    )
    assert answer.json()["error"]["code"] == "InvalidAuthenticationToken"


# Bodies.


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"location": REGION, "propertise": {}}, "BadRequest"),
        ({"location": REGION, "sku": {"name": "Premium_LSR"}}, "InvalidParameter"),
        ({"location": REGION, "properties": {"diskSizeGB": "4"}}, "InvalidRequestContent"),
        ({"location": "nowhere"}, "LocationNotAvailableForResourceType"),
        ({"location": REGION, "properties": {"diskSizeGB": 4}}, "InvalidParameter"),
        ({"location": REGION, "properties": {"creationData": {"createOption": "Empty"}}},
         "InvalidParameter"),
        ({"location": REGION, "tags": {"a/b": "c"}}, "InvalidTagNameCharacters"),
    ],
)  # fmt: skip
def test_a_body_that_azure_does_not_take_is_refused(
    azure: Azure, here: str, body: dict[str, Any], code: str
) -> None:
    with refused(code):
        azure.compute.disks.begin_create_or_update(here, "data", body)


# Disks.


@pytest.mark.parametrize(
    ("sku", "size", "more", "shown"),
    [
        ("Standard_LRS", 20, {}, (500, 60, None)),
        ("StandardSSD_LRS", 1024, {}, (500, 60, None)),
        ("Premium_LRS", 256, {}, (1100, 125, "P15")),
        ("Premium_LRS", 257, {}, (2300, 150, "P20")),
        ("Premium_LRS", 20, {"tier": "P30"}, (5000, 200, "P30")),
        ("PremiumV2_LRS", 20, {"zones": ["1"]}, (3000, 125, None)),
        ("UltraSSD_LRS", 20, {"diskIOPSReadWrite": 900, "zones": ["1"]}, (900, 8, None)),
    ],
)
def test_a_disk_shows_what_it_does(
    azure: Azure, here: str, sku: str, size: int, more: Any, shown: Any
) -> None:
    found = disk(azure, here, sku, size, **more).properties
    assert (found.disk_iops_read_write, found.disk_m_bps_read_write, found.tier) == shown
    assert found.disk_state == "Unattached"
    assert found.disk_size_bytes == size * 2**30


@pytest.mark.parametrize(
    ("sku", "size", "more"),
    [
        ("Premium_LRS", 32_768, {}),
        ("Premium_LRS", 256, {"diskIOPSReadWrite": 2000}),
        ("Premium_LRS", 512, {"tier": "P10"}),
        ("Premium_LRS", 512, {"tier": "P60"}),
        ("Standard_LRS", 512, {"tier": "P30"}),
        ("Premium_LRS", 512, {"burstingEnabled": True}),
        ("PremiumV2_LRS", 20, {}),
        ("PremiumV2_LRS", 20, {"zones": ["4"]}),
        ("PremiumV2_LRS", 20, {"diskIOPSReadWrite": 20_000, "zones": ["1"]}),
        ("PremiumV2_LRS", 20, {"diskMBpsReadWrite": 800, "zones": ["1"]}),
        ("PremiumV2_LRS", 20, {"tier": "P30", "zones": ["1"]}),
        ("UltraSSD_LRS", 2, {"zones": ["1"]}),
        ("UltraSSD_LRS", 4, {"diskIOPSReadWrite": 5000, "zones": ["1"]}),
    ],
)
def test_a_disk_that_nobody_sells_is_refused(
    azure: Azure, here: str, sku: str, size: int, more: Any
) -> None:
    with refused("InvalidParameter"):
        disk(azure, here, sku, size, **more)


# Machines.


def no_key(properties: Any) -> None:
    properties["osProfile"]["linuxConfiguration"].pop("ssh")


def root(properties: Any) -> None:
    properties["osProfile"]["adminUsername"] = "root"


def plain(properties: Any) -> None:
    properties["osProfile"]["customData"] = "#cloud-config"


def no_image(properties: Any) -> None:
    properties["storageProfile"]["imageReference"]["sku"] = "none"


def same_lun(properties: Any) -> None:
    one = {"lun": 1, "createOption": "Empty", "diskSizeGB": 4}
    properties["storageProfile"]["dataDisks"] = [one, one]


def ultra(properties: Any) -> None:
    properties["additionalCapabilities"] = {"ultraSSDEnabled": True}


@pytest.mark.parametrize(
    ("change", "code", "status"),
    [
        (no_key, "InvalidParameter", 400),
        (root, "InvalidParameter", 400),
        (plain, "InvalidParameter", 400),
        (no_image, "PlatformImageNotFound", 404),
        (same_lun, "InvalidParameter", 400),
        (ultra, "InvalidParameter", 400),  # in no zone
    ],
)
def test_a_machine_that_azure_does_not_take_is_refused(
    azure: Azure, here: str, keys: Keys, change: Any, code: str, status: int
) -> None:
    with refused(code, status):
        put_machine(azure, here, keys, change)
    assert list(azure.compute.virtual_machines.list(here)) == []


def test_sizes_zones_and_quotas_are_those_of_the_region(
    azure: Azure, here: str, keys: Keys
) -> None:
    with refused("InvalidParameter"):
        put_machine(azure, here, keys, size="Standard_D2s_v99")
    with refused("InvalidAvailabilityZone"):
        put_machine(azure, here, keys, zones=["7"])
    azure.faults.quota_cores = 1
    with refused("OperationNotAllowed", 409) as caught:
        put_machine(azure, here, keys)
    assert "Cores quota" in str(caught.value)


# What needs a machine that runs: one is made, and everything is tried on it.


def test_disks_that_cannot_be_attached_are_refused(azure: Azure, here: str, keys: Keys) -> None:
    launch(azure, here, keys, zones=["1"])
    zoned = {"zones": ["1"]}
    large = disk(azure, here, "Premium_LRS", 4096, name="large", **zoned)
    newer = disk(azure, here, "PremiumV2_LRS", 4, name="newer", **zoned)
    fast = disk(azure, here, "UltraSSD_LRS", 4, name="fast", **zoned)
    one, two = (disk(azure, here, name=name, **zoned) for name in ("one", "two"))
    elsewhere = disk(azure, here, name="elsewhere", zones=["2"])
    regional = disk(azure, here, name="regional")
    for wanted, code in (
        ([(large, 0, "ReadOnly")], "InvalidParameter"),
        ([(newer, 0, "ReadWrite")], "InvalidParameter"),
        ([(fast, 0, "None")], "InvalidParameter"),  # the machine has no ultraSSDEnabled
        ([(one, 0, "None"), (two, 0, "None")], "InvalidParameter"),
        ([(one, 64, "None")], "InvalidParameter"),
        ([(elsewhere, 0, "None")], "BadRequest"),
        ([(regional, 0, "None")], "BadRequest"),
    ):
        with refused(code):
            attach(azure, here, wanted)
    with refused("OperationNotAllowed", 409):  # a D2s v3 takes four
        attach(azure, here, [(one, lun, "None") for lun in range(5)])
    attach(azure, here, [(large, 0, "None"), (newer, 1, "None")])
    with refused("OperationNotAllowed", 409):
        azure.compute.disks.begin_delete(here, "large")
    launch(azure, here, keys, "other", zones=["1"])
    with refused("ConflictingUserInput", 409):
        attach(azure, here, [(large, 0, "None")], name="other")


def test_a_machine_follows_its_power_states(azure: Azure, here: str, keys: Keys) -> None:
    launch(azure, here, keys)
    machines = azure.compute.virtual_machines

    def state() -> str:
        found: str = machines.instance_view(here, "guest").statuses[-1].code
        return found.partition("/")[2]

    assert state() == "running"
    (machine,) = azure.cloud.machines.values()
    guests.switch_off(machine.guest.name)
    until(lambda: state() == "stopped")  # and is billed
    machines.begin_start(here, "guest").result()
    assert state() == "running"
    machines.begin_deallocate(here, "guest").result()
    assert state() == "deallocated"
    assert guests.names() == ()


def test_what_is_marked_goes_with_its_machine_and_the_rest_stays(
    azure: Azure, here: str, keys: Keys
) -> None:
    launch(azure, here, keys)
    attach(azure, here, [(disk(azure, here), 0, "None")])
    azure.compute.virtual_machines.begin_delete(here, "guest").result()
    assert [one.name for one in azure.compute.disks.list()] == ["data"]
    assert list(azure.network.network_interfaces.list(here)) == []
    assert list(azure.network.public_ip_addresses.list(here)) == []

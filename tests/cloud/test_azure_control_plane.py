"""The emulated Azure makes, refuses and forgets what the real one does."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from emulators import guests
from emulators.azure import power
from tests.cloud.rented import Keys, make_keys, until
from tests.cloud.rented_azure import (
    REGION,
    USER,
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


# Groups.


def test_nothing_is_made_in_a_group_that_is_not_there(azure: Azure) -> None:
    with refused("ResourceGroupNotFound", 404):
        disk(azure, "nowhere")


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


def test_a_region_without_zones_has_no_ultra_disks(azure: Azure, here: str) -> None:
    given = {"creationData": {"createOption": "Empty"}, "diskSizeGB": 20}
    body = {"location": "westus", "sku": {"name": "UltraSSD_LRS"}, "properties": given}
    with refused("SkuNotAvailable", 409):
        azure.compute.disks.begin_create_or_update(here, "data", body)


def test_a_disk_grows_and_does_not_shrink(azure: Azure, here: str) -> None:
    disk(azure, here, "Premium_LRS", 64)
    grown = azure.compute.disks.begin_update(here, "data", {"properties": {"diskSizeGB": 256}})
    assert grown.result().properties.tier == "P15"
    with refused("OperationNotAllowed", 409):
        azure.compute.disks.begin_update(here, "data", {"properties": {"diskSizeGB": 64}})


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


def test_a_size_without_premium_storage_takes_no_premium_disk(
    azure: Azure, here: str, keys: Keys
) -> None:
    def premium(properties: Any) -> None:
        image = properties["storageProfile"]["imageReference"]
        image["sku"] = "server-gen1"
        managed = {"storageAccountType": "Premium_LRS"}
        properties["storageProfile"]["osDisk"]["managedDisk"] = managed

    with refused("InvalidParameter"):
        put_machine(azure, here, keys, premium, size="Standard_D2_v3")


def test_no_capacity_is_told_inside_the_operation_and_the_machine_stays_failed(
    azure: Azure, here: str, keys: Keys
) -> None:
    azure.faults.capacity(zone="1")
    making = put_machine(azure, here, keys, zones=["1"])
    with refused("ZonalAllocationFailed", None):
        making.result()
    found = azure.compute.virtual_machines.get(here, "guest")
    assert found.properties.provisioning_state == "Failed"
    azure.compute.virtual_machines.begin_delete(here, "guest").result()


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


def test_a_schedule_deallocates_its_machine(azure: Azure, here: str, keys: Keys) -> None:
    machine = launch(azure, here, keys)
    below = machine.id.partition("/providers/")[0]
    schedule = {
        "location": REGION,
        "properties": {
            "status": "Enabled",
            "taskType": "ComputeVmShutdownTask",
            "dailyRecurrence": {"time": "2359"},
            "timeZoneId": "UTC",
            "targetResourceId": machine.id,
        },
    }
    resources, version = azure.resources.resources, {"api_version": "2018-09-15"}
    path = f"{below}/providers/Microsoft.DevTestLab/schedules/shutdown-computevm-"
    with refused("InvalidParameter"):
        resources.begin_create_or_update_by_id(path + "other", schedule, **version)
    resources.begin_create_or_update_by_id(path + "guest", schedule, **version).result()
    power.fire_schedules(azure.cloud)
    found = azure.compute.virtual_machines.instance_view(here, "guest")
    assert found.statuses[-1].code == "PowerState/deallocated"
    azure.resources.resource_groups.begin_delete(here).result()


def test_what_is_marked_goes_with_its_machine_and_the_rest_stays(
    azure: Azure, here: str, keys: Keys
) -> None:
    launch(azure, here, keys)
    attach(azure, here, [(disk(azure, here), 0, "None")])
    azure.compute.virtual_machines.begin_delete(here, "guest").result()
    assert [one.name for one in azure.compute.disks.list()] == ["data"]
    assert list(azure.network.network_interfaces.list(here)) == []
    assert list(azure.network.public_ip_addresses.list(here)) == []


def test_who_reads_changes_and_writes_back_loses_nothing(
    azure: Azure, here: str, keys: Keys
) -> None:
    launch(azure, here, keys)
    attach(azure, here, [(disk(azure, here), 0, "ReadOnly")])
    read = azure.compute.virtual_machines.get(here, "guest")
    assert read.properties.os_profile.custom_data is None
    assert read.properties.os_profile.admin_username == USER
    again = azure.compute.virtual_machines.begin_create_or_update(here, "guest", read).result()
    assert again.properties.storage_profile == read.properties.storage_profile


# Faults.

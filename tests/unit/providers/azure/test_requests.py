"""What Azure is sent: each request is a file, and the SDK's own models know all of it."""

import base64
import json
from typing import Any

import pytest
from emulators.azure import schema
from tests.rigs.golden import PLACE, Golden

from diskbench.model.rental import Claim, DiskSpec
from diskbench.providers.azure import requests, teardown
from diskbench.providers.options import EmulationOptions

CLAIM = Claim(lease_id="01jlease", expires_at=1_800_000_000.7, owner="me@here", version="0.1.0")
BELOW = "/subscriptions/0/resourceGroups/diskbench-01jlease/providers"
IMAGE = {"publisher": "Canonical", "offer": "ubuntu", "sku": "server", "version": "24.04.1"}
LAUNCH = requests.AzureLaunch(
    region="westeurope",
    size="Standard_D4s_v5",
    zone="1",
    image=IMAGE,
    interface=f"{BELOW}/Microsoft.Network/networkInterfaces/i",
    public_key="ssh-ed25519 AAAA",
    user_data="#cloud-config\n",
)
EVERYTHING = requests.AzureLaunch(
    region="westeurope",
    size="Standard_D4s_v5",
    zone=None,
    image={"id": f"{BELOW}/Microsoft.Compute/images/mine"},
    interface=f"{BELOW}/Microsoft.Network/networkInterfaces/i",
    public_key="ssh-ed25519 AAAA",
    user_data="#cloud-config\n",
    os_disk=DiskSpec(type="StandardSSD_LRS", size_gib=64),
    os_type="StandardSSD_LRS",
    os_caching="ReadOnly",
    ultra=True,
    spot=True,
    placement=f"{BELOW}/Microsoft.Compute/proximityPlacementGroups/near",
    lab="time_scale=60.0",
    encryption_set=f"{BELOW}/Microsoft.Compute/diskEncryptionSets/k",
)
V2 = DiskSpec(type="PremiumV2_LRS", size_gib=20, iops=4000, throughput_mib_per_s=200)
P15 = DiskSpec(type="Premium_LRS", size_gib=256)
LARGE = DiskSpec(type="Premium_LRS", size_gib=1024)
ATTACHED = requests.attachment(f"{BELOW}/Microsoft.Compute/disks/d", 0, "ReadWrite")
SCHEDULE = teardown.schedule(requests.tags(CLAIM), "westeurope", "/vm", CLAIM.expires_at)
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "resource_group": (
        "resource.resources", "ResourceGroup", requests.resource_group(CLAIM, "westeurope"),
    ),
    "security_group": (
        "network", "NetworkSecurityGroup",
        requests.security_group(CLAIM, "westeurope", "203.0.113.7/32"),
    ),
    "virtual_network": (
        "network", "VirtualNetwork", requests.virtual_network(CLAIM, "westeurope"),
    ),
    "public_address": ("network", "PublicIPAddress", requests.public_address(CLAIM, "westeurope")),
    "interface": (
        "network", "NetworkInterface",
        requests.interface(CLAIM, "westeurope", subnet="s", group="g", address="a"),
    ),
    "interface_without_address": (
        "network", "NetworkInterface",
        requests.interface(CLAIM, "westeurope", subnet="s", group="g", address=None),
    ),
    "virtual_machine": ("compute", "VirtualMachine", requests.virtual_machine(CLAIM, LAUNCH)),
    "virtual_machine_everything": (
        "compute", "VirtualMachine", requests.virtual_machine(CLAIM, EVERYTHING),
    ),
    "disk_premium": (
        "compute", "Disk", requests.disk(CLAIM, requests.NewDisk("westeurope", "2", P15)),
    ),
    "disk_premium_v2": (
        "compute", "Disk", requests.disk(CLAIM, requests.NewDisk("westeurope", "2", V2)),
    ),
    "disk_tier": (
        "compute", "Disk",
        requests.disk(CLAIM, requests.NewDisk("westeurope", None, P15, tier="P30")),
    ),
    "disk_bursting": (
        "compute", "Disk",
        requests.disk(CLAIM, requests.NewDisk("westeurope", None, LARGE, bursting=True)),
    ),
    "disk_copied_and_encrypted": (
        "compute", "Disk",
        requests.disk(
            CLAIM,
            requests.NewDisk(
                "westeurope", "2", P15,
                encryption_set=f"{BELOW}/Microsoft.Compute/diskEncryptionSets/k",
                snapshot=f"{BELOW}/Microsoft.Compute/snapshots/s",
            ),
        ),
    ),
    "data_disks": ("compute", "VirtualMachineUpdate", requests.data_disks([ATTACHED])),
    "schedule": (
        "resource.resources", "GenericResource", SCHEDULE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_what_its_file_says(name: str, golden: Golden) -> None:
    golden.check(
        f"requests/azure/{name}.json", json.dumps(CASES[name][2], indent=2, sort_keys=True)
    )


def test_no_file_is_left_of_a_request_that_is_gone() -> None:
    assert {file.stem for file in (PLACE / "requests/azure").iterdir()} == set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_sdk_knows_every_member_of_a_request(name: str) -> None:
    module, model, request = CASES[name]
    schema.check(module, model, request)


def test_the_user_data_is_in_no_text_of_a_launch() -> None:
    assert "cloud-config" not in repr(LAUNCH)
    sent = requests.virtual_machine(CLAIM, LAUNCH)["properties"]["osProfile"]["customData"]
    assert base64.b64decode(sent) == b"#cloud-config\n"


def test_a_tag_holds_what_azure_takes_of_it() -> None:
    odd = CLAIM.model_copy(update={"owner": "Zoë\n" + "x" * 300})
    owner = requests.tags(odd)["diskbench-owner"]
    assert owner.startswith("Zo__xxx")
    assert len(owner) == 256


def test_only_an_emulated_cloud_is_told_of_the_lab() -> None:
    assert "diskbench-lab" not in requests.tags(CLAIM)
    lab = EmulationOptions(time_scale=60, noise=0.1).tag()
    assert requests.tags(CLAIM, lab)["diskbench-lab"] == "noise=0.1 time_scale=60.0"


def test_a_lease_cannot_break_out_of_its_filter() -> None:
    assert requests.of_lease("a' or '1'='1").endswith("tagValue eq 'a'' or ''1''=''1'")

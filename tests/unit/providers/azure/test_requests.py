"""Where Azure is, and what a token is asked for there. What Azure is sent: each request is a
file, and the SDK's own models know all of it."""

import base64
import importlib
import json
from urllib.parse import parse_qs, urlsplit

import pytest
from azure.core.exceptions import ServiceRequestError
from emulators.azure import schema
from pydantic import SecretStr
from tests.rigs.golden import PLACE

from diskbench.errors import InvalidValue, Throttled
from diskbench.model.options import RentSpec
from diskbench.model.rental import Claim
from diskbench.providers.azure import client, requests, teardown
from diskbench.providers.azure import disk_request as wanted
from diskbench.providers.azure.client import Azure, AzureSessions, AzureTiming, kind_of
from diskbench.providers.azure.disk_request import is_azure
from diskbench.providers.azure.plugin import AzureOptions
from diskbench.providers.azure.requests import AzureOrder
from diskbench.providers.keys import LeaseKeys
from diskbench.providers.options import EmulationOptions
from diskbench.providers.skeleton.doctor import Bystander

GOVERNMENT = "https://management.usgovcloudapi.net"


def test_each_cloud_has_an_audience_of_its_own():
    for endpoint, scope in [
        ("https://management.azure.com", "https://management.azure.com/.default"),
        ("https://eastus.management.azure.com/", "https://management.azure.com/.default"),
        (GOVERNMENT, "https://management.core.usgovcloudapi.net/.default"),
        ("https://management.chinacloudapi.cn/", "https://management.chinacloudapi.cn/.default"),
        ("https://127.0.0.1:8443/", "https://127.0.0.1:8443/.default"),
    ]:
        assert client.token_scope(endpoint) == scope


def test_a_host_that_only_ends_alike_is_not_azure_and_results_of_another_are_emulated():
    assert is_azure("https://westus.management.azure.com")
    assert not is_azure("https://notmanagement.azure.com")
    assert not is_azure("https://management.azure.com.example.org")
    local, sessions = "https://127.0.0.1:1", AzureSessions()
    told = [sessions.at("s", url).emulated_endpoint() for url in (None, GOVERNMENT, local)]
    assert told == [None, None, local]
    group = "/subscriptions/0/resourceGroups/g"
    assert kind_of(group) == "Microsoft.Resources/subscriptions/resourceGroups"
    assert kind_of(f"{group}/resources") == f"{kind_of(group)}/resources"


def test_without_a_subscription_or_region_it_says_where_they_may_stand(monkeypatch):
    monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
    monkeypatch.delenv("AZURE_DEFAULTS_LOCATION", raising=False)
    with pytest.raises(InvalidValue, match="AZURE_SUBSCRIPTION_ID"):
        AzureSessions().at(None, None)
    with pytest.raises(InvalidValue, match="AZURE_DEFAULTS_LOCATION"):
        client.region_of(RentSpec(disk="Premium_LRS"))
    monkeypatch.setenv("AZURE_SUBSCRIPTION_ID", "ABC")
    monkeypatch.setenv("AZURE_DEFAULTS_LOCATION", "westeurope")
    assert AzureSessions().at(None, None).subscription == "abc"
    assert client.region_of(RentSpec(disk="Premium_LRS")) == "westeurope"


GROUP = ("g", "n", "s")
SENT = {
    "Microsoft.Compute/virtualMachines": ("compute", "virtual_machines_get", GROUP),
    "Microsoft.Compute/disks": ("compute", "disks_get", GROUP),
    "Microsoft.Compute/snapshots": ("compute", "snapshots_get", GROUP),
    "Microsoft.Compute/diskEncryptionSets": ("compute", "disk_encryption_sets_get", GROUP),
    "Microsoft.Compute/galleries/images": ("compute", "gallery_images_get", ("g", "a", "i", "s")),
    "Microsoft.Compute/images": ("compute", "images_get", GROUP),
    "Microsoft.Compute/skus": ("compute", "resource_skus_list", ("s",)),
    "Microsoft.Compute/locations/usages": ("compute", "usage_list", ("r", "s")),
    "Microsoft.Network/networkInterfaces": ("network", "network_interfaces_get", GROUP),
    "Microsoft.Network/locations/usages": ("network", "usages_list", ("r", "s")),
    "Microsoft.Resources/subscriptions/providers": (
        "resource.resources", "providers_get", ("Microsoft.Compute", "s"),
    ),
    "Microsoft.Resources/tags": ("resource.resources", "tags_update_at_scope", ("scope",)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", SENT)
def test_a_request_has_the_path_and_the_version_of_the_sdks_own(kind):
    package, name, arguments = SENT[kind]
    operations = importlib.import_module(f"azure.mgmt.{package}.operations._operations")
    url = urlsplit(getattr(operations, f"build_{name}_request")(*arguments).url)
    assert kind_of(url.path).lower() == kind.lower()
    assert parse_qs(url.query)["api-version"] == [client.version_of(kind)]


def test_what_a_user_types_is_no_part_of_a_query():
    seen: list[str] = []

    class Client:
        format_url = staticmethod(str)

        def send_request(self, request, **_):
            seen.append(request.url)
            raise ServiceRequestError("nobody is there")

    azure, path = client.Azure("0", None), "/subscriptions/0/resourceGroups/a?b c/resources"
    azure.__dict__["client"] = Client()
    with pytest.raises(Throttled):
        azure.edge(client.AzureTiming(retry_s=0)).get(path)
    (url,) = seen
    assert url.startswith("/subscriptions/0/resourceGroups/a%3Fb%20c/resources?api-version=")


CLAIM = Claim(lease_id="01jlease", expires_at=1_800_000_000.7, owner="me@here", version="0.1.0")
BELOW = "/subscriptions/0/resourceGroups/diskbench-01jlease/providers"
KEYS = LeaseKeys(
    user_private=SecretStr("user's"), user_public="ssh-ed25519 AAAA",
    host_private=SecretStr("host's"), host_public="ssh-ed25519 BBBB",
)  # fmt: skip
IMAGE = wanted.AzureImage(
    name="ubuntu",
    reference={"publisher": "Canonical", "offer": "ubuntu", "sku": "server", "version": "24.04.1"},
)
OWN = wanted.AzureImage(name="mine", reference={"id": f"{BELOW}/Microsoft.Compute/images/mine"})
MACHINE = wanted.AzureMachine(
    size="Standard_D4s_v5", arch="x86_64", vcpus=4, memory_bytes=2**34, premium=True,
    interface="scsi", uncached=wanted.DiskPath(), cached=wanted.DiskPath(), cacheable=True,
    max_disks=8,
)  # fmt: skip
KEY = f"{BELOW}/Microsoft.Compute/diskEncryptionSets/k"
SNAPSHOT = f"{BELOW}/Microsoft.Compute/snapshots/s"


def order(spec, *, emulated=False, image=IMAGE):
    """The order for a disk, as it is resolved."""
    asked = wanted.disk_request(spec)
    details = wanted.AzureResolved(
        region="westeurope", requested=asked, size_gib=asked.size_gib or 30, machine=MACHINE,
        image=image, os_type=asked.type if asked.kind == "root" else "Premium_LRS", zones=(),
        subnet=spec.subnet, ssh_cidr="203.0.113.7/32", emulated=emulated,
    )  # fmt: skip
    edge = Azure("0", None).edge(AzureTiming())
    return AzureOrder(
        claim=CLAIM, spec=spec, details=details, keys=KEYS, watch=Bystander(),
        timing=edge.timing, edge=edge,
    )  # fmt: skip


def disk(size=256, *, kind="Premium_LRS", **more):
    own = ("performance_tier", "bursting", "cache")
    azure = {name: more.pop(name) for name in own if name in more}
    return RentSpec(disk=kind, size_gib=size, azure=AzureOptions(**azure), **more)


PLAIN = order(disk())
OF_THE_USERS = order(disk(subnet=f"{BELOW}/Microsoft.Network/virtualNetworks/v/subnets/s"))
EVERYTHING = order(
    disk(
        64, kind="root:StandardSSD_LRS", cache="readonly", spot=True, kms_key=KEY,
        placement=f"{BELOW}/Microsoft.Compute/proximityPlacementGroups/near",
        endpoint_url="https://127.0.0.1:1", lab=EmulationOptions(time_scale=60),
    ),
    emulated=True,
    image=OWN,
)  # fmt: skip
ULTRA = order(disk(64, kind="UltraSSD_LRS", iops=500, throughput_mib_per_s=9))
V2 = disk(20, kind="PremiumV2_LRS", iops=4000, throughput_mib_per_s=200)


def network(order):
    return {part.role: part.request for part in requests.network(order)}


def machine(order):
    """The request for a machine, without what is said to its guest."""
    request = requests.machine(order, "1" if order is PLAIN else None).request
    told = base64.b64decode(request["properties"]["osProfile"]["customData"]).decode()
    assert told.startswith("#cloud-config")
    request["properties"]["osProfile"]["customData"] = "what the guest is told"
    return request


def of_disk(spec, zone="2"):
    (part,) = requests.disks(order(spec), zone)
    return part.request


ATTACHED = requests.attachment(f"{BELOW}/Microsoft.Compute/disks/d", 0, "ReadWrite")
SCHEDULE = teardown.schedule(requests.tags(CLAIM), "westeurope", "/vm", CLAIM.expires_at)
CASES = {
    "resource_group": ("resource.resources", "ResourceGroup", requests.resource_group(PLAIN)),
    "security_group": ("network", "NetworkSecurityGroup", network(PLAIN)["group"]),
    "virtual_network": ("network", "VirtualNetwork", network(PLAIN)["network"]),
    "public_address": ("network", "PublicIPAddress", network(PLAIN)["address"]),
    "interface": ("network", "NetworkInterface", network(PLAIN)["interface"]),
    "interface_without_address":
        ("network", "NetworkInterface", network(OF_THE_USERS)["interface"]),
    "virtual_machine": ("compute", "VirtualMachine", machine(PLAIN)),
    "virtual_machine_everything": ("compute", "VirtualMachine", machine(EVERYTHING)),
    "virtual_machine_ultra": ("compute", "VirtualMachine", machine(ULTRA)),
    "disk_premium": ("compute", "Disk", of_disk(disk())),
    "disk_premium_v2": ("compute", "Disk", of_disk(V2)),
    "disk_tier": ("compute", "Disk", of_disk(disk(performance_tier="P30"), None)),
    "disk_bursting": ("compute", "Disk", of_disk(disk(1024, bursting=True), None)),
    "disk_copied_and_encrypted":
        ("compute", "Disk", of_disk(disk(kms_key=KEY, snapshot=SNAPSHOT))),
    "snapshot": ("compute", "Snapshot", requests.snapshot(PLAIN).request),
    "data_disks": ("compute", "VirtualMachineUpdate", requests.data_disks([ATTACHED])),
    "schedule": ("resource.resources", "GenericResource", SCHEDULE),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_what_its_file_says(name, golden):
    text = json.dumps(CASES[name][2], indent=2, sort_keys=True)
    golden.check(f"requests/azure/{name}.json", text)
    assert {file.stem for file in (PLACE / "requests/azure").iterdir()} <= set(CASES), "one is left"


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_sdk_knows_every_member_of_a_request(name):
    schema.check(*CASES[name])


def test_no_text_has_what_the_guest_is_told_and_a_disk_in_three_zones_is_made_in_none():
    assert "customData" not in repr(requests.parts(PLAIN, None))
    assert "zones" not in of_disk(disk(kind="Premium_ZRS"))


def test_a_tag_holds_what_azure_takes_and_the_lab_if_emulated_and_no_lease_leaves_its_filter():
    odd = CLAIM.model_copy(update={"owner": "Zoë\n" + "x" * 300})
    owner = requests.tags(odd)["diskbench-owner"]
    assert owner.startswith("Zo__xxx")
    assert len(owner) == 256
    assert "diskbench-lab" not in requests.tags(CLAIM)
    lab = EmulationOptions(time_scale=60, noise=0.1).tag()
    assert requests.tags(CLAIM, lab)["diskbench-lab"] == "noise=0.1 time_scale=60.0"
    assert requests.of_lease("a' or '1'='1").endswith("tagValue eq 'a'' or ''1''=''1'")

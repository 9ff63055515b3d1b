"""The emulated Azure, Google Cloud and vSphere for the contract, and powers over them."""

import uuid

from tests.cloud.eager import AZURE, GCP, VSPHERE
from tests.cloud.rented_azure import REGION, Azure
from tests.cloud.rented_gcp import ZONE, Gcp
from tests.cloud.rented_vsphere import clone, listed
from tests.contract.rented import CloudRig, enter, switches

from diskbench.model.options import RentSpec
from diskbench.model.rental import Scope
from diskbench.ports import Renter
from diskbench.providers.azure.cloud import AzureProvider
from diskbench.providers.azure.plugin import AzureOptions
from diskbench.providers.gcp.cloud import GCPProvider
from diskbench.providers.vsphere.cloud import VsphereProvider
from diskbench.providers.vsphere.inventory import machines
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.providers.vsphere.requests import mark

_CACHED = AzureOptions(cache="readwrite")


class AzureCloud(CloudRig):
    leftover = "diskbench-{}"
    wrong = (
        RentSpec(),
        RentSpec(disk="Premium_LSR", size_gib=20),
        RentSpec(disk="Premium_LRS"),
        RentSpec(disk="Premium_LRS", size_gib=40_000),
        RentSpec(disk="Premium_LRS", size_gib=20, iops=500),
        RentSpec(disk="Premium_LRS", size_gib=4096, azure=_CACHED),
        RentSpec(disk="PremiumV2_LRS", size_gib=20, azure=_CACHED),
        RentSpec(disk="UltraSSD_LRS", size_gib=20, iops=1000, azure=_CACHED),
        RentSpec(disk="UltraSSD_LRS", size_gib=4, iops=50_000),
        RentSpec(disk="Premium_LRS", size_gib=20, azure=AzureOptions(cache="writeback")),
        RentSpec(disk="Premium_LRS", size_gib=1024, azure=AzureOptions(performance_tier="P10")),
        RentSpec(disk="Standard_LRS", size_gib=20, count=99),
    )

    def __init__(self, azure: Azure, monkeypatch, home) -> None:
        self.azure = azure
        enter(azure, monkeypatch, home)
        self.provider: Renter = AzureProvider(timing=AZURE)
        self.spec = RentSpec(
            disk="Standard_LRS", size_gib=1, region=REGION, endpoint_url=azure.endpoint
        )

    def count(self, lease_id: str) -> int:
        marked = tuple(
            f"{row['id']}/".lower()
            for row in self._rows()
            if (row.get("tags") or {}).get("diskbench-lease") == lease_id
        )
        return sum(f"{row['id']}/".lower().startswith(marked) for row in self._rows())

    def ends(self, lease_id: str) -> set[float]:
        mine = f"/resourcegroups/diskbench-{lease_id}/"
        carried = [row.get("tags") or {} for row in self._rows() if mine in f"{row['id'].lower()}/"]
        ends = [float(tags["diskbench-expires"]) for tags in carried if "diskbench-lease" in tags]
        assert len(ends) > 5
        return {*ends, *switches()}

    def is_there(self, copy: str) -> bool:
        name = copy.partition(" ")[2]
        return any(f"/{name}/" in f"{row['id']}/".lower() for row in self._rows())

    def _rows(self) -> list[dict]:
        with self.azure.cloud.lock:
            return list(self.azure.cloud.resources.values())

    def make(self, lease_id: str, name: str) -> str:
        tags = {"diskbench-lease": lease_id, "diskbench-expires": "1"}
        lag, self.azure.cloud.lag = self.azure.cloud.lag, 0  # an old thing, that everybody sees
        groups = self.azure.resources.resource_groups
        groups.create_or_update(name, {"location": REGION, "tags": tags})
        given = {"creationData": {"createOption": "Empty"}, "diskSizeGB": 1}
        body = {"location": REGION, "tags": tags, "properties": given}
        disk = f"diskbench-{lease_id}-forgotten"
        self.azure.compute.disks.begin_create_or_update(name, disk, body).result()
        self.azure.cloud.lag = lag
        return f"resource-group {name}"


class GcpCloud(CloudRig):
    wrong = (
        RentSpec(),
        RentSpec(disk="pd-sdd", size_gib=20),
        RentSpec(disk="pd-ssd"),
        RentSpec(disk="pd-ssd", size_gib=100_000),
        RentSpec(disk="pd-ssd", size_gib=20, iops=100),
        RentSpec(disk="pd-extreme", size_gib=500),
        RentSpec(disk="hyperdisk-balanced", size_gib=20, iops=20_000),
        RentSpec(disk="pd-ssd", size_gib=20, count=199),
        RentSpec(disk="pd-ssd", size_gib=20, instance_type="n4-standard-4"),
        RentSpec(disk="local-ssd", size_gib=100),
    )

    def __init__(self, gcp: Gcp, monkeypatch, home) -> None:
        self.gcp = gcp
        enter(gcp, monkeypatch, home)
        self.provider: Renter = GCPProvider(timing=GCP)
        self.spec = RentSpec(disk="pd-standard", size_gib=10, endpoint_url=gcp.endpoint)

    def count(self, lease_id: str) -> int:
        named = f"diskbench-{lease_id}-"
        rows = self.gcp.cloud.resources.values()
        return sum(
            row.get("labels", {}).get("diskbench-lease") == lease_id
            or row["name"].startswith(named)
            for row in rows
        )

    def ends(self, lease_id: str) -> set[float]:
        rows = self.gcp.cloud.resources.values()
        carried = [row.get("labels", {}) for row in rows]
        mine = [one for one in carried if one.get("diskbench-lease") == lease_id]
        # The guest's own switch comes later than Google's, which deletes the machine.
        return {float(one["diskbench-expires"]) for one in mine}

    def is_there(self, copy: str) -> bool:
        name = copy.rpartition("/")[2]
        return any(row["name"] == name for row in self.gcp.cloud.resources.values())

    def make(self, lease_id: str, name: str) -> str:
        labels = {"diskbench-lease": lease_id, "diskbench-expires": "1"}
        asked = {"name": name, "size_gb": 10, "labels": labels}
        once = {"request_id": str(uuid.uuid4())}
        self.gcp.call("Disks", "insert_unary", zone=ZONE, disk_resource=asked, **once)
        # It is an old thing, that everybody sees.
        self.gcp.cloud.sightings.settle()
        return f"disk {ZONE}/{name}"


NVME = VsphereOptions(datastore="nvme")


class VsphereCloud(CloudRig):
    wrong = (
        RentSpec(),
        RentSpec(size_gib=20),
        RentSpec(vsphere=NVME),
        RentSpec(size_gib=100_000, vsphere=NVME),
        RentSpec(size_gib=20, iops=100, vsphere=NVME),
        RentSpec(size_gib=20, disk="gp2", vsphere=NVME),
        RentSpec(size_gib=20, count=99, vsphere=NVME),
        RentSpec(size_gib=20, vsphere=VsphereOptions(datastore="nvme", storage_policy="gold")),
        RentSpec(size_gib=20, vsphere=VsphereOptions(datastore="nvme", provisioning="thick")),
        RentSpec(size_gib=20, vsphere=VsphereOptions(datastore="nvme", controller="ide")),
        RentSpec(size_gib=20, vsphere=VsphereOptions(datastore="nvme", cluster="a", esxi_host="b")),
        RentSpec(size_gib=20, endpoint_url="http://127.0.0.2:1", vsphere=NVME),
    )

    def __init__(self, vsphere, monkeypatch, home):
        self.vsphere = vsphere
        enter(vsphere, monkeypatch, home)
        self.provider: Renter = VsphereProvider(timing=VSPHERE)
        trusted = VsphereOptions(datastore="nvme", ca_file=str(vsphere.simulator.ca_file))
        self.spec = RentSpec(size_gib=1, endpoint_url=vsphere.endpoint, vsphere=trusted)

    def count(self, lease_id):
        machines, line = listed(self.vsphere), f"diskbench-lease: {lease_id}\n"
        return sum(line in machine.notes + "\n" for machine in machines)

    def ends(self, lease_id):
        name = f"diskbench-{lease_id}-machine"
        found = (mark(one.notes) for one in listed(self.vsphere) if one.name == name)
        return {float(one.expires_at) for one in found if one and one.expires_at} | switches()

    def make(self, lease_id, name):
        clone(self.vsphere, name, f"notes\ndiskbench-lease: {lease_id}\ndiskbench-expires: 1")
        self.vsphere.settled()  # it is an old thing: the lag is over for it
        (made,) = [one for one in self._marked(lease_id) if one.name == name]
        return made.told

    def is_there(self, copy):
        return copy in {one.told for one in self._marked(None)}

    def _marked(self, lease_id):
        assert isinstance(self.provider, VsphereProvider)
        scope = Scope(provider="vsphere", endpoint=self.vsphere.endpoint)
        scope = scope.model_copy(update={"ca_file": str(self.vsphere.simulator.ca_file)})
        opened = self.provider.sessions.of_scope(scope, VSPHERE)
        return [one for one in machines(opened) if lease_id in {None, one.lease_id}]

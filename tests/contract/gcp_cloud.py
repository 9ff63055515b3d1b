"""Google Cloud for the contract: the emulated Compute Engine, and powers over it."""

import uuid

from tests.cloud.eager import GCP
from tests.cloud.rented_gcp import ZONE, Gcp
from tests.contract.rented import CloudRig, enter

from diskbench.model.options import RentSpec
from diskbench.ports import Renter
from diskbench.providers.gcp.cloud import GCPProvider


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

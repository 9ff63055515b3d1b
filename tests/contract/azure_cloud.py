"""Azure for the contract: the emulated Resource Manager, and powers over it."""

from tests.cloud.eager import AZURE
from tests.cloud.rented_azure import REGION, Azure
from tests.contract.rented import CloudRig, enter, switches

from diskbench.model.options import RentSpec
from diskbench.ports import Renter
from diskbench.providers.azure.cloud import AzureProvider
from diskbench.providers.azure.plugin import AzureOptions

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

"""vSphere for the contract: VMware's simulator, and powers over it."""

from tests.cloud.eager import VSPHERE
from tests.cloud.rented_vsphere import clone, listed
from tests.contract.rented import CloudRig, enter, switches

from diskbench.model.options import RentSpec
from diskbench.model.rental import Scope
from diskbench.ports import Renter
from diskbench.providers.vsphere.cloud import VsphereProvider
from diskbench.providers.vsphere.inventory import machines
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.providers.vsphere.requests import mark

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

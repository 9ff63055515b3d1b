"""What tests do with an emulated Azure, by the plain SDK."""

import base64
from contextlib import contextmanager

import pytest
from emulators.azure import identity, server
from emulators.azure.cloud import SUBSCRIPTION
from tests.cloud.rented import Emulated

REGION = server.REGION
UBUNTU = {
    "publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest",
}  # fmt: skip
USER = "tester"


class Azure(Emulated):
    """A running emulator of Azure."""

    @property
    def env(self):
        return server.environment(self.cloud, self.endpoint)

    @property
    def compute(self):
        from azure.mgmt.compute import ComputeManagementClient

        return self._client("compute", ComputeManagementClient)

    @property
    def network(self):
        from azure.mgmt.network import NetworkManagementClient

        return self._client("network", NetworkManagementClient)

    @property
    def resources(self):
        from azure.mgmt.resource.resources import ResourceManagementClient

        return self._client("resources", ResourceManagementClient)

    def left(self):
        """Everything rented, and everything of it on this machine."""
        return server.left(self.cloud)

    def _client(self, name, kind):
        from azure.identity import ClientSecretCredential

        if name not in self.clients:
            trusted = {"connection_verify": str(self.cloud.ca_file)}
            known = (identity.TENANT, identity.CLIENT, identity.SECRET)
            credential = ClientSecretCredential(*known, authority=self.endpoint, **trusted)
            self.clients[name] = kind(
                credential, SUBSCRIPTION, base_url=self.endpoint,
                credential_scopes=[f"{self.endpoint}/.default"],
                polling_interval=0.02, retry_total=0, **trusted,
            )  # fmt: skip
        return self.clients[name]


def group(azure, name="here"):
    azure.resources.resource_groups.create_or_update(name, {"location": REGION})
    return name


def interface(azure, group, name="card"):
    """An interface with a public address, in a network of its own."""
    below = {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}
    below["subnets"] = [{"name": "one", "properties": {"addressPrefix": "10.0.0.0/24"}}]
    here = {"location": REGION, "properties": below}
    networks, addresses = azure.network.virtual_networks, azure.network.public_ip_addresses
    made = networks.begin_create_or_update(group, f"{name}-net", here).result()
    static = {"publicIPAllocationMethod": "Static"}
    standard = {"location": REGION, "sku": {"name": "Standard"}, "properties": static}
    address = addresses.begin_create_or_update(group, f"{name}-address", standard).result()
    where = {
        "subnet": {"id": made.properties.subnets[0].id},
        "publicIPAddress": {"id": address.id, "properties": {"deleteOption": "Delete"}},
    }
    card = {"ipConfigurations": [{"name": "first", "properties": where}]}
    body = {"location": REGION, "properties": card}
    return azure.network.network_interfaces.begin_create_or_update(group, name, body).result()


def machine_body(card, keys, *, size="Standard_D2s_v3", **more):
    """A machine that takes all of its own along when it is deleted; `more` is beside its
    properties."""
    key = {"path": f"/home/{USER}/.ssh/authorized_keys", "keyData": keys.user_public}
    ends = {"deleteOption": "Delete"}
    properties = {
        "hardwareProfile": {"vmSize": size},
        "storageProfile": {
            "imageReference": dict(UBUNTU), "osDisk": {"createOption": "FromImage", **ends},
        },
        "osProfile": {
            "computerName": "guest",
            "adminUsername": USER,
            "customData": base64.b64encode(keys.user_data.encode()).decode(),
            "linuxConfiguration": {
                "disablePasswordAuthentication": True, "ssh": {"publicKeys": [key]},
            },
        },
        "networkProfile": {"networkInterfaces": [{"id": card, "properties": ends}]},
    }  # fmt: skip
    return {"location": REGION, "properties": properties, **more}


def launch(azure, group, keys, name="guest", **more):
    """A running machine."""
    card = interface(azure, group, f"{name}-card")
    body = machine_body(card.id, keys, **more)
    return azure.compute.virtual_machines.begin_create_or_update(group, name, body).result()


def disk(azure, group, sku="Standard_LRS", size=4, **more):
    """A disk that is there. `zones` and `name` are beside its properties, all else is in them."""
    name = more.pop("name", "data")
    body = {"location": REGION, "sku": {"name": sku}}
    if zones := more.pop("zones", None):
        body["zones"] = zones
    given = {"creationData": {"createOption": "Empty"}, "diskSizeGB": size, **more}
    body["properties"] = given
    return azure.compute.disks.begin_create_or_update(group, name, body).result()


def attach(azure, group, disks, name="guest"):
    """Give the machine these disks, with LUN and caching each, and no others."""
    wanted = [
        {"lun": lun, "createOption": "Attach", "caching": caching, "managedDisk": {"id": one.id}}
        for one, lun, caching in disks
    ]
    body = {"properties": {"storageProfile": {"dataDisks": wanted}}}
    return azure.compute.virtual_machines.begin_update(group, name, body).result()


@contextmanager
def refused(code, status=400):
    """The block ends with Azure's error of that code and HTTP status; None is an operation's."""
    from azure.core.exceptions import HttpResponseError

    with pytest.raises(HttpResponseError) as caught:
        yield caught
    error = caught.value
    assert error.error is not None, error
    assert error.error.code == code, error.error
    assert status in {None, error.status_code}

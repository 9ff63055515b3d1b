"""The vSphere plugin of diskbench."""

from diskbench.plugin import Plugin
from diskbench.providers.vsphere.identity import GUEST

PLUGIN = Plugin(
    name="vsphere",
    title="vSphere",
    summary="Machines of a vSphere installation, with a virtual disk on the datastore to measure.",
    provider="diskbench.providers.vsphere.provider:VsphereProvider",
    rents=True,
    options=(
        "diskbench.providers.vsphere.options:VsphereOptions",
        "diskbench.providers.emulation:EmulationOptions",
    ),
    refuses={
        "disk": "it is the datastore that is measured: --datastore NAME",
        "iops": "vSphere sells none; limit the disk with --iops-limit",
        "throughput": "vSphere sells none; say what you expect with --promise",
        "region": "name a --datacenter",
        "zone": "name a --cluster or a --host",
        "instance_type": "give --vcpus and --memory",
        "image": "name a --template",
        "subnet": "name a --network",
        "security_group": "name a --network; vSphere has no security groups",
        "placement": "name a --cluster or a --host",
        "spot": "nothing is sold here",
        "ssh_cidr": "the network decides who reaches the machine",
        "account": "credentials are VSPHERE_USER and VSPHERE_PASSWORD",
    },
    promise_by_owner=True,
    place_option="datacenter",
    names_are_private=True,
    label="vSphere",
    guest=GUEST,
    errors="diskbench.providers.vsphere.errors:TABLE",
    catalogue="diskbench.providers.vsphere:catalogue",
)

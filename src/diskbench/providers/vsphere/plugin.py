"""The vSphere plugin of diskbench, and how a guest shows that it is a machine of vSphere."""

import uuid

from diskbench.plugin import GuestIdentity, Plugin, Redaction


def _is_instance(printed: str, instance_id: str) -> bool:
    """Whether both are one UUID. The byte order of its first three fields differs where firmware
    and reader interpret SMBIOS 2.6 (section 7.2.1) differently."""
    try:
        known, read = uuid.UUID(instance_id), uuid.UUID(printed.strip())
    except ValueError:
        return False
    return read.bytes in {known.bytes, known.bytes_le}


GUEST = GuestIdentity(
    firmware=({"sys_vendor": "VMware"}, {"product_name": "VMware"}),
    # The machine's UUID, which vCenter gave it (`config.uuid`); root alone may read it.
    proof="cat /sys/class/dmi/id/product_uuid",
    is_instance=_is_instance,
    network_nvme_models=("VMware Virtual NVMe",),
    needs_root=True,
)


PLUGIN = Plugin(
    name="vsphere",
    title="vSphere",
    summary="Machines of a vSphere installation, with a virtual disk on the datastore to measure.",
    provider="diskbench.providers.vsphere.cloud:VsphereProvider",
    rents=True,
    options=(
        "diskbench.providers.vsphere.options:VsphereOptions",
        "diskbench.providers.options:EmulationOptions",
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
        "kms_key": "name a --storage-policy that encrypts",
        "from_snapshot": "vSphere makes snapshots of machines, not of disks; the cost of a first "
        "touch shows with --provisioning thin",
        "snapshot_of_fill": "vSphere makes snapshots of machines, not of disks",
        "ssh_cidr": "the network decides who reaches the machine",
        "account": "credentials are VSPHERE_USER and VSPHERE_PASSWORD",
    },
    promise_by_owner=True,
    place_option="datacenter",
    names_are_private=True,
    label="vSphere",
    guest=GUEST,
    redaction=Redaction(
        variables=("VSPHERE_USER", "VSPHERE_PASSWORD", "VSPHERE_SERVER"),
        options=(
            "endpoint_url",
            "datastore",
            "storage_policy",
            "template",
            "network",
            "datacenter",
            "cluster",
            "host",
            "folder",
            "resource_pool",
            "ca_file",
        ),
        fields=(
            "userName",
            "fullName",
            "hostName",
            "annotation",
            "customValue",
            "CustomFieldValue",
            "url",
            "remoteHost",
            "sslThumbprint",
            "thumbprint",
            "instanceUuid",
            "extraConfig",
        ),
        names=(
            r"<name>(?:name|[\w.]+\.name)</name>\s*<val[^>]*>([^<]+)</val>",
            r"<val[^>]*>\s*<name>([^<]+)</name>",
            r"<deviceName>([^<]+)</deviceName>",
            r"\[([^\]<>]+)\] ",
            r"\[[^\]<>]+\] ([^/<>]+)/",
        ),
        # The folders and the pool that vCenter makes itself (vSphere API, Datacenter, Folder,
        # ClusterComputeResource). Their names are words of its requests, too.
        public=("(?i:vm|host|datastore|network|datacenters|resources)",),
    ),
    errors="diskbench.providers.vsphere.errors:TABLE",
    catalogue="diskbench.providers.vsphere:catalogue",
)

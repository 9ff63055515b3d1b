"""The vSphere plugin of diskbench, its options, and how a guest shows that it is a machine of
vSphere."""

import uuid
from typing import ClassVar

from diskbench.model.options import Options, option
from diskbench.plugin import GuestIdentity, Plugin, Redaction


class VsphereOptions(Options):
    """Where in a vSphere inventory, and how the virtual disk is made."""

    group: ClassVar[str] = "vsphere"
    panel: ClassVar[str] = "vSphere"

    datastore: str | None = option(
        None, "Datastore that the disk is made on.", metavar="NAME", in_key="disk"
    )
    storage_policy: str | None = option(
        None, "Storage policy, instead of a datastore.", metavar="NAME", in_key="disk"
    )
    provisioning: str | None = option(
        None, "How the disk is made (default: eager-zeroed, or as the storage policy says).",
        values=("thin", "lazy-zeroed", "eager-zeroed"), of_disk=True,
    )  # fmt: skip
    controller: str | None = option(
        None, "The disk's controller (default: pvscsi).", values=("pvscsi", "nvme", "lsi")
    )
    iops_limit: int | None = option(
        None, "IOPS limit of the host for the disk; a request above 32 KiB counts as several.",
        metavar="N", ge=16,
    )  # fmt: skip
    vcpus: int | None = option(None, "Virtual CPUs of the machine.", metavar="N", ge=1)
    memory_gib: float | None = option(
        None, "Memory of the machine, in GiB.", flag="--memory", metavar="GIB", gt=0
    )
    template: str | None = option(
        None, "Template that the machine is cloned from.", metavar="NAME", in_key="no"
    )
    network: str | None = option(
        None, "Network that the machine is on.", metavar="NAME", in_key="no"
    )
    datacenter: str | None = option(
        None, "Datacenter (default: the only one).", metavar="NAME", in_key="no"
    )
    cluster: str | None = option(
        None, "Cluster to run in; or give one --host.", metavar="NAME", in_key="no"
    )
    esxi_host: str | None = option(
        None, "ESXi host to run on, instead of a cluster.",
        flag="--host", metavar="NAME", in_key="no",
    )  # fmt: skip
    folder: str | None = option(
        None, "Folder that the machine is made in.", metavar="NAME", in_key="no"
    )
    resource_pool: str | None = option(
        None, "Resource pool to run in.", metavar="NAME", in_key="no"
    )
    ca_file: str | None = option(
        None, "Certificates with which to verify the server.",
        metavar="FILE", in_key="no", scopes=True,
    )  # fmt: skip
    insecure: bool = option(
        default=False, about="Do not verify the server's certificate (dangerous).",
        in_key="no", scopes=True,
    )  # fmt: skip


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
        "diskbench.providers.vsphere.plugin:VsphereOptions",
        "diskbench.providers.options:EmulationOptions",
    ),
    refuses={
        "disk": "choose a datastore instead: --datastore NAME",
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
            "endpoint_url", "datastore", "storage_policy", "template", "network", "datacenter",
            "cluster", "host", "folder", "resource_pool", "ca_file",
        ),
        fields=(
            "userName", "fullName", "hostName", "annotation", "customValue", "CustomFieldValue",
            "url", "remoteHost", "sslThumbprint", "thumbprint", "instanceUuid", "extraConfig",
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
)  # fmt: skip

"""Options that only vSphere has."""

from typing import ClassVar

from diskbench.model.options import Options, option


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
        None,
        "How the disk is made (default: eager-zeroed; with a policy, as that says).",
        values=("thin", "lazy-zeroed", "eager-zeroed"),
        of_disk=True,
    )
    controller: str | None = option(
        None, "The disk's controller (default: pvscsi).", values=("pvscsi", "nvme", "lsi")
    )
    iops_limit: int | None = option(
        None,
        "IOPS limit of the host for the disk; a request above 32 KiB counts as several.",
        metavar="N",
        ge=16,
    )
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
        None, "Cluster to run in; or name one --host.", metavar="NAME", in_key="no"
    )
    esxi_host: str | None = option(
        None,
        "ESXi host to run on, instead of a cluster.",
        flag="--host",
        metavar="NAME",
        in_key="no",
    )
    folder: str | None = option(
        None, "Folder that the machine is made in.", metavar="NAME", in_key="no"
    )
    resource_pool: str | None = option(
        None, "Resource pool to run in.", metavar="NAME", in_key="no"
    )
    ca_file: str | None = option(
        None,
        "Certificates with which to verify the server.",
        metavar="FILE",
        in_key="no",
        scopes=True,
    )
    insecure: bool = option(
        default=False,
        about="Do not verify the server's certificate (dangerous).",
        in_key="no",
        scopes=True,
    )

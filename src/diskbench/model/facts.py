"""Facts read from a machine, unchanged."""

from typing import Any

from pydantic import Field

from diskbench.model.base import Frozen


class CpuFacts(Frozen):
    """The processors the load generator runs on."""

    model: str = ""
    count: int = 1
    architecture: str = ""


class DiskFacts(Frozen):
    """The block device under the target, from sysfs and lsblk; None where they give no value."""

    name: str
    path: str
    number: str = ""
    size_bytes: int | None = None
    transport: str | None = None
    driver: str | None = None
    model: str | None = None
    vendor: str | None = None
    serial: str | None = None
    wwn: str | None = None
    backing_file: str | None = None
    backing_inode: int | None = None
    rotational: bool | None = None
    scheduler: str | None = None
    nr_requests: int | None = None
    max_sectors_kb: int | None = None
    read_ahead_kb: int | None = None
    logical_block_bytes: int | None = None
    physical_block_bytes: int | None = None
    write_cache: str | None = None


class MountFacts(Frozen):
    """The filesystem under a directory target."""

    mount_point: str
    source: str
    fstype: str
    options: str
    size_bytes: int | None = None
    available_bytes: int | None = None
    mkfs: str | None = None


class CloudFacts(Frozen):
    """Which cloud the guest says it runs in (DMI strings, IMDS where asked), and its type."""

    vendor: str | None = None
    product: str | None = None
    instance_type: str | None = None
    zone: str | None = None
    instance_id: str | None = None
    verified: bool = False


class HostFacts(Frozen):
    """One machine before a trial: processor, memory, kernel, fio, the disk and its filesystem."""

    hostname: str = ""
    user: str = ""
    is_root: bool = False
    can_sudo: bool = False
    cpu: CpuFacts = CpuFacts()
    memory_bytes: int = 0
    memory_available_bytes: int = 0
    kernel: str = ""
    distribution: str = ""
    virtualisation: str | None = None
    has_systemd: bool = False
    fio_version: str | None = None
    fio_engines: tuple[str, ...] = ()
    load_1m: float | None = None
    cloud: CloudFacts = CloudFacts()
    disk: DiskFacts | None = None
    other_disks: tuple[DiskFacts, ...] = ()
    """Further disks of a target of several, in its order."""
    mount: MountFacts | None = None
    layers: tuple[str, ...] = ()
    """What lies between the filesystem and its disks, from the top, such as `LVM volume vg-data`
    and `dm-crypt data`."""
    network_filesystem: bool = False
    clock_offset_s: float | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

"""What is rented: as typed, as resolved by looking, and where to look for it again."""

from typing import Any

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.model.disk import DiskSpec


class LabSpec(Frozen):
    """How a lab host behaves; meaningful for the lab and for emulated clouds on it only.

    `time_scale` divides the capacity of burst buckets and nothing else. `vm_…` cap the sum of all
    disks of the host. `noise` is the standard deviation of the limits from second to second.
    `latency_ms` is the median time a request takes at least, `latency_jitter` the sigma of its
    lognormal distribution.
    """

    style: str | None = None
    user: str = "root"
    time_scale: float = Field(default=1.0, ge=1)
    vm_iops: float | None = Field(default=None, gt=0)
    vm_throughput_mib_per_s: float | None = Field(default=None, gt=0)
    noise: float = Field(default=0.0, ge=0, le=1)
    stall_every_s: float = Field(default=0.0, ge=0)
    stall_for_s: float = Field(default=0.0, ge=0)
    latency_ms: float = Field(default=0.0, ge=0)
    latency_jitter: float = Field(default=0.0, ge=0, le=2)
    seed: int = 0


class AzureSpec(Frozen):
    """What only Azure sells: host caching, a tier above the size's own, bursting on demand."""

    cache: str | None = None
    performance_tier: str | None = None
    bursting: bool = False


class VsphereSpec(Frozen):
    """Where in a vSphere inventory, and how the virtual disk is made."""

    datastore: str | None = None
    storage_policy: str | None = None
    provisioning: str | None = None
    controller: str | None = None
    vcpus: int | None = Field(default=None, ge=1)
    memory_gib: float | None = Field(default=None, gt=0)
    template: str | None = None
    network: str | None = None
    datacenter: str | None = None
    cluster: str | None = None
    esxi_host: str | None = None
    folder: str | None = None
    resource_pool: str | None = None
    iops_limit: int | None = Field(default=None, ge=16)
    ca_file: str | None = None
    insecure: bool = False


class RentSpec(Frozen):
    """What to rent, as typed: nothing in it was looked up. None leaves a choice to the provider.

    `disk` is the cloud's own name of a disk type, or `root` and `instance-store` for disks that
    come with the machine. `throughput_mib_per_s` is in the unit that the cloud sells, MB/s on Azure
    (DiskSpec). `count` equal disks are attached; `stripe` makes one RAID 0 of them.
    `account` names what is paid by: an AWS profile, an Azure subscription, a Google project; never
    a secret.
    """

    disk: str | None = None
    size_gib: int | None = Field(default=None, ge=1)
    iops: int | None = Field(default=None, ge=1)
    throughput_mib_per_s: float | None = Field(default=None, gt=0)
    count: int = Field(default=1, ge=1)
    stripe: bool = False
    region: str | None = None
    zone: str | None = None
    instance_type: str | None = None
    image: str | None = None
    subnet: str | None = None
    security_group: str | None = None
    placement: str | None = None
    spot: bool = False
    ssh_cidr: str | None = None
    account: str | None = None
    endpoint_url: str | None = None
    azure: AzureSpec = AzureSpec()
    vsphere: VsphereSpec = VsphereSpec()
    lab: LabSpec = LabSpec()


class Scope(Frozen):
    """Where a lease's things are found again by their tags; nothing secret. `ca_file` and
    `insecure` say how the endpoint is trusted."""

    provider: str
    account: str | None = None
    region: str | None = None
    endpoint: str | None = None
    ca_file: str | None = None
    insecure: bool = False


class PricePart(Frozen):
    """What an hour of one part of a rental costs: the machine, a disk, an address.

    `hourly_usd` is None where no price is known. At least `minimum_s` seconds are billed. `source`
    says where the price was read, and when.
    """

    name: str
    hourly_usd: float | None
    minimum_s: float = 0.0
    source: str = ""


class Rental(Frozen):
    """What will be rented: a RentSpec resolved by read-only calls, before anything costs money.

    `zones` are tried in order. `offer` says in one line what will be rented, `promise` what its
    disk promises. `cores` and `memory_bytes` are the machine's, for planning before it exists.
    `prices` are those of its parts, and `hourly_usd` their sum, None unless all are known; what
    transactions cost comes on top (catalog/cost.py). `details` is the provider's own, JSON only,
    and all that `acquire` needs beside the rest. It names no secret.
    """

    scope: Scope
    spec: RentSpec
    cloud: str | None = None
    """Whose catalogue the disk stands in; None: the provider's own name."""
    offer: str
    promise: str = ""
    zones: tuple[str, ...] = ()
    instance_type: str | None = None
    image: str | None = None
    disk: DiskSpec | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    hourly_usd: float | None = None
    prices: tuple[PricePart, ...] = ()
    warnings: tuple[str, ...] = ()
    holds_credit: bool = False
    """Filling the disk spends no burst credit (ports.HoldsCredit)."""
    details: dict[str, Any] = Field(default_factory=dict)


class Claim(Frozen):
    """What every rented resource carries, to be found again (docs/design.md#conventions)."""

    lease_id: str
    expires_at: float
    """Unix seconds; after it everything of the lease may be taken away by anybody."""
    owner: str
    version: str
    turn: int = Field(default=1, ge=1)
    """Which of the trials that share the machine in turn; its disks are told apart by it."""


class LeaseEnd(Frozen):
    """When a lease ends from now on: `expires_at` in Unix seconds, and `left_s`, how many seconds
    that is from now by the database's clock (the guest's clock may be wrong)."""

    expires_at: float
    left_s: float


class Found(Frozen):
    """What is left of a lease, as listed: `resources` are `kind id` texts, in no order.

    `not_ours` carry the lease's tags, too, but another name: somebody copied them. `owner` is who
    the tags of `resources` say rented it (the setting `owner`, in the characters that the cloud
    takes), and `expires_at` (Unix seconds) what they say of its end; None where they do not.
    """

    lease_id: str
    scope: Scope
    expires_at: float | None = None
    owner: str | None = None
    resources: tuple[str, ...] = ()
    not_ours: tuple[str, ...] = ()

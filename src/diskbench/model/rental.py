"""What is rented, where to look for it again, and whether what is found was made for the lease.

Tags are copied by hand ("launch more like this") and by clouds (snapshots, restored disks). So a
resource is ours only if its tag, its name and, where an id was recorded, its id agree.
"""

import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.model.options import RentSpec

CUSTOM = "custom"
"""The type of a lab's disk that no catalogue knows: limited by the figures given, or not at all."""
NOT_OURS = "carries our tags, but is not ours"
_KIND = re.compile(r"[a-z0-9][a-z0-9-]*")


class DiskSpec(Frozen):
    """The disk to rent, as requested; nothing in it was looked up.

    `type` is the cloud's own name (`gp2`, `Premium_LRS`, `pd-ssd`). `iops` and
    `throughput_mib_per_s` are what is provisioned where the type sells them apart; None takes the
    type's default. It is in the unit that the provider sells: MiB/s, or MB/s of 10^6 bytes
    (diskbench.plugin.Plugin.throughput_unit_bytes). `catalog.lookup.limits` takes it so and answers
    in bytes. `io_kib` is the largest request that counts as one I/O of a `custom` disk. `count`
    equal disks are attached.
    """

    type: str
    size_gib: int = Field(ge=1)
    iops: int | None = Field(default=None, ge=1)
    throughput_mib_per_s: float | None = Field(default=None, gt=0)
    io_kib: int | None = Field(default=None, ge=4)
    count: int = Field(default=1, ge=1)


class SshAccess(Frozen):
    """How to reach and verify a machine that was made for a lease; paths are on the controller.

    `config` is an OpenSSH configuration with all other settings for `address`; `host_key` is the
    public key line (`ssh-ed25519 AAAA…`) that the machine must present.
    """

    config: str
    known_hosts: str
    identity_file: str
    host_key: str
    user: str
    port: int = 22


class Acquired(Frozen):
    """A machine with its disk, as it was found after it was made.

    `address` is what an `ssh` client is given. `device` is the disk's path inside the guest and
    `identity` what `--destroy-data` takes for it; a disk that is measured through a file (`root`)
    has a `directory` instead. `devices` are all disks of the spec, `device` the first, or the array
    made of them. `made` are kinds and ids of everything of the lease that was there then, as
    `Found.resources` has them: what carries its tags later and is not among them is not ours.
    `size_bytes` and `facts` were read back from provider and guest; none of the
    fields is a wish. `emulated` marks a machine that no cloud vouches for.
    """

    address: str
    device: str | None = None
    directory: str | None = None
    devices: tuple[str, ...] = ()
    identities: tuple[str, ...] = ()
    identity: str | None = None
    made: tuple[str, ...] = ()
    size_bytes: int
    facts: dict[str, Any] = Field(default_factory=dict)
    emulated: bool
    ssh: SshAccess | None = None


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
    transactions cost comes on top (catalog/cost.py). `details` is the provider's own, JSON
    only, and all that `acquire` needs beside the rest. It names no secret.
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
    loads_bytes_per_s: float | None = None
    """Bytes a second at which blocks are loaded from a snapshot when they are first read; 0: the
    cloud promises no rate. None: all of them are there, or nothing is known of a loading."""
    holds_credit: bool = False
    """Filling the disk spends no burst credit (ports.HoldsCredit)."""
    details: dict[str, Any] = Field(default_factory=dict)

    @property
    def catalogue(self) -> str:
        """The provider whose catalogue lists the disk."""
        return self.cloud or self.scope.provider

    @property
    def promise_words(self) -> str:
        """`promise`, and of several disks that it is each one's; empty where it is."""
        several = self.disk is not None and self.disk.count > 1
        return f"each disk: {self.promise}" if several and self.promise else self.promise


class Claim(Frozen):
    """What every rented resource carries, to be found again (docs/design.md#conventions)."""

    lease_id: str
    expires_at: float
    """Unix seconds; after it everything of the lease may be taken away by anybody."""
    owner: str
    version: str
    turn: int = Field(default=1, ge=1)
    """Which of the trials that share the machine in turn; it distinguishes their disks."""
    tags: tuple[tuple[str, str], ...] = ()
    """The user's own tags, on everything that is made (RentSpec.tags)."""


class LeaseEnd(Frozen):
    """When a lease ends from now on: `expires_at` in Unix seconds, and `left_s`, how many seconds
    that is from now by the database's clock (the guest's clock may be wrong)."""

    expires_at: float
    left_s: float


class Found(Frozen):
    """What is left of a lease, as listed: `resources` are `kind id` texts, in no order.

    `not_ours` carry the lease's tags, too, but another name: they were copied. `owner` is who
    the tags of `resources` say rented it (the setting `owner`, in the characters that the cloud
    takes), and `expires_at` (Unix seconds) what they say of its end; None where they do not.
    """

    lease_id: str
    scope: Scope
    expires_at: float | None = None
    owner: str | None = None
    resources: tuple[str, ...] = ()
    not_ours: tuple[str, ...] = ()


def is_named_for(lease_id: str, name: str | None) -> bool:
    """Whether a name is `diskbench-LEASE-KIND`, the form of every name made for a lease."""
    begin = f"diskbench-{lease_id}-"
    return name is not None and name.startswith(begin) and bool(_KIND.fullmatch(name[len(begin) :]))


def was_made(described: str, made: Collection[str]) -> bool:
    """Whether `described` (`volume vol-0abc`) was recorded as made, or nothing of its kind was
    recorded."""
    kinds = {resource.partition(" ")[0] for resource in made}
    return described in made or described.partition(" ")[0] not in kinds


def is_ours(lease_id: str, name: str | None, resource: str, made: Collection[str] = ()) -> bool:
    """Whether a resource with the tag of a lease was made for it; `resource` is its `kind id` and
    `name` its name."""
    return is_named_for(lease_id, name) and was_made(resource, made)


@dataclass(frozen=True)
class Which:
    """Which of the things that carry a lease's tag are meant: those that were made for it, or those
    alone that a person named as `copied` (ports.Renter.release)."""

    lease_id: str
    made: Sequence[str] = ()
    copied: Sequence[str] = ()

    def takes(self, name: str | None, resource: str) -> bool:
        """Whether what is called `name`, and listed as `kind id`, is meant."""
        if self.copied:
            return resource in self.copied
        return is_ours(self.lease_id, name, resource, self.made)

    def warn(self, resources: Collection[str]) -> None:
        """Log the resources that carry the tag and are left alone."""
        if resources and not self.copied:
            logging.getLogger(__name__).warning(
                "lease %s: %s %s; not changed",
                self.lease_id,
                ", ".join(sorted(resources)),
                NOT_OURS,
            )

"""A disk as requested, and as attached to a machine."""

from typing import Any

from pydantic import Field

from diskbench.model.base import Frozen

CUSTOM = "custom"
"""The type of a lab's disk that no catalogue knows: limited by the figures given, or not at all."""


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

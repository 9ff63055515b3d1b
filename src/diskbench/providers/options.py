"""Options that several providers have: the network of a rented machine, and the lab's."""

from typing import ClassVar

from diskbench.model.options import Options, option


class NetworkOptions(Options):
    """How a rented machine is reached: by default at a public address of its own; without one,
    from a worker in its network or through a jump host (docs/renting.md)."""

    group: ClassVar[str] = "network"
    panel: ClassVar[str] = "Network"

    no_public_ip: bool = option(
        default=False,
        about="Rent the machine without a public address: reach it from inside its network.",
        in_key="no",
    )


class EmulationOptions(Options):
    """How a lab host behaves; meaningful for the lab and for emulated clouds on it only.

    `time_scale` divides the capacity of burst buckets and nothing else. `vm_…` cap the sum of all
    disks of the host. `noise` is the standard deviation of the limits from second to second.
    `latency_ms` is the median time a request takes at least, `latency_jitter` the sigma of its
    lognormal distribution.
    """

    group: ClassVar[str] = "lab"
    panel: ClassVar[str] = "Hosts made of this machine (the lab, and emulated clouds on it)"

    style: str | None = option(
        None,
        "Whose device names the disks have (default: those of the cloud that sells the disk).",
        flag="--lab-style",
        values=("aws-nvme", "aws-xen", "azure", "azure-nvme", "google", "vsphere"),
    )
    user: str = option(
        "root",
        "The host's user: root, or another user with sudo.",
        flag="--lab-user",
        metavar="NAME",
        in_key="no",
    )
    time_scale: float = option(
        1.0, "Divide the capacity of burst buckets by this, and nothing else.", ge=1
    )
    vm_iops: float | None = option(None, "Cap on the IOPS of all disks together.", gt=0)
    vm_throughput_mib_per_s: float | None = option(
        None,
        "Cap on the MiB/s of all disks together.",
        flag="--vm-throughput",
        metavar="MIB_PER_S",
        gt=0,
    )
    noise: float = option(
        0.0, "Standard deviation of the limits, second to second (0.05 is 5 %).", ge=0, le=1
    )
    stall_every_s: float = option(
        0.0,
        "Mean seconds between stalls of the disks (0: none).",
        flag="--stall-every",
        metavar="SECONDS",
        ge=0,
    )
    stall_for_s: float = option(
        0.0, "Seconds that a stall lasts.", flag="--stall-for", metavar="SECONDS", ge=0
    )
    latency_ms: float = option(
        0.0,
        "Median of the least time that each request takes (0: no delay).",
        flag="--latency",
        metavar="MS",
        ge=0,
    )
    latency_jitter: float = option(
        0.0, "Sigma of the latency's lognormal distribution (0: always the same).", ge=0, le=2
    )
    seed: int = option(0, "Seed of noise, stalls and latency.", flag="--lab-seed")

    def tag(self) -> str:
        """The options that differ from their defaults, for a tag: `noise=0.1 time_scale=60.0`."""
        changed = self.model_dump(exclude_defaults=True)
        return " ".join(f"{key}={value}" for key, value in sorted(changed.items()))

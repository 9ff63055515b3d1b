"""Machine types as EC2 describes them, the disks that they support, and the choice of the machine
to measure from.

A machine that sustains less than its disk promises would limit the measurement. So the default is
the cheapest machine whose *baseline* is MARGIN times the disk's ceiling, in IOPS and bytes.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from diskbench.catalog.books import ProviderBook
from diskbench.catalog.machine_book import MachineEntry
from diskbench.errors import InvalidValue, UnknownName
from diskbench.providers.aws.client import AwsClient
from diskbench.providers.aws.disk_request import (
    AwsDiskRequest,
    AwsLocalDisks,
    AwsMachine,
    EbsFigures,
)
from diskbench.providers.aws.errors import error_code
from diskbench.providers.skeleton.cloud import unless_missing
from diskbench.providers.skeleton.offer import BOTTLENECK, MIN_VCPUS, Needs
from diskbench.units import MIB

_XEN_MAX_IOPS = 32_000
_XEN_MAX_GIB = 16_384
"""The limits of io1 and io2 without Nitro, where there is no Block Express (provisioned-iops.md,
2023)."""


def find_machine(ec2: AwsClient, name: str, known: Sequence[str]) -> AwsMachine:
    """Look up a machine type by name. Raises UnknownName with the nearest of `known`."""
    request = {"InstanceTypes": [name]}
    machine_types = unless_missing(
        lambda: ec2.listed("describe_instance_types", "InstanceTypes", request),
        lambda error: error_code(error) == "InvalidInstanceType",
    )
    if not machine_types:
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UnknownName(
            f"instance type of {ec2.session.region}", name, known,
            advice=f"{hint}aws ec2 describe-instance-types lists those of a region",
            field="instance_type",
        )  # fmt: skip
    return machine(machine_types[0])


def machine(described: dict[str, Any]) -> AwsMachine:
    """The machine type in one item of DescribeInstanceTypes."""
    ebs = described.get("EbsInfo", {})
    store = described.get("InstanceStorageInfo", {})
    cards = sorted(ebs.get("EbsCards", []), key=lambda card: int(card.get("EbsCardIndex", 0)))
    # EC2 attaches a volume to the first card unless a request names another (AttachVolume,
    # EbsCardIndex, botocore 1.44.5): that card's limits count, not the sum of all.
    limits = cards[0] if len(cards) > 1 else ebs.get("EbsOptimizedInfo", {})
    support = ebs.get("EbsOptimizedSupport", "unsupported")
    hypervisor = str(described.get("Hypervisor", "nitro"))  # bare metal has no such field
    disks = store.get("Disks", [])
    is_arm = "arm64" in described["ProcessorInfo"]["SupportedArchitectures"]
    return AwsMachine(
        type=described["InstanceType"],
        arch="arm64" if is_arm else "x86_64",
        vcpus=described["VCpuInfo"]["DefaultVCpus"],
        memory_bytes=described["MemoryInfo"]["SizeInMiB"] * MIB,
        hypervisor=hypervisor,
        # i3 has local NVMe disks and still presents its volumes as Xen does.
        ebs_nvme=hypervisor == "nitro",
        ebs_optimized=support,
        ebs=EbsFigures(
            baseline_iops=limits.get("BaselineIops"),
            baseline_mb_per_s=limits.get("BaselineThroughputInMBps"),
            max_iops=limits.get("MaximumIops"),
            max_mb_per_s=limits.get("MaximumThroughputInMBps"),
        ),
        ebs_cards=max(len(cards), 1),
        bare_metal=bool(described.get("BareMetal")),
        max_disks=ebs.get("MaximumEbsAttachments"),
        disks_apart=ebs.get("AttachmentLimitType") == "dedicated",
        burstable=bool(described.get("BurstablePerformanceSupported")),
        local=AwsLocalDisks(
            count=sum(disk["Count"] for disk in disks),
            size_gb=disks[0]["SizeInGB"],
            nvme=store.get("NvmeSupport") != "unsupported",
        )
        if disks
        else None,
    )


def check_support(machine: AwsMachine, requested: AwsDiskRequest) -> None:
    """Refuse a disk that the machine does not support: pure. Raises InvalidValue."""
    if requested.kind == "instance-store":
        _check_local(machine, requested.count)
        return
    if machine.hypervisor != "nitro" and requested.type in {"io1", "io2"}:
        if (requested.iops or 0) > _XEN_MAX_IOPS:
            raise InvalidValue(
                f"{requested.type} with {requested.iops:,} IOPS on {machine.type}, which is Xen",
                advice=f"at most {_XEN_MAX_IOPS:,} there; above that a Nitro machine is needed",
            )
        if (requested.size_gib or 0) > _XEN_MAX_GIB:
            raise InvalidValue(
                f"{requested.type} of {requested.size_gib:,} GiB on {machine.type}, which is Xen",
                advice=f"at most {_XEN_MAX_GIB:,} GiB there: io2 Block Express needs Nitro",
            )
    if requested.kind == "volume" and machine.max_disks is not None:
        room = room_for_disks(machine.max_disks, apart=machine.disks_apart)
        if requested.count > room:
            raise InvalidValue(
                f"--count {requested.count} on {machine.type}",
                advice=f"it takes {room} beside its root disk",
                field="count",
            )


def _check_local(machine: AwsMachine, count: int) -> None:
    local = machine.local
    if local is None:
        raise InvalidValue(
            f"{machine.type} has no disks of its own",
            advice="choose one with a d in its name, such as m6id.large, or an i type",
        )
    if not local.nvme:
        raise InvalidValue(
            f"the disks of {machine.type} are not NVMe: Xen shows them as any other, preformatted",
            advice="choose a Nitro type, such as m6id.large",
        )
    if count > local.count:
        raise InvalidValue(
            f"--count {count} on {machine.type}",
            advice=f"it has {local.count} of its own",
            field="count",
        )


MAX_ALTERNATIVES = 2
DEARER = 1.25
"""How many further types are tried without capacity, and how much more each may cost; our
choice."""


def candidates(
    book: ProviderBook, need: Needs, *, arch: str, disks: int = 1, local_disks: int = 0
) -> tuple[str, ...]:
    """The machine types that sustain the disk, cheapest first: current, not burstable, two
    processors or more. With `local_disks`, the machine has that many local NVMe disks."""
    good = [
        (usd, name)
        for name, entry in book.machines.types.items()
        if (usd := book.prices.machine_hourly_usd(name)) is not None
        and _is_fit(entry, arch, disks, local_disks)
        and _sustains(figures(entry), need)
    ]
    return tuple(name for _, name in sorted(good))


def alternatives(book: ProviderBook, names: Sequence[str]) -> tuple[str, ...]:
    """The types of `names` (cheapest first) to rent where there is no capacity for the first: with
    as many processors, and no more than DEARER times its price, so that the plan stays true."""
    first, *others = names
    usd, entry = book.prices.machine_hourly_usd(first), book.machines.types[first]
    assert usd is not None, "candidates have prices"
    alike = [
        name
        for name in others
        if book.machines.types[name].vcpus == entry.vcpus
        and (book.prices.machine_hourly_usd(name) or 0) <= DEARER * usd
    ]
    return tuple(alike[:MAX_ALTERNATIVES])


def figures(entry: MachineEntry) -> EbsFigures:
    """The catalogue's EBS figures of a machine type; a single figure serves as baseline and
    maximum."""
    return EbsFigures(
        baseline_iops=entry.iops,
        baseline_mb_per_s=entry.mb_per_s,
        max_iops=entry.burst_iops or entry.iops,
        max_mb_per_s=entry.burst_mb_per_s or entry.mb_per_s,
    )


def too_small(name: str, ebs: EbsFigures, need: Needs, better: str | None) -> str | None:
    """Why a machine chosen by the user would limit the measurement; None when it does not."""
    if not need.iops and not need.mb_per_s:
        return None
    if ebs.baseline_iops is None or ebs.baseline_mb_per_s is None:
        return f"AWS publishes no EBS limit for {name}: it, and not the disk, may be the bottleneck"
    if _sustains(ebs, need):
        return None
    burst = ""
    if ebs.max_mb_per_s and ebs.max_mb_per_s > ebs.baseline_mb_per_s:
        burst = f" ({ebs.max_iops:,.0f} and {ebs.max_mb_per_s:,.0f} for half an hour a day)"
    instead = f"; {better} is large enough" if better and better != name else ""
    return (
        f"{name} sustains {ebs.baseline_iops:,.0f} IOPS and {ebs.baseline_mb_per_s:,.0f} MB/s"
        f"{burst}, the disk needs {need.iops:,.0f} and {need.mb_per_s:,.0f} of its machine: "
        f"{BOTTLENECK}{instead}"
    )


def _is_fit(entry: MachineEntry, arch: str, disks: int, local_disks: int) -> bool:
    own = entry.local
    return (
        (not local_disks or (own is not None and own.nvme and own.count >= local_disks))
        and entry.current
        and not entry.burstable
        and entry.traits.get("hypervisor", "nitro") == "nitro"
        and entry.traits.get("ebs_optimized", "default") == "default"
        and entry.vcpus >= MIN_VCPUS
        and entry.arch == arch
        and room_for_disks(entry.max_disks, apart=entry.disks_apart) >= disks
    )


def room_for_disks(max_disks: int, *, apart: bool) -> int:
    """How many disks can be attached beside the root disk, less the network interface where they
    share slots."""
    return max_disks - (1 if apart else 2)


def _sustains(ebs: EbsFigures, need: Needs) -> bool:
    if not need.iops and not need.mb_per_s:
        return True
    return (ebs.baseline_iops or 0) >= need.iops and (ebs.baseline_mb_per_s or 0) >= need.mb_per_s

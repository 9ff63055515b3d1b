"""Machine types as EC2 describes them, and the disks that they support."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError, InvalidValue, UnknownName
from diskbench.providers.aws.choice import EbsFigures, room_for_disks
from diskbench.providers.aws.errors import error_code
from diskbench.providers.aws.resolved import AwsLocalDisks, AwsMachine
from diskbench.units import MIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.providers.aws.client import AwsClient
    from diskbench.providers.aws.disk_request import AwsDiskRequest

_XEN_MAX_IOPS = 32_000
_XEN_MAX_GIB = 16_384
"""The limits of io1 and io2 without Nitro, where there is no Block Express (provisioned-iops.md,
2023)."""


def find_machine(ec2: AwsClient, name: str, known: Sequence[str]) -> AwsMachine:
    """Look up a machine type by name. Raises UnknownName with the nearest of `known`."""
    try:
        machine_types = ec2.listed(
            "describe_instance_types", "InstanceTypes", {"InstanceTypes": [name]}
        )
    except DiskbenchError as error:
        if error_code(error) != "InvalidInstanceType":
            raise
        machine_types = []
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
    store = described.get("InstanceStorageInfo")
    cards = sorted(ebs.get("EbsCards", []), key=lambda card: int(card.get("EbsCardIndex", 0)))
    # EC2 attaches a volume to the first card unless a request names another (AttachVolume,
    # EbsCardIndex, botocore 1.44.5): that card's limits count, not the sum of all.
    limits = cards[0] if len(cards) > 1 else ebs.get("EbsOptimizedInfo", {})
    support = ebs.get("EbsOptimizedSupport", "unsupported")
    hypervisor = str(described.get("Hypervisor", "nitro"))  # bare metal has no such field
    return AwsMachine(
        type=described["InstanceType"],
        arch="arm64"
        if "arm64" in described["ProcessorInfo"]["SupportedArchitectures"]
        else "x86_64",
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
        local=_local(store) if store else None,
    )


def _local(store: dict[str, Any]) -> AwsLocalDisks | None:
    disks = store.get("Disks", [])
    if not disks:
        return None
    return AwsLocalDisks(
        count=sum(disk["Count"] for disk in disks),
        size_gb=disks[0]["SizeInGB"],
        nvme=store.get("NvmeSupport") != "unsupported",
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

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
"""What io1 and io2 reach without Nitro, which has no Block Express (provisioned-iops.md, 2023)."""


def find_machine(ec2: AwsClient, name: str, known: Sequence[str]) -> AwsMachine:
    """Look up a machine type by name. Raises UnknownName with the nearest of `known`."""
    try:
        found = ec2.listed("describe_instance_types", "InstanceTypes", {"InstanceTypes": [name]})
    except DiskbenchError as error:
        if error_code(error) != "InvalidInstanceType":
            raise
        found = []
    if not found:
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UnknownName(
            f"instance type of {ec2.session.region}", name, known,
            advice=f"{hint}aws ec2 describe-instance-types lists those of a region",
            field="instance_type",
        )  # fmt: skip
    return machine(found[0])


def machine(told: dict[str, Any]) -> AwsMachine:
    """The machine type in one item of DescribeInstanceTypes."""
    ebs = told.get("EbsInfo", {})
    store = told.get("InstanceStorageInfo")
    cards = sorted(ebs.get("EbsCards", []), key=lambda card: int(card.get("EbsCardIndex", 0)))
    # EC2 attaches a volume to the first card unless told otherwise (AttachVolume, EbsCardIndex,
    # botocore 1.44.5): that card's limits count, not the sum of all.
    limits = cards[0] if len(cards) > 1 else ebs.get("EbsOptimizedInfo", {})
    support = ebs.get("EbsOptimizedSupport", "unsupported")
    hypervisor = str(told.get("Hypervisor", "nitro"))  # bare metal has no such field
    return AwsMachine(
        type=told["InstanceType"],
        arch="arm64" if "arm64" in told["ProcessorInfo"]["SupportedArchitectures"] else "x86_64",
        vcpus=told["VCpuInfo"]["DefaultVCpus"],
        memory_bytes=told["MemoryInfo"]["SizeInMiB"] * MIB,
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
        bare_metal=bool(told.get("BareMetal")),
        max_disks=ebs.get("MaximumEbsAttachments"),
        disks_apart=ebs.get("AttachmentLimitType") == "dedicated",
        burstable=bool(told.get("BurstablePerformanceSupported")),
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


def check_support(found: AwsMachine, wanted: AwsDiskRequest) -> None:
    """Refuse a disk that the machine does not support: pure. Raises InvalidValue."""
    if wanted.kind == "instance-store":
        _check_local(found, wanted.count)
        return
    if found.hypervisor != "nitro" and wanted.type in {"io1", "io2"}:
        if (wanted.iops or 0) > _XEN_MAX_IOPS:
            raise InvalidValue(
                f"{wanted.type} with {wanted.iops:,} IOPS on {found.type}, which is Xen",
                advice=f"at most {_XEN_MAX_IOPS:,} there; above that a Nitro machine is needed",
            )
        if (wanted.size_gib or 0) > _XEN_MAX_GIB:
            raise InvalidValue(
                f"{wanted.type} of {wanted.size_gib:,} GiB on {found.type}, which is Xen",
                advice=f"at most {_XEN_MAX_GIB:,} GiB there: io2 Block Express needs Nitro",
            )
    if wanted.kind == "volume" and found.max_disks is not None:
        room = room_for_disks(found.max_disks, apart=found.disks_apart)
        if wanted.count > room:
            raise InvalidValue(
                f"--count {wanted.count} on {found.type}",
                advice=f"it takes {room} beside its root disk",
                field="count",
            )


def _check_local(found: AwsMachine, count: int) -> None:
    local = found.local
    if local is None:
        raise InvalidValue(
            f"{found.type} has no disks of its own",
            advice="choose one with a d in its name, such as m6id.large, or an i type",
        )
    if not local.nvme:
        raise InvalidValue(
            f"the disks of {found.type} are not NVMe: Xen shows them as any other, preformatted",
            advice="choose a Nitro type, such as m6id.large",
        )
    if count > local.count:
        raise InvalidValue(
            f"--count {count} on {found.type}",
            advice=f"it has {local.count} of its own",
            field="count",
        )

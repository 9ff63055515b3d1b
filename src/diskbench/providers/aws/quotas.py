"""The quotas of EC2 and EBS for an account, and the amount in use.

Codes: Service Quotas, "Amazon EC2" and "Amazon EBS" (2026).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError
from diskbench.model.finding import Quota
from diskbench.providers.aws.client import open_scope
from diskbench.providers.aws.errors import error_code, is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.rental import Scope
    from diskbench.providers.aws.client import AwsClient
    from diskbench.providers.aws.timing import AwsTiming

STANDARD = frozenset("acdhimrtz")
"""Families, by their first letter, that the quota of standard instances counts in vCPUs."""
_VCPUS = {"vcpus": ("ec2", "L-1216C47A"), "spot-vcpus": ("ec2", "L-34B43A08")}
_TIB = {
    "gp2": ("ebs", "L-D18FCD1D"),
    "gp3": ("ebs", "L-7A658B76"),
    "io1": ("ebs", "L-FD252861"),
    "io2": ("ebs", "L-09BD8365"),
    "sc1": ("ebs", "L-17AF77E8"),
    "st1": ("ebs", "L-82ACEF56"),
    "standard": ("ebs", "L-9CF3C2EB"),
}
_GIB_PER_TIB = 1024
_TYPES_A_CALL = 100
"""The number of types that DescribeInstanceTypes accepts in one call."""
_TAKING = frozenset({"pending", "running"})


def quotas(scope: Scope, timing: AwsTiming) -> Sequence[Quota]:
    """See ports.Metered."""
    aws = open_scope(scope, timing)
    quotas_api, ec2 = aws.edge("service-quotas", timing), aws.edge("ec2", timing)
    vcpus = _vcpus(ec2)
    gib: Counter[str] = Counter()
    for volume in ec2.listed("describe_volumes", "Volumes", {}):
        gib[volume["VolumeType"]] += volume["Size"]
    found = []
    for kind, code in _VCPUS.items():
        if (quota := _limit(quotas_api, *code)) is not None:
            found.append(
                Quota(
                    kind=kind,
                    name=f"{quota['QuotaName']} (vCPUs)",
                    region=aws.region,
                    limit=quota["Value"],
                    used=vcpus[kind],
                )
            )
    for disk, code in _TIB.items():
        if (quota := _limit(quotas_api, *code)) is not None:
            found.append(
                Quota(
                    kind="disk-gib",
                    of=(disk,),
                    name=f"GiB of {disk}",
                    region=aws.region,
                    limit=quota["Value"] * _GIB_PER_TIB,
                    used=gib[disk],
                )
            )
    return found


def _limit(told: AwsClient, service: str, code: str) -> dict[str, Any] | None:
    try:
        answer = told.call("get_service_quota", {"ServiceCode": service, "QuotaCode": code})
    except DiskbenchError as error:
        if is_missing(error) or error_code(error) == "NoSuchResourceException":
            return None
        raise
    quota: dict[str, Any] = answer["Quota"]
    return quota


def _vcpus(ec2: AwsClient) -> Counter[str]:
    """The vCPUs of running instances of the standard families, on demand and spot."""
    running: Counter[tuple[str, str]] = Counter()
    for held in ec2.listed("describe_instances", "Reservations", {}):
        for item in held["Instances"]:
            if item["State"]["Name"] in _TAKING and item["InstanceType"][0] in STANDARD:
                kind = "spot-vcpus" if item.get("InstanceLifecycle") == "spot" else "vcpus"
                running[kind, item["InstanceType"]] += 1
    sizes = _sizes(ec2, sorted({name for _, name in running}))
    found: Counter[str] = Counter()
    for (kind, name), count in running.items():
        found[kind] += count * sizes[name]
    return found


def _sizes(ec2: AwsClient, types: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for start in range(0, len(types), _TYPES_A_CALL):
        asked = {"InstanceTypes": types[start : start + _TYPES_A_CALL]}
        for machine_type in ec2.listed("describe_instance_types", "InstanceTypes", asked):
            found[machine_type["InstanceType"]] = machine_type["VCpuInfo"]["DefaultVCpus"]
    return found

"""The quotas of EC2 and EBS for an account, and the amount in use.

EC2 counts the processors of several families of machines in one quota (`FAMILIES`). Codes and
names: Service Quotas, "Amazon EC2" and "Amazon EBS" (EC2 User Guide, "On-Demand Instance quotas"
and "Spot Instance quotas", as stored 2026; the codes of spot Trn, DL and X as listed by
`aws service-quotas list-service-quotas`, read 2026-11-23). mac instances run on dedicated hosts,
which have quotas of their own in hosts; HPC and High Memory have no spot quota.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError
from diskbench.model.finding import Quota
from diskbench.providers.aws.errors import error_code, is_missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.model.rental import Scope
    from diskbench.providers.aws.client import AwsClient, AwsSessions
    from diskbench.providers.aws.timing import AwsTiming


@dataclass(frozen=True)
class QuotaFamily:
    """One quota: the families by the letters before the first digit of a type's name, and the quota
    codes on demand and for spot; None where there is none."""

    name: str
    letters: tuple[str, ...]
    on_demand: str
    spot: str | None


FAMILIES = (
    QuotaFamily(
        "Standard", ("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"),
        "L-1216C47A", "L-34B43A08",
    ),
    QuotaFamily("DL", ("dl",), "L-6E869C2A", "L-85EED4F7"),
    QuotaFamily("F", ("f",), "L-74FC7D96", "L-88CF9481"),
    QuotaFamily("G and VT", ("g", "gr", "vt"), "L-DB2E81BA", "L-3819A6DF"),
    QuotaFamily("HPC", ("hpc",), "L-F7808C92", None),
    QuotaFamily("High Memory", ("u",), "L-43DA4232", None),
    QuotaFamily("Inf", ("inf",), "L-1945791B", "L-B5D1601B"),
    QuotaFamily("P", ("p",), "L-417A185B", "L-7212CCBC"),
    QuotaFamily("Trn", ("trn",), "L-2C3B7624", "L-6B0D517C"),
    QuotaFamily("X", ("x",), "L-7295265B", "L-E3A00192"),
)  # fmt: skip


def family_of(instance_type: str) -> QuotaFamily | None:
    """The quota that counts a type; None for one that no quota in vCPUs counts (mac)."""
    match = re.match(r"[a-z]+", instance_type)
    letters = match[0] if match else ""
    return next((family for family in FAMILIES if letters in family.letters), None)


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


def quotas(sessions: AwsSessions, scope: Scope, timing: AwsTiming) -> Sequence[Quota]:
    """See ports.Metered."""
    aws = sessions.of_scope(scope, timing)
    quotas_api, ec2 = aws.edge("service-quotas", timing), aws.edge("ec2", timing)
    vcpus = _vcpus(ec2)
    gib: Counter[str] = Counter()
    for volume in ec2.listed("describe_volumes", "Volumes", {}):
        gib[volume["VolumeType"]] += volume["Size"]
    account_quotas = [
        quota for family in FAMILIES for quota in _of_family(quotas_api, aws.region, family, vcpus)
    ]
    for disk, code in _TIB.items():
        if (quota := _limit(quotas_api, *code)) is not None:
            account_quotas.append(
                Quota(
                    kind="disk-gib",
                    of=(disk,),
                    name=f"GiB of {disk}",
                    region=aws.region,
                    limit=quota["Value"] * _GIB_PER_TIB,
                    used=gib[disk],
                )
            )
    return account_quotas


def _of_family(
    quotas_api: AwsClient, region: str, family: QuotaFamily, used: Counter[tuple[str, str]]
) -> Iterator[Quota]:
    """The quotas of a family of machines on demand and for spot."""
    for kind, code in (("vcpus", family.on_demand), ("spot-vcpus", family.spot)):
        taken = used[kind, family.name]
        if code is None:
            continue
        if (quota := _limit(quotas_api, "ec2", code)) is not None:
            yield Quota(
                kind=kind,
                of=family.letters,
                name=f"{quota['QuotaName']} (vCPUs)",
                region=region,
                limit=quota["Value"],
                used=taken,
                common=family is FAMILIES[0],
            )


def _limit(quotas_api: AwsClient, service: str, code: str) -> dict[str, Any] | None:
    try:
        answer = quotas_api.call("get_service_quota", {"ServiceCode": service, "QuotaCode": code})
    except DiskbenchError as error:
        if is_missing(error) or error_code(error) == "NoSuchResourceException":
            return None
        raise
    quota: dict[str, Any] = answer["Quota"]
    return quota


def _vcpus(ec2: AwsClient) -> Counter[tuple[str, str]]:
    """The vCPUs of running instances by kind (on demand, spot) and family."""
    running: Counter[tuple[str, str]] = Counter()
    for reservation in ec2.listed("describe_instances", "Reservations", {}):
        for item in reservation["Instances"]:
            if item["State"]["Name"] in _TAKING and family_of(item["InstanceType"]) is not None:
                kind = "spot-vcpus" if item.get("InstanceLifecycle") == "spot" else "vcpus"
                running[kind, item["InstanceType"]] += 1
    sizes = _sizes(ec2, sorted({name for _, name in running}))
    in_use: Counter[tuple[str, str]] = Counter()
    for (kind, name), count in running.items():
        family = family_of(name)
        assert family is not None, "types without a family are not counted"
        in_use[kind, family.name] += count * sizes[name]
    return in_use


def _sizes(ec2: AwsClient, types: list[str]) -> dict[str, int]:
    vcpus: dict[str, int] = {}
    for start in range(0, len(types), _TYPES_A_CALL):
        request = {"InstanceTypes": types[start : start + _TYPES_A_CALL]}
        for machine_type in ec2.listed("describe_instance_types", "InstanceTypes", request):
            vcpus[machine_type["InstanceType"]] = machine_type["VCpuInfo"]["DefaultVCpus"]
    return vcpus

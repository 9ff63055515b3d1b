"""What `diskbench doctor` asks AWS: whether it permits the rental, dry runs of its requests, and
the quotas of the account with the amount in use.

EC2 checks a call with DryRun for permission and parameters, and does not carry it out (Amazon EC2
API Reference, "DryRun").

EC2 counts the processors of several families of machines in one quota (`FAMILIES`). Codes and
names: Service Quotas, "Amazon EC2" and "Amazon EBS" (EC2 User Guide, "On-Demand Instance quotas"
and "Spot Instance quotas", as stored 2026; the codes of spot Trn, DL and X as listed by
`aws service-quotas list-service-quotas`, read 2026-11-23). mac instances run on dedicated hosts,
which have quotas of their own in hosts; HPC and High Memory have no spot quota.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from diskbench.catalog.books import ProviderBook
from diskbench.catalog.lookup import limits
from diskbench.errors import AccessDenied, DiskbenchError
from diskbench.model.finding import Finding, FindingState, Quota, finding, refusal
from diskbench.model.rental import Claim, DiskSpec, Rental, Scope
from diskbench.providers.aws import policy, requests
from diskbench.providers.aws.client import Aws, AwsClient, AwsSessions, AwsTiming
from diskbench.providers.aws.disk_request import AwsResolved, AwsZone
from diskbench.providers.aws.errors import DENIED, NO_SPOT_ROLE, error_code, is_missing, of_code
from diskbench.providers.aws.lookup import MAX_FILTER_VALUES, check_key, find_image
from diskbench.providers.aws.machines import candidates
from diskbench.providers.aws.provision import AwsOrder, launch_request, volume_request
from diskbench.providers.skeleton.doctor import (
    Bystander,
    DryRun,
    http_date,
    nobody,
    rehearsed,
    skew,
    unused_keys,
)
from diskbench.providers.skeleton.offer import needs

_AT_ONCE = 4
_ALLOWED = "DryRunOperation"
_NOBODY = Claim(lease_id="doctor", expires_at=0, owner="doctor", version="0")
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl doctor"
"""A public key whose private one is in RFC 8709's example; it is never imported."""
_USUAL = DiskSpec(type="gp3", size_gib=100)
"""The disk whose machine is tried where no disk is named; our choice."""
_ADVICE = "allow it: diskbench doctor --print-policy aws has all that is needed"

Request = dict[str, Any]


def examine(
    sessions: AwsSessions, scope: Scope, timing: AwsTiming, known: ProviderBook
) -> list[Finding]:
    """Findings on credentials, clock and permissions; machines are chosen from `known`."""
    where = f"aws {scope.region}" if scope.region else "aws"
    before = datetime.now(UTC)
    try:
        aws = sessions.of_scope(scope, timing)
        where = f"aws {aws.region}"
        identity = aws.edge("sts", timing).call("get_caller_identity")
    except DiskbenchError as error:
        cloud_time = date_of(getattr(error.__cause__, "response", None) or {})
        clock = [] if cloud_time is None else [skew(where, cloud_time, before, datetime.now(UTC))]
        return [refusal("credentials", where, error), *clock]
    return [
        finding("credentials", where, "ok", str(identity["Arn"])),
        skew(where, date_of(identity), before, datetime.now(UTC)),
        *_permissions(aws, where, timing, known),
    ]


def date_of(answer: dict[str, Any]) -> datetime | None:
    """The cloud's time in the Date header of an answer; None where it has none."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return http_date(headers.get("date"))


def _permissions(aws: Aws, where: str, timing: AwsTiming, known: ProviderBook) -> list[Finding]:
    try:
        dry_runs = _requests(aws, timing, known)
    except DiskbenchError as error:
        return [refusal("permissions", where, error)]
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        answers = list(
            pool.map(lambda request: _tried(aws, request[0], request[1], timing), dry_runs)
        )
    refused = [answer for answer in answers if answer is not None]
    findings = [
        finding("permissions", where, "problem", error.message, _ADVICE)
        if isinstance(error, AccessDenied)
        else finding("permissions", where, _severity(error), error.message, error.advice)
        for error in sorted(refused, key=lambda error: not isinstance(error, AccessDenied))
    ]
    summary = (
        f"{len(dry_runs) - len(refused)} of {len(dry_runs)} actions tried are allowed; the "
        f"{len(policy.CHANGE)} that change or delete cannot be tried without something that "
        "carries the tag"
    )
    return [*findings, finding("permissions", where, "ok", summary)]


def _severity(error: DiskbenchError) -> FindingState:
    """A policy that denies is as final as a right that lacks; no answer says nothing."""
    return "problem" if error_code(error) in DENIED else "warning"


def _requests(aws: Aws, timing: AwsTiming, known: ProviderBook) -> Sequence[tuple[str, Request]]:
    """The requests to try: every EC2 action of the policy that needs no resource of a lease. Raises
    AccessDenied where the first read-only calls are denied."""
    ec2, ssm = aws.edge("ec2", timing), aws.edge("ssm", timing)
    zones = ec2.call("describe_availability_zones")["AvailabilityZones"]
    image = find_image(ec2, ssm, None, "x86_64")

    def tagged(kind: str) -> list[Request]:
        return [{"ResourceType": kind, "Tags": requests.tags(_NOBODY, "doctor")}]

    make: dict[str, Request] = {
        "create_security_group": {
            "GroupName": "diskbench-doctor",
            "Description": "never made",
            "TagSpecifications": tagged("security-group"),
        },
        "create_volume": {
            "AvailabilityZone": zones[0]["ZoneName"],
            "VolumeType": "gp3",
            "Size": 1,
            "TagSpecifications": tagged("volume"),
        },
        "import_key_pair": {
            "KeyName": "diskbench-doctor",
            "PublicKeyMaterial": _KEY.encode(),
            "TagSpecifications": tagged("key-pair"),
        },
        "run_instances": requests.dry_launch(image.id, _machine(ec2, known)),
    }
    look = [_operation(action) for action in policy.LOOK if action.startswith("ec2:")]
    return [*((name, {}) for name in look), *make.items()]


def _machine(ec2: AwsClient, known: ProviderBook) -> str:
    """The machine that a run of the usual disk takes in this region."""
    need = needs(limits("aws", _USUAL.type, _USUAL.size_gib))
    names = candidates(known, need, arch="x86_64", disks=1)[:MAX_FILTER_VALUES]
    request = {"Filters": [{"Name": "instance-type", "Values": list(names)}]}
    listed = ec2.listed("describe_instance_type_offerings", "InstanceTypeOfferings", request)
    offered = {item["InstanceType"] for item in listed}
    return next((name for name in names if name in offered), names[0])


def _tried(aws: Aws, operation: str, request: Request, timing: AwsTiming) -> DiskbenchError | None:
    """Why the request is denied, or why that is unknown; None where it is allowed."""
    try:
        aws.edge("ec2", timing).call(operation, {**request, "DryRun": True})
    except DiskbenchError as error:
        return None if error_code(error) == _ALLOWED or is_missing(error) else error
    return None  # an emulator without DryRun for read-only calls


def _operation(action: str) -> str:
    """The SDK's method of an action: `describe_volumes` for `ec2:DescribeVolumes`."""
    word = action.partition(":")[2]
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in word).lstrip("_")


_UNTRIED = (
    "calls that change or delete (AttachVolume, AuthorizeSecurityGroupIngress, "
    "TerminateInstances …), because they need a resource with the lease's tag; and capacity, which "
    "EC2 does not report"
)


def rehearse(sessions: AwsSessions, rental: Rental, timing: AwsTiming) -> list[Finding]:
    """One finding for each part of the rental that can be checked."""
    details = AwsResolved.model_validate(rental.details)
    watch = Bystander()
    aws = sessions.of_scope(rental.scope, timing)
    order = AwsOrder(
        ec2=aws.edge("ec2", timing),
        claim=nobody(rental.spec.tags),
        spec=rental.spec,
        details=details,
        keys=unused_keys(),
        watch=watch,
        timing=timing,
    )
    runs = list(_runs(order))
    if rental.spec.spot:
        runs.append(DryRun("the role for spot machines", lambda: _look_at_role(aws, timing)))
    if (key := rental.spec.kms_key) is not None:
        runs.append(DryRun(f"kms:DescribeKey of {key}", lambda: check_key(aws, key, timing)))
    return rehearsed(f"aws {details.region}", runs, advice=_ADVICE, untried=_UNTRIED)


def _look_at_role(aws: Aws, timing: AwsTiming) -> None:
    """Raise InvalidValue where the account lacks the role of its spot machines, AccessDenied where
    the caller may not look at it."""
    try:
        aws.edge("iam", timing).call("get_role", {"RoleName": policy.SPOT_ROLE_NAME})
    except DiskbenchError as error:
        if error_code(error) != "NoSuchEntity":
            raise
        raise of_code(NO_SPOT_ROLE, "no such role", "iam:GetRole", profile=aws.profile) from error


def _runs(order: AwsOrder) -> Sequence[DryRun]:
    claim, places = order.claim, order.details.places
    key = requests.import_key_pair(claim, order.keys.user_public)
    runs = [_dry(order.ec2, "ec2:ImportKeyPair", "import_key_pair", key)]
    if order.spec.security_group is None:
        group = requests.create_security_group(claim, places[0].vpc)
        runs.append(_dry(order.ec2, "ec2:CreateSecurityGroup", "create_security_group", group))
    for place in places:
        if order.volume is not None:
            volume = volume_request(order, order.volume, place, 0)
            disk = f"{order.volume.type}, {order.volume.size_gib} GiB"
            what = f"ec2:CreateVolume of {disk} in {place.zone}"
            runs.append(_dry(order.ec2, what, "create_volume", volume))
        what = f"ec2:RunInstances of {order.details.machine.type} in {place.zone}"
        runs.append(_dry(order.ec2, what, "run_instances", _launch(order, place)))
    return runs


def _launch(order: AwsOrder, place: AwsZone) -> requests.Request:
    """The launch without the lease's key and group, which do not exist yet: EC2 refuses names of
    resources that do not exist. The subnet's default group stands in for the group."""
    request = launch_request(order, order.spec.security_group or "", place)
    del request["KeyName"]
    if order.spec.security_group is None:
        for interface in request["NetworkInterfaces"]:
            del interface["Groups"]
    return request


def _dry(ec2: AwsClient, what: str, operation: str, request: requests.Request) -> DryRun:
    def send() -> None:
        try:
            ec2.call(operation, {**request, "DryRun": True})
        except DiskbenchError as error:
            if error_code(error) != _ALLOWED:
                raise

    return DryRun(what, send)


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
    """The quotas at `scope`, with the amount in use."""
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

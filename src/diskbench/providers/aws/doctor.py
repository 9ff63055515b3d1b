"""What `diskbench doctor` asks AWS: whether it permits the rental, dry runs of its requests, and
the quotas of the account with the amount in use.

EC2 checks a call with DryRun for permission and parameters, and does not carry it out (Amazon EC2
API Reference, "DryRun").
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from diskbench.catalog.books import ProviderBook
from diskbench.catalog.lookup import limits
from diskbench.errors import AccessDenied, DiskbenchError
from diskbench.model.finding import Finding, FindingState, Quota, finding, refusal
from diskbench.model.rental import Claim, DiskSpec, Scope
from diskbench.providers.aws import requests
from diskbench.providers.aws.client import Aws, AwsClient, AwsSessions, AwsTiming, camel
from diskbench.providers.aws.disk_request import API, AwsZone
from diskbench.providers.aws.errors import NO_SPOT_ROLE, error_code, is_missing, of_code
from diskbench.providers.aws.lookup import MAX_FILTER_VALUES, check_key, find_image
from diskbench.providers.aws.offer import candidates
from diskbench.providers.aws.requests import AwsOrder
from diskbench.providers.skeleton.cloud import unless_missing
from diskbench.providers.skeleton.doctor import DryRun, http_date, rehearsed, skew
from diskbench.providers.skeleton.offer import needs
from diskbench.yaml_lines import packaged

_AT_ONCE = 4
_ALLOWED, _DENIED = "DryRunOperation", "UnauthorizedOperation"
_NOBODY = Claim(lease_id="doctor", expires_at=0, owner="doctor", version="0")
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl doctor"
"""A public key whose private one is in RFC 8709's example; it is never imported."""
_USUAL = DiskSpec(type="gp3", size_gib=100)
"""The disk whose machine is tried where no disk is named; our choice."""
_ADVICE = "allow it: diskbench doctor --print-policy aws has all that is needed"


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
        told = date_of(error)
        clock = [] if told is None else [skew(where, told, before, datetime.now(UTC))]
        return [refusal("credentials", where, error), *clock]
    return [
        finding("credentials", where, "ok", str(identity["Arn"])),
        skew(where, date_of(identity), before, datetime.now(UTC)),
        *_permissions(aws, where, timing, known),
    ]


def date_of(answer: dict[str, Any] | DiskbenchError) -> datetime | None:
    """The cloud's time in the Date header of an answer, or of one that refused; None where it has
    none."""
    if isinstance(answer, DiskbenchError):
        answer = getattr(answer.__cause__, "response", None) or {}
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return http_date(headers.get("date"))


def _permissions(aws: Aws, where: str, timing: AwsTiming, known: ProviderBook) -> list[Finding]:
    try:
        dry_runs = _requests(aws, timing, known)
    except DiskbenchError as error:
        return [refusal("permissions", where, error)]

    def tried(asked: tuple[str, requests.Request]) -> DiskbenchError | None:
        """Why the request is denied, or why that is unknown; None where it is allowed."""
        try:
            _dry_run(aws.edge("ec2", timing), *asked)
        except DiskbenchError as error:
            return None if is_missing(error) else error
        return None

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        answers = list(pool.map(tried, dry_runs))
    refused = [answer for answer in answers if answer is not None]
    findings = []
    for why in sorted(refused, key=lambda error: not isinstance(error, AccessDenied)):
        # A policy that denies is as final as a right that lacks, unless it demands what a run may
        # bring (--tag, --kms-key) and these requests do not; no answer says nothing.
        is_final = error_code(why) == _DENIED and not why.field
        state: FindingState = "problem" if is_final else "warning"
        advice = why.advice
        if isinstance(why, AccessDenied):
            state, advice = "problem", _ADVICE
        findings.append(finding("permissions", where, state, why.message, advice))
    allowed = f"{len(dry_runs) - len(refused)} of {len(dry_runs)} actions tried are allowed"
    summary = (
        f"{allowed}; the {len(CHANGE)} that change or delete cannot be tried without "
        "something that carries the tag"
    )
    return [*findings, finding("permissions", where, "ok", summary)]


def _requests(
    aws: Aws, timing: AwsTiming, known: ProviderBook
) -> Sequence[tuple[str, requests.Request]]:
    """The requests to try: every EC2 action of the policy that needs no resource of a lease. Raises
    AccessDenied where the first read-only calls are denied."""
    ec2, ssm = aws.edge("ec2", timing), aws.edge("ssm", timing)
    zones = ec2.call("describe_availability_zones")["AvailabilityZones"]
    image = find_image(ec2, ssm, None, "x86_64")

    def tagged(kind: str) -> list[requests.Request]:
        return [{"ResourceType": kind, "Tags": requests.tags(_NOBODY, "doctor")}]

    make: dict[str, requests.Request] = {
        "create_security_group": {
            "GroupName": "diskbench-doctor", "Description": "never made",
            "TagSpecifications": tagged("security-group"),
        },
        "create_volume": {
            "AvailabilityZone": zones[0]["ZoneName"], "VolumeType": "gp3", "Size": 1,
            "TagSpecifications": tagged("volume"),
        },
        "import_key_pair": {
            "KeyName": "diskbench-doctor", "PublicKeyMaterial": _KEY.encode(),
            "TagSpecifications": tagged("key-pair"),
        },
        "run_instances": requests.dry_launch(image.id, _machine(ec2, known)),
    }  # fmt: skip
    look = [action.removeprefix("ec2:") for action in LOOK if action.startswith("ec2:")]
    # The SDK's methods: `describe_volumes` for `ec2:DescribeVolumes`.
    names = [re.sub("(?!^)([A-Z])", r"_\1", action).lower() for action in look]
    return [*((name, {}) for name in names), *make.items()]


def _machine(ec2: AwsClient, known: ProviderBook) -> str:
    """The machine that a run of the usual disk takes in this region."""
    need = needs(limits("aws", _USUAL.type, _USUAL.size_gib))
    names = candidates(known, need, arch="x86_64", disks=1)[:MAX_FILTER_VALUES]
    request = requests.only(instance_type=names)
    listed = ec2.listed("describe_instance_type_offerings", "InstanceTypeOfferings", request)
    offered = {item["InstanceType"] for item in listed}
    return next((name for name in names if name in offered), names[0])


def _dry_run(ec2: AwsClient, operation: str, request: requests.Request) -> None:
    """Have EC2 check a request without carrying it out. Raises its refusal."""
    try:
        ec2.call(operation, {**request, "DryRun": True})
    except DiskbenchError as error:
        if error_code(error) != _ALLOWED:
            raise


_UNTRIED = (
    "calls that change or delete (AttachVolume, AuthorizeSecurityGroupIngress, "
    "TerminateInstances …), because they need a resource with the lease's tag; and capacity, which "
    "EC2 does not report"
)


def rehearse(aws: Aws, order: AwsOrder) -> list[Finding]:
    """One finding for each part of the rental that can be checked; nothing is made."""
    timing = order.timing
    runs = list(_runs(order))

    def look_at_role() -> None:
        try:
            aws.edge("iam", timing).call("get_role", {"RoleName": SPOT_ROLE})
        except DiskbenchError as error:
            if error_code(error) != "NoSuchEntity":
                raise
            words = (NO_SPOT_ROLE, "no such role", "iam:GetRole")
            raise of_code(*words, profile=aws.profile) from error

    if order.spec.spot:
        runs.append(("the role for spot machines", look_at_role))
    if (key := order.spec.kms_key) is not None:
        runs.append((f"kms:DescribeKey of {key}", lambda: check_key(aws, key, timing)))
    return rehearsed(f"aws {aws.region}", runs, advice=_ADVICE, untried=_UNTRIED)


def _runs(order: AwsOrder) -> Iterator[DryRun]:
    def dry(operation: str, request: requests.Request, words: str = "") -> DryRun:
        what = f"ec2:{camel(operation)}{words}"
        return what, lambda: _dry_run(order.ec2, operation, request)

    yield dry("import_key_pair", requests.import_key_pair(order))
    if order.spec.security_group is None:
        vpc = order.details.places[0].vpc
        yield dry("create_security_group", requests.create_security_group(order.claim, vpc))
    for place in order.details.places:
        if (disk := order.volume) is not None:
            words = f" of {disk.type}, {disk.size_gib} GiB in {place.zone}"
            yield dry("create_volume", requests.create_volume(order, place.zone, 0), words)
        words = f" of {order.details.machine.type} in {place.zone}"
        yield dry("run_instances", _launch(order, place), words)


def _launch(order: AwsOrder, place: AwsZone) -> requests.Request:
    """The launch without the lease's key and group, which do not exist yet: EC2 refuses names of
    resources that do not exist. The subnet's default group stands in for the group."""
    request = requests.run_instances(order, order.spec.security_group or "", place)
    del request["KeyName"]
    if order.spec.security_group is None:
        for interface in request["NetworkInterfaces"]:
            del interface["Groups"]
    return request


_QUOTAS = API["quotas"]
_GIB_PER_TIB = 1024
_TYPES_A_CALL = 100
"""The number of types that DescribeInstanceTypes accepts in one call."""
_TAKING = frozenset({"pending", "running"})


def family_of(instance_type: str) -> str | None:
    """The name of the quota that counts a type; None for one that no quota in vCPUs counts
    (mac)."""
    match = re.match(r"[a-z]+", instance_type)
    letters = match[0] if match else ""
    return next((one["name"] for one in _QUOTAS["families"] if letters in one["letters"]), None)


def quotas(sessions: AwsSessions, scope: Scope, timing: AwsTiming) -> Sequence[Quota]:
    """The quotas at `scope`, with the amount in use."""
    aws = sessions.of_scope(scope, timing)
    ec2, told = aws.edge("ec2", timing), list[Quota]()
    vcpus, families = _vcpus(ec2), _QUOTAS["families"]
    for family in families:
        for kind, code in family["codes"].items():
            if (quota := _limit(aws.edge("service-quotas", timing), "ec2", code)) is not None:
                told.append(
                    Quota(
                        kind=kind, of=tuple(family["letters"]),
                        name=f"{quota['QuotaName']} (vCPUs)", region=aws.region,
                        limit=quota["Value"], used=vcpus[kind, family["name"]],
                        common=family is families[0],
                    )
                )  # fmt: skip
    gib: Counter[str] = Counter()
    for volume in ec2.listed("describe_volumes", "Volumes", {}):
        gib[volume["VolumeType"]] += volume["Size"]
    for disk, code in _QUOTAS["volumes"].items():
        if (quota := _limit(aws.edge("service-quotas", timing), "ebs", code)) is not None:
            told.append(
                Quota(
                    kind="disk-gib", of=(disk,), name=f"GiB of {disk}", region=aws.region,
                    limit=quota["Value"] * _GIB_PER_TIB, used=gib[disk],
                )
            )  # fmt: skip
    return told


def _limit(quotas_api: AwsClient, service: str, code: str) -> dict[str, Any] | None:
    request = {"ServiceCode": service, "QuotaCode": code}
    answer = unless_missing(
        lambda: quotas_api.call("get_service_quota", request),
        lambda error: is_missing(error) or error_code(error) == "NoSuchResourceException",
    )
    return answer["Quota"] if answer else None


def _vcpus(ec2: AwsClient) -> Counter[tuple[str, str]]:
    """The vCPUs of running instances by kind (on demand, spot) and family."""
    running: Counter[tuple[str, str]] = Counter()
    for reservation in ec2.listed("describe_instances", "Reservations", {}):
        for item in reservation["Instances"]:
            if item["State"]["Name"] in _TAKING and family_of(item["InstanceType"]):
                kind = "spot-vcpus" if item.get("InstanceLifecycle") == "spot" else "vcpus"
                running[kind, item["InstanceType"]] += 1
    types, sizes = sorted({name for _, name in running}), dict[str, int]()
    for start in range(0, len(types), _TYPES_A_CALL):
        request = {"InstanceTypes": types[start : start + _TYPES_A_CALL]}
        for one in ec2.listed("describe_instance_types", "InstanceTypes", request):
            sizes[one["InstanceType"]] = one["VCpuInfo"]["DefaultVCpus"]
    in_use: Counter[tuple[str, str]] = Counter()
    for (kind, name), count in running.items():
        in_use[kind, str(family_of(name))] += count * sizes[name]
    return in_use


_PERMITTED = packaged("diskbench.providers.aws", "permissions.yaml")
_PUBLIC = ("aws", "amazonaws.com")
"""The partition and the domain that permissions.yaml names."""
_WIDTH = 100


def allowed(sid: str) -> tuple[str, ...]:
    """The actions that the statement with this id allows."""
    (actions,) = (one["Action"] for one in _PERMITTED["statements"] if one["Sid"] == sid)
    return (actions,) if isinstance(actions, str) else tuple(actions)


def actions() -> frozenset[str]:
    """All actions."""
    return frozenset(action for one in _PERMITTED["statements"] for action in allowed(one["Sid"]))


LOOK = allowed("Look")
CHANGE = allowed("ChangeWhatCarriesTheTag")
SPOT_ROLE = "AWSServiceRoleForEC2Spot"


def policy(region: str | None = None) -> str:
    """The policy in IAM's form, for the partition of a region (default: the public cloud)."""
    begins = (begin for begin in _PERMITTED["partitions"] if (region or "").startswith(begin))
    partition, domain = _PERMITTED["partitions"].get(next(begins, None), _PUBLIC)
    statements = [{"Sid": one["Sid"], "Effect": "Allow", **one} for one in _PERMITTED["statements"]]
    text = _written({"Version": "2012-10-17", "Statement": statements})
    text = text.replace("arn:aws:", f"arn:{partition}:")
    return text.replace('"ec2.*.amazonaws.com"', f'"ec2.*.{domain}"')


def _written(value: object, indent: int = 0) -> str:
    """JSON with what fits into a line in one."""
    flat = json.dumps(value)
    if indent + len(flat) <= _WIDTH or not isinstance(value, dict | list):
        return flat
    begin = " " * (indent + 2)
    if isinstance(value, list):
        inside = [f"{begin}{_written(one, indent + 2)}" for one in value]
    else:
        inside = [f"{begin}{json.dumps(k)}: {_written(v, indent + 2)}" for k, v in value.items()]
    opened, closed = "[]" if isinstance(value, list) else "{}"
    return "\n".join([opened, ",\n".join(inside), " " * indent + closed])

"""The permissions that diskbench needs on AWS: one list, the source of the policy.

The actions, and which of them accept conditions on the tags of the resource: Service Authorization
Reference, "Actions, resources, and condition keys for Amazon EC2" (2026). A test compares the list
with the adapter's calls.
"""

from __future__ import annotations

import json
from typing import Any

from diskbench.providers.aws.requests import EXPIRES_TAG, LEASE_TAG

LOOK = (
    "ec2:DescribeAddresses",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeFastSnapshotRestores",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeKeyPairs",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeRegions",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSnapshots",
    "ec2:DescribeSubnets",
    "ec2:DescribeVolumes",
    "cloudwatch:GetMetricData",
    "kms:DescribeKey",
    "pricing:GetProducts",
    "servicequotas:GetServiceQuota",
    "ssm:GetParameter",
    "sts:DecodeAuthorizationMessage",
)
"""Read-only actions; EC2 has no conditions for them. sts:GetCallerIdentity needs no permission (STS
API Reference)."""
MAKE = {
    "ec2:AuthorizeSecurityGroupIngress": ("security-group-rule",),
    "ec2:CreateSecurityGroup": ("security-group",),
    "ec2:CreateSnapshot": ("snapshot",),
    "ec2:CreateVolume": ("volume",),
    "ec2:ImportKeyPair": ("key-pair",),
    "ec2:RunInstances": ("instance", "network-interface", "spot-instances-request", "volume"),
}
"""Action → the kinds of resource that it makes, each with the lease's tag in that call."""
USED = {
    "ec2:CreateSecurityGroup": ("vpc",),
    "ec2:CreateSnapshot": ("volume",),
    "ec2:CreateVolume": ("snapshot",),
    "ec2:RunInstances": (
        "image", "key-pair", "placement-group", "security-group", "snapshot", "subnet",
    ),
}  # fmt: skip
"""Action → the existing resources that it uses."""
TAG = "ec2:CreateTags"
"""Allowed to the calls that make something with tags, and for a later end of the lease on what
carries its tag: no other tag can be changed."""
CHANGE = (
    "ec2:AttachVolume",
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:DeleteKeyPair",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteSecurityGroup",
    "ec2:DeleteSnapshot",
    "ec2:DeleteVolume",
    "ec2:DeregisterImage",
    "ec2:DetachVolume",
    "ec2:DisableFastSnapshotRestores",
    "ec2:EnableFastSnapshotRestores",
    "ec2:ModifyInstanceAttribute",
    "ec2:ReleaseAddress",
    "ec2:TerminateInstances",
)
"""Actions that change or delete; allowed only on resources with the lease's tag."""


SPOT_ROLE = "iam:GetRole"
SPOT_ROLE_NAME = "AWSServiceRoleForEC2Spot"
SPOT_ROLE_ARN = f"arn:aws:iam::*:role/aws-service-role/spot.amazonaws.com/{SPOT_ROLE_NAME}"
"""For `doctor --live --spot`: whether the account has the role that its first spot machine needs
(EC2 User Guide, "Service-linked role for EC2 Spot Instances")."""
KEY = "kms:CreateGrant"
KEY_USE = (
    "kms:Decrypt",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
"""Needed only where volumes are encrypted with a key of the user's own (--kms-key, or the account's
default), and then only through EC2 (EBS User Guide, "Requirements for Amazon EBS encryption", read
2026-11-23)."""
PARTITIONS = {
    "cn-": ("aws-cn", "amazonaws.com.cn"),
    "us-gov-": ("aws-us-gov", "amazonaws.com"),
    "eusc-": ("aws-eusc", "amazonaws.eu"),
    "us-iso-": ("aws-iso", "c2s.ic.gov"),
    "us-isob-": ("aws-iso-b", "sc2s.sgov.gov"),
    "eu-isoe-": ("aws-iso-e", "cloud.adc-e.uk"),
    "us-isof-": ("aws-iso-f", "csp.hci.ic.gov"),
}
"""What a region's name begins with → its partition and the domain of its services (botocore
1.44.8, data/partitions.json, 2026)."""
_PUBLIC = ("aws", "amazonaws.com")


def actions() -> frozenset[str]:
    """All actions."""
    return frozenset({*LOOK, *MAKE, TAG, *CHANGE, KEY, *KEY_USE, SPOT_ROLE})


def policy(region: str | None = None) -> str:
    """The policy in IAM's form, for the partition of a region (default: the public cloud)."""
    partition, domain = next(
        (found for begin, found in PARTITIONS.items() if (region or "").startswith(begin)), _PUBLIC
    )
    through_ec2 = {"StringLike": {"kms:ViaService": f"ec2.*.{domain}"}}
    document = {
        "Version": "2012-10-17",
        "Statement": [
            _statement("Look", LOOK),
            *(
                _statement(
                    f"Make{_word(action)}",
                    (action,),
                    kinds,
                    {"Null": {f"aws:RequestTag/{LEASE_TAG}": "false"}},
                )
                for action, kinds in MAKE.items()
            ),
            *(
                _statement(f"Use{_word(action)}", (action,), kinds)
                for action, kinds in USED.items()
            ),
            _statement(
                "TagWhatIsMade",
                (TAG,),
                condition={
                    "StringEquals": {"ec2:CreateAction": [_word(action) for action in MAKE]}
                },
            ),
            _statement(
                "MoveTheEndOfWhatCarriesTheTag",
                (TAG,),
                condition={
                    "Null": {f"aws:ResourceTag/{LEASE_TAG}": "false"},
                    "ForAllValues:StringEquals": {"aws:TagKeys": [EXPIRES_TAG]},
                },
            ),
            _statement(
                "ChangeWhatCarriesTheTag",
                CHANGE,
                condition={"Null": {f"aws:ResourceTag/{LEASE_TAG}": "false"}},
            ),
            _statement("LookAtTheRoleOfSpot", (SPOT_ROLE,), arns=(SPOT_ROLE_ARN,)),
            _statement("UseTheKeyOfTheVolumes", KEY_USE, condition=through_ec2),
            _statement(
                "LetTheMachineUseTheKey",
                (KEY,),
                condition={**through_ec2, "Bool": {"kms:GrantIsForAWSResource": "true"}},
            ),
        ],
    }
    return _written(document).replace("arn:aws:", f"arn:{partition}:")


_WIDTH = 100


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


def _statement(
    sid: str,
    allowed: tuple[str, ...],
    kinds: tuple[str, ...] = (),
    condition: dict[str, Any] | None = None,
    arns: tuple[str, ...] = (),
) -> dict[str, Any]:
    return {
        "Sid": sid,
        "Effect": "Allow",
        "Action": list(allowed) if len(allowed) > 1 else allowed[0],
        "Resource": [*(f"arn:aws:ec2:*:*:{kind}/*" for kind in kinds), *arns] or "*",
        **({"Condition": condition} if condition else {}),
    }


def _word(action: str) -> str:
    return action.partition(":")[2]

"""Constraints of an organisation, as switches: what they refuse, and how they are asked about.

A custom constraint can demand labels of machines and disks (Organization Policy, "Use custom
organization policies"); the words of its refusal are the organisation's, and these ones ours.

Refusals are HTTP 412, reason `conditionNotMet`, in the words that users report: vmExternalIpAccess
(gardener-extension-provider-gcp issue 415), requireShieldedVm (fortigate-terraform-deploy issue
34). That requireOsLogin refuses `enable-oslogin=FALSE` is Google's document (Organization Policy
constraints, compute.requireOsLogin); its words are ours. What is in force is told by the
Organization Policy API v2, projects.policies.getEffectivePolicy.
"""

import re
from collections.abc import Mapping
from typing import Any

from emulators.gcp import rights
from emulators.gcp.call import Call, Refusal
from emulators.gcp.cloud import Cloud
from emulators.gcp.images import Image

EXTERNAL_IP, OS_LOGIN = "compute.vmExternalIpAccess", "compute.requireOsLogin"
SHIELDED = "compute.requireShieldedVm"
CMEK = "gcp.restrictNonCmekServices"
KNOWN = (EXTERNAL_IP, OS_LOGIN, SHIELDED, CMEK)
READS = "orgpolicy.policy.get"
_PATH = re.compile(r"/v2/projects/(?P<project>[^/]+)/policies/(?P<name>[^/:]+):getEffectivePolicy")
_SEE = (
    "See https://cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints "
    "for more information."
)
_SHIELDED_FIELDS = {
    "enableSecureBoot": "Secure Boot",
    "enableVtpm": "vTPM",
    "enableIntegrityMonitoring": "Integrity Monitoring",
}


def check_instance(cloud: Cloud, call: Call, path: str, image: Image) -> None:
    """Raise Refusal for an instance that a constraint forbids."""
    body, enforced = call.body, cloud.constraints.enforced
    if EXTERNAL_IP in enforced and any(
        interface.get("accessConfigs") for interface in body.get("networkInterfaces", ())
    ):
        raise _violated(
            EXTERNAL_IP, f"{cloud.project}. Add instance {path} to the constraint to use external "
            "IP with it."
        )  # fmt: skip
    check_labels(cloud, body.get("labels", {}))
    if SHIELDED in enforced:
        _check_shielded(cloud, body, image)
    items = body.get("metadata", {}).get("items", ())
    told = {one["key"]: str(one.get("value", "")).upper() for one in items}
    if OS_LOGIN in enforced and told.get("enable-oslogin", "TRUE") != "TRUE":
        raise _violated(
            OS_LOGIN, f"{cloud.project}. OS Login cannot be disabled by the metadata key "
            f"'enable-oslogin'. {_SEE}"
        )  # fmt: skip


def check_disk(cloud: Cloud, labels: Mapping[str, str], key: str | None) -> None:
    """Raise Refusal for a disk that a constraint forbids; `key` is the customer's own."""
    check_labels(cloud, labels)
    if CMEK in cloud.constraints.enforced and key is None:
        raise _violated(
            CMEK, f"{cloud.project} attempting to use GCP-managed encryption key for "
            f"compute.googleapis.com. {_SEE}"
        )  # fmt: skip


def check_labels(cloud: Cloud, labels: Mapping[str, str]) -> None:
    """Raise Refusal for what lacks a label that the organisation demands."""
    for key in sorted(cloud.constraints.labels - set(labels)):
        told = f'["customConstraints/custom.requireLabels": "The label \'{key}\' is required."]'
        raise Refusal(412, "conditionNotMet", f"Operation denied by custom org policies: {told}")


def _check_shielded(cloud: Cloud, body: dict[str, Any], image: Image) -> None:
    where = f"projects/{cloud.project}. "
    if not image.uefi:
        raise _violated(
            SHIELDED, f"{where}The boot disk's 'initialize_params.source_image' field specifies a "
            f"non-Shielded image: {image.path}. {_SEE}"
        )  # fmt: skip
    given = body.get("shieldedInstanceConfig", {})
    for name, words in _SHIELDED_FIELDS.items():
        if not given.get(name):
            raise _violated(
                SHIELDED,
                f"{where}{words} is not enabled in the 'shielded_instance_config' field. {_SEE}",
            )


def _violated(name: str, rest: str) -> Refusal:
    message = f"Constraint constraints/{name} violated for project {rest}"
    return Refusal(412, "conditionNotMet", message)


def answer(cloud: Cloud, path: str, caller: str) -> tuple[int, dict[str, Any]] | None:
    """The effective policy of a constraint: status and JSON; None for a path of somebody else's."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None

    def policy() -> dict[str, Any]:
        rights.require(cloud, caller, (READS,), f"projects/{cloud.project}")
        on = found["name"] in cloud.constraints.enforced
        rule = {"enforce": on}
        if found["name"] == EXTERNAL_IP:
            rule = {"denyAll" if on else "allowAll": True}
        name = f"projects/{cloud.project}/policies/{found['name']}"
        return {"name": name, "spec": {"rules": [rule]}}

    return rights.of_project(cloud, found["project"], caller, policy)

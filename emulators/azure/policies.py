"""Azure Policy: the built-in definitions that demand a tag, "Require a tag on resource groups"
(96670d01-0a4d-4649-9c89-2d3abc0a5025) and "Require a tag on resources"
(871b6d14-10aa-478d-b590-94f262ecfa99), with effect deny.

The error: Azure Policy, "Understand policy effects" and azure-cli 27562, terraform-provider-azurerm
25614: RequestDisallowedByPolicy with a PolicyViolation, whose message names the definition and
whose details name the tag.
"""

import json
from typing import Any

from emulators.azure.call import Call, Refusal
from emulators.azure.cloud import Cloud

GROUPS = "Microsoft.Resources/subscriptions/resourceGroups/write"
_TITLES = {"groups": "Require a tag on resource groups", "resources": "Require a tag on resources"}


def check(cloud: Cloud, call: Call) -> None:
    """Raise Refusal for something new without a tag that a policy demands. What is changed keeps
    its tags unless the call has others."""
    if call.method == "PUT" and isinstance(call.body, dict) and "location" in call.body:
        kind = "groups" if call.action == GROUPS else "resources"
        name = call.path.rstrip("/").rpartition("/")[2]
        check_tags(cloud, kind, name, call.body.get("tags") or {})


def check_tags(cloud: Cloud, kind: str, name: str, tags: dict[str, str]) -> None:
    """Raise Refusal where a demanded tag is not among those of a group or resource."""
    carried = {key.lower() for key in tags}
    for key, kinds in cloud.faults.demanded_tags.items():
        if kind in kinds and key.lower() not in carried:
            raise _violation(kind, name, key)


def _violation(kind: str, name: str, key: str) -> Refusal:
    title = _TITLES[kind]
    definition = {"policyAssignment": {"name": title}, "policyDefinition": {"name": title}}
    expression: dict[str, Any] = {
        "result": "True",
        "expressionKind": "Field",
        "expression": f"tags[{key}]",
        "path": f"tags[{key}]",
        "targetValue": "false",
        "operator": "Exists",
    }
    info = {
        "policyDefinitionDisplayName": title,
        "policyDefinitionEffect": "deny",
        "policyAssignmentParameters": {"tagName": {"value": key}},
        "evaluationDetails": {"evaluatedExpressions": [expression]},
    }
    return Refusal(
        "RequestDisallowedByPolicy",
        f"Resource '{name}' was disallowed by policy. Policy identifiers: "
        f"'{json.dumps([definition])}'.",
        status=403,
        target=name,
        more={"additionalInfo": [{"type": "PolicyViolation", "info": info}]},
    )

"""Validation of deployments: what would be refused is refused, and nothing is made.

Resource Manager, "Deployments - Validate At Subscription Scope". A template that would fail is
answered with InvalidTemplateDeployment, whose message quotes the resource provider's refusal or the
right that is missing (public reports: "Authorization failed for template resource …").
"""

from collections.abc import Iterator
from typing import Any

from emulators.azure import disk_rules, machine_rules, policies, sizes
from emulators.azure.call import Answer, Call, Refusal
from emulators.azure.cloud import Cloud, Route
from emulators.azure.subscriptions import check_location

RIGHT = "Microsoft.Resources/deployments/validate/action"
_NESTED = "Microsoft.Resources/deployments"
_GROUPS = "Microsoft.Resources/resourceGroups"


def _validate(cloud: Cloud, call: Call) -> Answer:
    body: dict[str, Any] = call.body or {}
    check_location(body.get("location"), _NESTED)
    template = (body.get("properties") or {}).get("template") or {}
    for resource in _resources(template):
        _check_right(cloud, call, resource)
        try:
            _check(cloud, call, resource)
        except Refusal as refused:
            raise Refusal(
                "InvalidTemplateDeployment",
                f"The template deployment '{call.names['name']}' is not valid according to the "
                f"validation procedure. {refused.code}: {refused.message}",
                more={"details": [refused.error]},
            ) from refused
    path = f"/subscriptions/{call.names['sub']}/providers/{_NESTED}/{call.names['name']}"
    state = {"mode": "Incremental", "provisioningState": "Succeeded"}
    told = {"id": path, "name": call.names["name"], "type": _NESTED, "properties": state}
    return Answer(200, told)


def _resources(template: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if not template.get("$schema"):
        message = "Template schema is missing."
        raise Refusal("InvalidTemplate", f"Deployment template validation failed: '{message}'")
    for resource in template.get("resources", []):
        for name in ("type", "apiVersion", "name"):
            if not resource.get(name):
                message = f"The template resource is missing the property '{name}'."
                raise Refusal(
                    "InvalidTemplate", f"Deployment template validation failed: {message}"
                )
        if resource["type"] == _NESTED:
            yield from _resources(resource["properties"]["template"])
        else:
            yield resource


def _check_right(cloud: Cloud, call: Call, resource: dict[str, Any]) -> None:
    kind = "Microsoft.Resources/subscriptions/resourceGroups"
    right = f"{kind if resource['type'] == _GROUPS else resource['type']}/write"
    if right in cloud.faults.forbidden():
        raise Refusal(
            "InvalidTemplateDeployment",
            "The template deployment failed with error: 'Authorization failed for template "
            f"resource '{resource['name']}' of type '{resource['type']}'. The client does not have "
            f"permission to perform action '{right}' at scope "
            f"'/subscriptions/{call.names['sub']}'.'.",
            status=403,
        )


def _check(cloud: Cloud, call: Call, resource: dict[str, Any]) -> None:
    kind, given = resource["type"], resource.get("properties") or {}
    location = check_location(resource.get("location"), kind)
    policed = "groups" if kind == _GROUPS else "resources"
    policies.check_tags(cloud, policed, resource["name"], resource.get("tags") or {})
    if kind == "Microsoft.Compute/disks":
        sku = disk_rules.sku_name((resource.get("sku") or {}).get("name"))
        disk_rules.figures(sku, given["diskSizeGB"], given)
    if kind == "Microsoft.Compute/virtualMachines":
        size = sizes.size_of(given["hardwareProfile"]["vmSize"])
        machine_rules.check_zones(location, resource.get("zones"))
        machine_rules.check_quota(cloud, call.names["sub"], location, size)
        machine_rules.check_user(given["osProfile"], "Linux")


ROUTES = (
    Route(
        "POST",
        f"/subscriptions/{{sub}}/providers/{_NESTED}/{{name}}/validate",
        RIGHT,
        _validate,
    ),
)

"""Resource groups: one delete takes everything in it along."""

import re
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from emulators.azure import schema
from emulators.azure.bridge import destroy_all
from emulators.azure.call import GROUP, Answer, Call, Refusal, filtered
from emulators.azure.cloud import Cloud, Route
from emulators.azure.polling import accepted, start
from emulators.azure.subscriptions import check_location

KIND = "Microsoft.Resources/resourceGroups"
_NAME = re.compile(r"[-\w._()]{0,89}[-\w_()]")


def group_of(cloud: Cloud, call: Call) -> dict[str, Any]:
    """The group that a path names. Raises Refusal where there is none, or one that is going."""
    found = cloud.find(call.group_id)
    if found is None:
        raise Refusal(
            "ResourceGroupNotFound",
            f"Resource group '{call.names['group']}' could not be found.",
            status=404,
        )
    if found["properties"]["provisioningState"] == "Deleting" and call.method in {"PUT", "PATCH"}:
        raise Refusal(
            "ResourceGroupBeingDeleted",
            f"The resource group '{found['name']}' is in deprovisioning state and cannot perform "
            "this operation.",
            status=409,
        )
    return found


def check_tags(tags: Mapping[str, str] | None) -> None:
    """Raise Refusal for tags that Azure does not take: 50 of 512 and 256 characters."""
    given = tags or {}
    if len(given) > 50:
        raise Refusal("TagsCountExceeded", "The number of tags cannot exceed 50.")
    for name, value in given.items():
        if not 0 < len(name) <= 512 or set(name) & set("<>%&\\?/"):
            raise Refusal("InvalidTagNameCharacters", f"The tag name '{name}' is not valid.")
        if len(value) > 256:
            raise Refusal("TagValueTooLarge", f"The value of tag '{name}' is too long.")


def _put(cloud: Cloud, call: Call) -> Answer:
    schema.check("resource.resources", "ResourceGroup", call.body)
    name = call.names["group"]
    if not _NAME.fullmatch(name):
        raise Refusal("InvalidResourceGroup", f"The resource group name '{name}' is invalid.")
    location = check_location((call.body or {}).get("location"), KIND)
    check_tags(call.body.get("tags"))
    before = cloud.find(call.group_id)
    if before is not None:
        group_of(cloud, call)
        if before["location"] != location:
            raise Refusal(
                "InvalidResourceGroupLocation",
                f"Invalid resource group location '{location}'. The Resource group already exists "
                f"in location '{before['location']}'.",
                status=409,
            )
    made = {
        "id": before["id"] if before else call.group_id,
        "name": before["name"] if before else name,
        "type": KIND,
        "location": location,
        **({"tags": call.body["tags"]} if call.body.get("tags") else {}),
        "properties": {"provisioningState": "Succeeded"},
    }
    return Answer(200 if before else 201, cloud.save(made))


def _get(cloud: Cloud, call: Call) -> Answer:
    return Answer(200, group_of(cloud, call))


def _list(cloud: Cloud, call: Call) -> Answer:
    found = cloud.of(KIND, f"/subscriptions/{call.names['sub']}/")
    return Answer(200, {"value": filtered(call, found)})


def _resources(cloud: Cloud, call: Call) -> Answer:
    """Everything in a group, without its properties."""
    below = group_of(cloud, call)["id"] + "/"
    shown = ("id", "name", "type", "location", "tags", "sku", "zones", "managedBy")
    found = [
        {key: one[key] for key in shown if key in one}
        for key, one in sorted(cloud.resources.items())
        if key.startswith(below.lower()) and "location" in one and one["type"] != KIND
    ]
    return Answer(200, {"value": filtered(call, found)})


def _delete(cloud: Cloud, call: Call) -> Answer:
    group = group_of(cloud, call)
    if cloud.operations.under_way(group["id"]) is None:
        cloud.operations.preempt(group["id"] + "/")
        group["properties"]["provisioningState"] = "Deleting"

    def begin() -> Future[Any]:
        return destroy_all(cloud, group["id"] + "/")

    def gone() -> None:
        cloud.drop(group["id"])
        for kept in (cloud.secrets, cloud.powers):
            for key in [k for k in kept if k.startswith(group["id"].lower() + "/")]:
                del kept[key]

    def failed(_: BaseException) -> None:
        group["properties"]["provisioningState"] = "Succeeded"

    operation = start(cloud, call, "group", group, gone, begin=begin, failed=failed)
    return accepted(cloud, call, operation, 202)


_ACTION = "Microsoft.Resources/subscriptions/resourceGroups"
ROUTES = (
    Route("GET", "/subscriptions/{sub}/resourceGroups", f"{_ACTION}/read", _list),
    Route("GET", GROUP + "/resources", f"{_ACTION}/resources/read", _resources),
    Route("PUT", GROUP, f"{_ACTION}/write", _put),
    Route("GET", GROUP, f"{_ACTION}/read", _get),
    Route("DELETE", GROUP, f"{_ACTION}/delete", _delete),
)

"""Managed disks: made, changed and deleted as Microsoft.Compute/disks does."""

import copy
import uuid
from typing import Any

from emulators.azure import disk_rules, origins, schema
from emulators.azure.call import GROUP, Answer, Call, Refusal, filtered, not_found, now, wrong
from emulators.azure.cloud import Cloud, Route
from emulators.azure.groups import check_tags, group_of
from emulators.azure.polling import accepted, start
from emulators.azure.subscriptions import ZONAL, check_location

KIND = "Microsoft.Compute/disks"
_AT = f"{GROUP}/providers/{KIND}"


def made_disk(
    identity: str,
    location: str,
    sku: str,
    size: int,
    given: dict[str, Any],
    more: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A disk's document as it is shown when it is there. Raises Refusal for what is not sold."""
    _check_place(sku, location, (more or {}).get("zones"))
    shown = disk_rules.figures(sku, size, given)
    return {
        "name": identity.rsplit("/", 1)[1],
        "id": identity,
        "type": KIND,
        "location": location,
        **{key: value for key, value in (more or {}).items() if value},
        "sku": {"name": sku, "tier": disk_rules.SKU_TIERS[sku]},
        "properties": {
            "creationData": given.get("creationData") or {"createOption": "Empty"},
            "diskSizeGB": size,
            **shown,
            "encryption": {"type": "EncryptionAtRestWithPlatformKey"},
            "networkAccessPolicy": given.get("networkAccessPolicy", "AllowAll"),
            "publicNetworkAccess": given.get("publicNetworkAccess", "Enabled"),
            "timeCreated": now(),
            "provisioningState": "Succeeded",
            "diskState": "Unattached",
            "diskSizeBytes": size * disk_rules.GIB,
            "uniqueId": str(uuid.uuid4()),
        },
    }


def _check_place(sku: str, location: str, zones: list[str] | None) -> None:
    if sku in disk_rules.UNCACHED or sku in disk_rules.ZRS:
        if location not in ZONAL:
            raise Refusal(
                "SkuNotAvailable",
                f"The requested disk SKU '{sku}' is not available in location '{location}'.",
                status=409,
            )
        if sku == "PremiumV2_LRS" and not zones:
            raise wrong(f"Disks of sku '{sku}' must name a zone in '{location}'.", "zones")
    if zones:
        if location not in ZONAL or sku in disk_rules.ZRS:
            raise wrong(f"The disk cannot be in a zone: {sku} in {location}.", "zones")
        if len(zones) != 1 or zones[0] not in {"1", "2", "3"}:
            raise wrong(f"'{','.join(zones)}' is no zone of {location}.", "zones")


def _put(cloud: Cloud, call: Call) -> Answer:
    group = group_of(cloud, call)
    schema.check("compute", "Disk", call.body)
    body = copy.deepcopy(call.body) or {}
    location = check_location(body.get("location"), KIND)
    check_tags(body.get("tags"))
    before = cloud.find(f"{call.group_id}/providers/{KIND}/{call.names['name']}")
    if before is not None:  # nothing of it is changed here
        return _accepted(cloud, call, before, copy.deepcopy(before))
    given = body.get("properties") or {}
    created = (given.get("creationData") or {}).get("createOption")
    if created is None:
        raise wrong("Required parameter 'disk.creationData.createOption' is missing (null).")
    if created.lower() not in {"empty", "copy"}:
        raise wrong(f"The emulator makes no disks by '{created}'.", "createOption")
    if given.get("diskSizeGB") is None:
        raise wrong("Required parameter 'disk.diskSizeGB' is missing (null).", "disk.diskSizeGB")
    made = made_disk(
        f"{group['id']}/providers/{KIND}/{call.names['name']}",
        location,
        disk_rules.sku_name((body.get("sku") or {}).get("name")),
        given["diskSizeGB"],
        given,
        {"tags": body.get("tags"), "zones": body.get("zones")},
    )
    key = (given.get("encryption") or {}).get("diskEncryptionSetId")
    made["properties"]["encryption"] = origins.encryption(cloud, location, key)
    if created.lower() == "copy":
        if made["sku"]["name"] == "UltraSSD_LRS":
            raise wrong("Ultra disks can only be created as empty disks.", "createOption")
        asked = given["creationData"].get("sourceResourceId")
        source = origins.snapshot(cloud, location, asked, given["diskSizeGB"])
        origins.copy_content(cloud, source, made)
    made["properties"]["provisioningState"] = "Updating"
    cloud.save(made)
    # Until it is there only what was asked for is told; the type of disk is, where it was asked.
    told = {key: made[key] for key in ("name", "id", "type", "location", "tags", "zones")
            if key in made} | ({"sku": made["sku"]} if body.get("sku") else {})  # fmt: skip
    told["properties"] = {
        key: made["properties"][key] for key in ("creationData", "diskSizeGB")
    } | {"provisioningState": "Updating"}
    return _accepted(cloud, call, made, told)


def _accepted(cloud: Cloud, call: Call, disk: dict[str, Any], told: dict[str, Any]) -> Answer:
    def finish() -> dict[str, Any]:
        disk["properties"]["provisioningState"] = "Succeeded"
        return copy.deepcopy(disk)

    def failed(_: BaseException) -> None:
        disk["properties"]["provisioningState"] = "Failed"

    operation = start(cloud, call, "disk", disk, finish, failed=failed)
    return accepted(cloud, call, operation, 202, told)


def _found(cloud: Cloud, call: Call) -> dict[str, Any]:
    group_of(cloud, call)
    found = cloud.find(f"{call.group_id}/providers/{KIND}/{call.names['name']}")
    if found is None:
        raise not_found(KIND, call.names["name"], call.names["group"])
    return found


def _get(cloud: Cloud, call: Call) -> Answer:
    return Answer(200, _found(cloud, call))


def _list(cloud: Cloud, call: Call) -> Answer:
    below = f"/subscriptions/{call.names['sub']}/"
    if "group" in call.names:
        below = group_of(cloud, call)["id"] + "/"
    return Answer(200, {"value": filtered(call, cloud.of(KIND, below))})


def _delete(cloud: Cloud, call: Call) -> Answer:
    group_of(cloud, call)
    found = cloud.find(f"{call.group_id}/providers/{KIND}/{call.names['name']}")
    if found is None:
        return Answer(204)
    if owner := found.get("managedBy"):
        raise Refusal(
            "OperationNotAllowed",
            f"Disk {found['name']} is attached to VM {owner}.",
            status=409,
        )
    cloud.operations.preempt(found["id"])
    operation = start(cloud, call, "disk", found, lambda: cloud.drop(found["id"]))
    return accepted(cloud, call, operation, 202)


ROUTES = (
    Route("PUT", _AT + "/{name}", f"{KIND}/write", _put),
    Route("GET", _AT + "/{name}", f"{KIND}/read", _get),
    Route("DELETE", _AT + "/{name}", f"{KIND}/delete", _delete),
    Route("GET", _AT, f"{KIND}/read", _list),
    Route("GET", f"/subscriptions/{{sub}}/providers/{KIND}", f"{KIND}/read", _list),
)

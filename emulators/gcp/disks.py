"""Disks of zones and of regions: made, told, labelled and deleted."""

import subprocess
from pathlib import Path
from typing import Any

from emulators.gcp import constraints, disk_types, images, labels, lists, quotas
from emulators.gcp.call import Call, Refusal, invalid, not_found
from emulators.gcp.cloud import Cloud, Work
from emulators.gcp.disk_types import Sized
from emulators.gcp.operations import force, look_at, start
from emulators.gcp.regions import ZONES, below, fixed, last, link, path_of, rfc3339


def insert(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Make a disk."""
    body = call.body
    path = f"{call.scope}/disks/{body['name']}"
    check_free(cloud, path)
    if "sourceDisk" in body:
        raise Refusal(501, "notImplemented", "Disks of disks are not emulated.")
    regional = "region" in call.path
    replicas = _replicas(call) if regional else []
    kind = f"{below(call.place)}/diskTypes/pd-standard"
    kind = disk_types.named(call, body.get("type", kind), "resource.type")
    if kind == "local-ssd":
        raise invalid("resource.type", body["type"], "A local SSD comes with its instance.")
    size = _number(body.get("sizeGb") or call.query.get("sizeGb"))
    source = body.get("sourceImage") or call.query.get("sourceImage")
    if source is not None:
        image = images.named(source, call.project)
        size = image.size_gb if size is None else size
    of_snapshot = (
        path_of(body["sourceSnapshot"], call.project) if "sourceSnapshot" in body else None
    )
    if of_snapshot is not None:
        held = int(_snapshot(cloud, of_snapshot)["diskSizeGb"])
        size = held if size is None else size
        if size < held:
            why = f"Requested disk size cannot be smaller than the snapshot size ({held} GB)"
            raise invalid("resource.sizeGb", size, why)
    sized = disk_types.checked(
        kind,
        size,
        _number(body.get("provisionedIops")),
        _number(body.get("provisionedThroughput")),
        "resource.",
        regional=regional,
    )
    failure = cloud.faults.failure(call) or quotas.exceeded(
        cloud, ZONES.get(call.place, call.place), quotas.of_disk(kind, sized.size_gb)
    )
    given = labels.checked(body.get("labels", {}), "resource.labels")
    row = new_row(cloud, call, path, sized, given, body.get("diskEncryptionKey"))
    row |= {"description": body["description"]} if "description" in body else {}
    row |= {"replicaZones": replicas} if regional else {}
    cloud.resources[path] = row
    if of_snapshot is not None:
        row["sourceSnapshot"] = link(of_snapshot)
        cloud.image(row["id"]).parent.mkdir(exist_ok=True)
        _fill(cloud, cloud.image(row["id"]), of_snapshot)

    def made() -> None:
        row["status"] = "READY"

    def gone() -> None:
        drop(cloud, path)

    return start(cloud, call, path, Work(finish=made, undo=gone, failure=failure))


def _replicas(call: Call) -> list[str]:
    """The two zones of a region that a disk of it is in. Raises Refusal."""
    given = call.body.get("replicaZones", [])
    zones = {last(path_of(zone, call.project) or "") for zone in given}
    if len(zones) != 2 or any(ZONES.get(zone) != call.path["region"] for zone in zones):
        why = "Exactly two zones of the region must be specified."
        raise invalid("resource.replicaZones", given, why)
    return [link(path_of(zone, call.project) or "") for zone in given]


def get_snapshot(cloud: Cloud, call: Call) -> dict[str, Any]:
    """One snapshot."""
    path = call.names("snapshot", "snapshots")
    look_at(cloud, path)
    return _snapshot(cloud, path)


def _snapshot(cloud: Cloud, path: str) -> dict[str, Any]:
    if path in cloud.resources:
        return cloud.resources[path]
    if path not in cloud.snapshots:
        raise not_found(path)
    size = str(cloud.snapshots[path].size_gb)
    return fixed("snapshot", path, status="READY", diskSizeGb=size, storageBytes="0")


def _fill(cloud: Cloud, image: Path, of_snapshot: str) -> None:
    """Write the content of a snapshot: one that was made here, or one of the user's own."""
    if of_snapshot in cloud.resources:
        _copy(cloud.image(cloud.resources[of_snapshot]["id"]), image)
    else:
        image.write_bytes(cloud.snapshots[of_snapshot].content)


def _copy(source: Path, copy: Path) -> None:
    if source.exists():
        subprocess.run(["cp", "--sparse=always", source, copy], check=True)


def insert_snapshot(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Make a snapshot of a disk, with what it holds now."""
    body = call.body
    path = f"{call.scope}/snapshots/{body['name']}"
    check_free(cloud, path)
    disk = cloud.resource(path_of(body["sourceDisk"], call.project))
    given = labels.checked(body.get("labels", {}), "resource.labels")
    constraints.check_disk(cloud, given, None)
    row = cloud.resources[path] = {
        "kind": "compute#snapshot",
        "id": cloud.new_id(),
        "name": body["name"],
        "creationTimestamp": rfc3339(cloud.now()),
        "selfLink": link(path),
        "sourceDisk": disk["selfLink"],
        "diskSizeGb": disk["sizeGb"],
        "status": "CREATING",
        "labels": given,
        "labelFingerprint": labels.fingerprint(given),
    }
    _copy(cloud.image(disk["id"]), cloud.image(row["id"]))

    def made() -> None:
        row["status"] = "READY"

    def gone() -> None:
        drop(cloud, path)

    failure = cloud.faults.failure(call)
    return start(cloud, call, path, Work(finish=made, undo=gone, failure=failure))


def list_snapshots(cloud: Cloud, call: Call) -> dict[str, Any]:
    """The snapshots that were made here."""
    look_at(cloud, f"{call.scope}/snapshots/")
    rows = list(cloud.shown("snapshots", f"{call.scope}/").values())
    return lists.listed(call, "compute#snapshotList", rows)


def delete_snapshot(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Delete a snapshot."""
    path = call.names("snapshot", "snapshots")
    check_ready(cloud.resource(path), path)

    def gone() -> None:
        drop(cloud, path)

    return start(cloud, call, path, Work(finish=gone, failure=cloud.faults.failure(call)))


def new_row(
    cloud: Cloud,
    call: Call,
    path: str,
    sized: Sized,
    given: dict[str, str],
    encryption: dict[str, Any] | None,
) -> dict[str, Any]:
    """A disk that is being created. Raises Refusal."""
    key = (encryption or {}).get("kmsKeyName")
    constraints.check_disk(cloud, given, key)
    if key is not None and key not in cloud.keys:
        message = (
            f"Cloud KMS error when using key {key}: Permission "
            "'cloudkms.cryptoKeyVersions.useToEncrypt' denied on resource "
            f"'{key}' (or it may not exist)."
        )
        raise Refusal(400, "kmsPermissionDenied", message)
    row: dict[str, Any] = {
        "kind": "compute#disk",
        "id": cloud.new_id(),
        "name": last(path),
        "creationTimestamp": rfc3339(cloud.now()),
        "sizeGb": str(sized.size_gb),
        "region" if "region" in call.path else "zone": link(call.scope),
        "status": "CREATING",
        "selfLink": link(path),
        "type": link(f"{call.scope}/diskTypes/{sized.kind}"),
        "physicalBlockSizeBytes": "4096",
        "labelFingerprint": labels.fingerprint(given),
    }
    if given:
        row["labels"] = given
    if key is not None:
        row["diskEncryptionKey"] = {"kmsKeyName": f"{key}/cryptoKeyVersions/1"}
    if sized.iops is not None:
        row["provisionedIops"] = str(sized.iops)
    if sized.throughput is not None:
        row["provisionedThroughput"] = str(sized.throughput)
    return row


def check_free(cloud: Cloud, path: str) -> None:
    """Raise Refusal when something has that path."""
    if path in cloud.resources:
        raise Refusal(409, "alreadyExists", f"The resource '{path}' already exists")


def check_unused(row: dict[str, Any], path: str) -> None:
    """Raise Refusal when an instance has the disk."""
    for user in row.get("users", ()):
        other = user.partition("/compute/v1/")[2]
        message = f"The disk resource '{path}' is already being used by '{other}'"
        raise Refusal(400, "resourceInUseByAnotherResource", message)


def check_ready(row: dict[str, Any], path: str) -> None:
    """Raise Refusal while the disk is being created or deleted."""
    if row["status"] != "READY":
        raise Refusal(400, "resourceNotReady", f"The resource '{path}' is not ready")


def get(cloud: Cloud, call: Call) -> dict[str, Any]:
    """One disk."""
    path = call.names("disk", "disks")
    look_at(cloud, path)
    return cloud.resource(path)


def aggregated_list(cloud: Cloud, call: Call) -> dict[str, Any]:
    """All disks by zone and by region."""
    for path in list(cloud.of_kind("disks")):
        look_at(cloud, path)
    rows = cloud.shown("disks")
    return lists.aggregated(call, "compute#diskAggregatedList", "disks", rows)


def delete(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Delete a disk that no instance has. One that is stuck in its creation can be deleted too."""
    path = call.names("disk", "disks")
    row = cloud.resource(path)
    check_unused(row, path)
    pending = cloud.operations.under_way(path)
    if any(one.work.looks != float("inf") for one in pending):
        check_ready(row, path)
    force(cloud, path)
    before = row["status"]
    row["status"] = "DELETING"

    def gone() -> None:
        drop(cloud, path)

    def kept() -> None:
        row["status"] = before

    failure = cloud.faults.failure(call)
    return start(cloud, call, path, Work(finish=gone, undo=kept, failure=failure))


def drop(cloud: Cloud, path: str) -> None:
    """The disk is no more, and what was on it."""
    row = cloud.resources.pop(path, None)
    if row is not None:
        cloud.image(row["id"]).unlink(missing_ok=True)


def _number(given: object) -> int | None:
    return None if given is None else int(str(given))

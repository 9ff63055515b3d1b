"""Which function answers which method of the discovery document; the others are not emulated."""

from collections.abc import Callable
from typing import Any

from emulators.gcp import (
    attachments,
    disk_types,
    disks,
    firewalls,
    images,
    instances,
    lists,
    machine_types,
    operations,
    places,
    rights,
)
from emulators.gcp.call import Call
from emulators.gcp.cloud import Cloud

Handler = Callable[[Cloud, Call], dict[str, Any]]


def _operations_everywhere(cloud: Cloud, call: Call) -> dict[str, Any]:
    kind = "compute#operationAggregatedList"
    return lists.aggregated(call, kind, "operations", operations.everywhere(cloud))


HANDLERS: dict[str, Handler] = {
    "projects.get": places.projects_get,
    "regions.get": places.regions_get,
    "regions.list": places.regions_list,
    "networks.get": places.networks_get,
    "subnetworks.get": places.subnetworks_get,
    "images.get": images.get,
    "images.getFromFamily": images.get_from_family,
    "images.testIamPermissions": rights.of_resource("images", "resource"),
    "subnetworks.testIamPermissions": rights.of_resource("subnetworks", "resource"),
    "machineTypes.aggregatedList": machine_types.aggregated_list,
    "diskTypes.aggregatedList": disk_types.aggregated_list,
    "firewalls.insert": firewalls.insert,
    "firewalls.list": firewalls.list_,
    "firewalls.delete": firewalls.delete,
    "disks.insert": disks.insert,
    "disks.get": disks.get,
    "disks.aggregatedList": disks.aggregated_list,
    "disks.delete": disks.delete,
    "regionDisks.insert": disks.insert,
    "regionDisks.get": disks.get,
    "regionDisks.delete": disks.delete,
    "snapshots.get": disks.get_snapshot,
    "snapshots.list": disks.list_snapshots,
    "snapshots.insert": disks.insert_snapshot,
    "snapshots.delete": disks.delete_snapshot,
    "instances.insert": instances.insert,
    "instances.get": instances.get,
    "instances.aggregatedList": instances.aggregated_list,
    "instances.delete": instances.delete,
    "instances.attachDisk": attachments.attach,
    "instances.detachDisk": attachments.detach,
    "instances.setDiskAutoDelete": attachments.set_auto_delete,
    "globalOperations.aggregatedList": _operations_everywhere,
    **{f"{scope}Operations.get": operations.get for scope in ("zone", "region", "global")},
    **{f"{scope}Operations.wait": operations.wait for scope in ("zone", "region", "global")},
}

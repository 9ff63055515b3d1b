"""Which function answers which method of the discovery document; the others are not emulated."""

from __future__ import annotations

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


def _operations_list(cloud: Cloud, call: Call) -> dict[str, Any]:
    return lists.listed(call, "compute#operationList", operations.rows(cloud, call.scope))


HANDLERS: dict[str, Handler] = {
    "projects.get": places.projects_get,
    "zones.get": places.zones_get,
    "zones.list": places.zones_list,
    "regions.get": places.regions_get,
    "regions.list": places.regions_list,
    "networks.get": places.networks_get,
    "networks.list": places.networks_list,
    "subnetworks.get": places.subnetworks_get,
    "subnetworks.list": places.subnetworks_list,
    "images.get": images.get,
    "images.getFromFamily": images.get_from_family,
    "images.list": images.list_,
    "images.testIamPermissions": rights.of_resource("images", "resource"),
    "subnetworks.testIamPermissions": rights.of_resource("subnetworks", "resource"),
    "machineTypes.get": machine_types.get,
    "machineTypes.list": machine_types.list_,
    "machineTypes.aggregatedList": machine_types.aggregated_list,
    "diskTypes.get": disk_types.get,
    "diskTypes.list": disk_types.list_,
    "diskTypes.aggregatedList": disk_types.aggregated_list,
    "firewalls.insert": firewalls.insert,
    "firewalls.get": firewalls.get,
    "firewalls.list": firewalls.list_,
    "firewalls.delete": firewalls.delete,
    "disks.insert": disks.insert,
    "disks.get": disks.get,
    "disks.list": disks.list_,
    "disks.aggregatedList": disks.aggregated_list,
    "disks.delete": disks.delete,
    "disks.setLabels": disks.set_labels,
    "regionDisks.insert": disks.insert,
    "regionDisks.get": disks.get,
    "regionDisks.list": disks.list_,
    "regionDisks.delete": disks.delete,
    "regionDiskTypes.get": disk_types.get,
    "regionDiskTypes.list": disk_types.list_,
    "snapshots.get": disks.get_snapshot,
    "snapshots.list": disks.list_snapshots,
    "snapshots.insert": disks.insert_snapshot,
    "snapshots.delete": disks.delete_snapshot,
    "instances.insert": instances.insert,
    "instances.get": instances.get,
    "instances.list": instances.list_,
    "instances.aggregatedList": instances.aggregated_list,
    "instances.delete": instances.delete,
    "instances.stop": instances.stop,
    "instances.setLabels": instances.set_labels,
    "instances.attachDisk": attachments.attach,
    "instances.detachDisk": attachments.detach,
    "instances.setDiskAutoDelete": attachments.set_auto_delete,
    "globalOperations.aggregatedList": _operations_everywhere,
    **{f"{scope}Operations.get": operations.get for scope in ("zone", "region", "global")},
    **{f"{scope}Operations.list": _operations_list for scope in ("zone", "region", "global")},
    **{f"{scope}Operations.wait": operations.wait for scope in ("zone", "region", "global")},
}

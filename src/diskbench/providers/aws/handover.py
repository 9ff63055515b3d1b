"""Handover of a rented machine: connect to it, find its disk in the guest, read everything back;
AWS's report is kept for the record and compared with the request. And what CloudWatch counted."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from diskbench.errors import RentalFailed
from diskbench.model.metrics import CloudMetric
from diskbench.model.rental import Acquired, Which
from diskbench.providers.aws import attach, leases
from diskbench.providers.aws.client import AwsClient
from diskbench.providers.aws.disk_request import API, AwsMachine, AwsResolved, AwsZone
from diskbench.providers.aws.errors import refused
from diskbench.providers.aws.leases import Item
from diskbench.providers.aws.offer import find_machine
from diskbench.providers.aws.plugin import AwsOptions
from diskbench.providers.aws.provision import ended
from diskbench.providers.aws.requests import AwsOrder
from diskbench.providers.guest import ROOT_DIRECTORY, GuestDisk
from diskbench.providers.skeleton.handover import acquired, differs, reached, refuse
from diskbench.providers.skeleton.offer import provisioned
from diskbench.providers.skeleton.provision import Provisioned, name_of
from diskbench.providers.skeleton.shipped import at, facts_of
from diskbench.units import GIB


def hand_over(order: AwsOrder, made: Provisioned) -> Acquired:
    """The machine with its verified disk. Raises RentalFailed where it differs from the request."""
    reach = attach.machine_of(order, made)
    with reached(order, reach) as guest:
        kind = order.details.requested.kind
        shown: tuple[GuestDisk, ...] = ()
        if kind == "volume":
            shown = attach.attach(order, made, guest)
        elif kind == "instance-store":
            shown = attach.stores(order, guest)
        attach.await_ready(order, made, guest)
    details, snapshot = order.details, order.spec.snapshot
    instance = leases.describe_instance(order.ec2, str(made.machine["InstanceId"]))
    if instance is None or instance["State"]["Name"] != "running":
        raise ended(instance or made.machine)
    machine = find_machine(order.ec2, details.machine.type, ())
    ids = [str(item["VolumeId"]) for item in made.disks]
    if kind == "root":
        device = instance.get("RootDeviceName")
        mapped = instance.get("BlockDeviceMappings", [])
        ids = [str(one["Ebs"]["VolumeId"]) for one in mapped if one.get("DeviceName") == device]
        if not ids:
            raise RentalFailed(f"instance {instance['InstanceId']} has no root volume at {device}")
    volumes = [_volume(order, volume_id) for volume_id in ids]
    check(order, made.place, instance, machine, volumes)
    sizes = [disk.size_bytes for disk in shown] or [int(v["Size"]) * GIB for v in volumes]
    found = facts(details, made.place, instance, machine, volumes, shown)
    if snapshot is not None:
        # Of Fast Snapshot Restore in the zone; None where the caller may not know.
        restored = leases.restored_in(order.ec2, snapshot)
        state = None if restored is None else restored.get(made.place.zone, "disabled")
        found["fast_snapshot_restore"] = state
        found["initialization_rate_mib_per_s"] = AwsOptions.of(order.spec).initialization_rate
    all_made = _all_made(order, made, instance)
    directory = ROOT_DIRECTORY if kind == "root" else None
    return acquired(order, reach, shown, directory, size_bytes=sizes[0], facts=found, made=all_made)


def _all_made(order: AwsOrder, made: Provisioned, instance: Item) -> tuple[str, ...]:
    """Kinds and ids of all resources of the lease. A listing by tag may lag behind, so the
    resources known to exist are added."""
    attached = [mapping["Ebs"]["VolumeId"] for mapping in instance.get("BlockDeviceMappings", [])]
    listed = leases.inventory(order.ec2, Which(order.lease)).meant
    known = {
        *(told for told, item in listed.items() if not leases.is_over(told, item)),
        f"instance {instance['InstanceId']}",
        f"key-pair {name_of(order.lease, 'key')}",
        *(f"volume {one}" for one in (*attached, *(item["VolumeId"] for item in made.disks))),
    }
    if order.spec.snapshot_of_fill:
        known.add(f"snapshot {order.spec.snapshot}")
    if order.spec.security_group is None:
        known |= {f"security-group {one['GroupId']}" for one in instance.get("SecurityGroups", [])}
    return tuple(sorted(known))


def _volume(order: AwsOrder, volume_id: str) -> Item:
    volume = leases.describe_volume(order.ec2, volume_id)
    if volume is None:
        raise refused("volume gone", volume_id=volume_id)
    return volume


def check(
    order: AwsOrder, place: AwsZone, instance: Item, machine: AwsMachine, volumes: Sequence[Item]
) -> None:
    """Raise RentalFailed naming every value that differs, as requested and as reported; a value
    that AWS does not report is no difference."""
    of_volumes = (text for volume in volumes for text in _of_volume(order, volume))
    refuse("AWS", (*_of_instance(order.details, place, instance, machine), *of_volumes))


def _of_instance(
    details: AwsResolved, place: AwsZone, instance: Item, machine: AwsMachine
) -> Iterator[str]:
    what = f"instance {instance['InstanceId']}"
    zone, metadata = at(instance, "Placement.AvailabilityZone"), instance.get("MetadataOptions", {})
    yield from differs(what, "type", details.machine.type, instance.get("InstanceType"))
    yield from differs(what, "image", details.image.id, instance.get("ImageId"))
    yield from differs(what, "zone", place.zone, zone)
    yield from differs(what, "IMDS tokens", "required", metadata.get("HttpTokens"))
    if place.public is False:
        yield from differs(what, "public address", "none", instance.get("PublicIpAddress"))
    if details.machine.ebs_optimized == "supported":
        yield from differs(what, "EBS optimisation", "on", _on(instance.get("EbsOptimized")))
    for name, requested in details.machine.ebs:
        yield from differs(machine.type, name, requested, getattr(machine.ebs, name))
    yield from differs(machine.type, "hypervisor", details.machine.hypervisor, machine.hypervisor)


def _of_volume(order: AwsOrder, volume: Item) -> Iterator[str]:
    disk, spec = order.details.requested.spec(order.details.size_gib), order.spec
    what = f"volume {volume['VolumeId']}"
    iops, throughput = provisioned("aws", disk)
    yield from differs(what, "type", disk.type, volume.get("VolumeType"))
    yield from differs(what, "size in GiB", disk.size_gib, volume.get("Size"))
    yield from differs(what, "IOPS", iops, volume.get("Iops"))
    yield from differs(what, "throughput in MiB/s", throughput, volume.get("Throughput"))
    if spec.kms_key is not None:
        yield from differs(what, "encryption", "on", _on(volume.get("Encrypted")))
    yield from differs(what, "snapshot", spec.snapshot, volume.get("SnapshotId"))
    yield from differs(what, "multi-attach", "off", _on(volume.get("MultiAttachEnabled")))


def _on(flag: bool | None) -> str | None:
    return None if flag is None else "on" if flag else "off"


def facts(
    details: AwsResolved,
    place: AwsZone,
    instance: Item,
    machine: AwsMachine,
    volumes: Sequence[Item],
    disks: Sequence[GuestDisk],
) -> dict[str, Any]:
    """The facts recorded beside the result; JSON values only, nothing secret."""
    return {
        **facts_of(instance, API["machine"]),
        "account_id": details.account_id,
        "region": details.region,
        "zone": place.zone,
        "zone_id": place.zone_id,
        "image_name": details.image.name,
        "architecture": machine.arch,
        "hypervisor": machine.hypervisor,
        "ebs_interface": "nvme" if machine.ebs_nvme else "xen-blkfront",
        "ebs": machine.ebs.model_dump(mode="json"),
        "ebs_cards": machine.ebs_cards,
        "bare_metal": machine.bare_metal,
        "public_address": bool(instance.get("PublicIpAddress")),
        "spot": instance.get("InstanceLifecycle") == "spot",
        "placement_group": instance.get("Placement", {}).get("GroupName") or None,
        "launched_at": str(instance.get("LaunchTime")),
        "volumes": [_volume_facts(volume) for volume in volumes],
        "disks": [disk.model_dump(mode="json") for disk in disks],
    }


def _volume_facts(volume: Item) -> dict[str, Any]:
    attachment: Item = next(iter(volume.get("Attachments", [])), {})
    return {
        **facts_of(volume, API["volume"]),
        "snapshot": volume.get("SnapshotId") or None,
        "attached_as": attachment.get("Device"),
        "ends_with_machine": attachment.get("DeleteOnTermination"),
    }


_METRICS = API["metrics"]


def metrics(
    cloudwatch: AwsClient, facts: Mapping[str, Any], since: datetime, until: datetime
) -> Sequence[CloudMetric]:
    """What CloudWatch has of the machine and volumes in `facts` (of the handover) so far; nothing
    for disks of the machine's own. Raises diskbench's errors."""
    volumes = [str(volume["id"]) for volume in facts.get("volumes", ())]
    if not volumes:
        return ()
    period_s = int(cloudwatch.timing.metric_s)
    asked = {f"m{number}": one for number, one in enumerate(_asked(facts, volumes))}
    queries = []
    for number, (namespace, name, values) in asked.items():
        dimensions = [{"Name": key, "Value": value} for key, value in values.items()]
        metric = {"Namespace": namespace, "MetricName": name, "Dimensions": dimensions}
        stat = {"Metric": metric, "Period": period_s, "Stat": _METRICS[namespace][name]["stat"]}
        queries.append({"Id": number, "MetricStat": stat})
    request = {
        "MetricDataQueries": queries,
        "StartTime": _on_period(since, period_s, later=False),
        "EndTime": _on_period(until, period_s, later=True),
        "ScanBy": "TimestampAscending",
    }
    found = cloudwatch.listed("get_metric_data", "MetricDataResults", request)
    points: dict[str, list[tuple[int, float]]] = {key: [] for key in asked}
    for one in found:
        pairs = zip(one.get("Timestamps", ()), one.get("Values", ()), strict=True)
        points[one["Id"]] += [(int(begin.timestamp()), float(value)) for begin, value in pairs]
    return [
        CloudMetric(
            name=name,
            of=next(iter(values.values())),
            statistic=_METRICS[namespace][name]["stat"],
            period_s=period_s,
            limit=(limit := _METRICS[namespace][name].get("limit")),
            reached_at=1.0 if limit else None,
            points=tuple(points[key]),
        )
        for key, (namespace, name, values) in asked.items()
    ]


def _asked(
    facts: Mapping[str, Any], volumes: Sequence[str]
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Namespace, name and dimensions of each series."""
    for namespace, known in _METRICS.items():
        for volume in volumes if namespace == "AWS/EBS" else volumes[:1]:
            ids = {"VolumeId": volume, "InstanceId": str(facts["instance_id"])}
            for name, metric in known.items():
                yield namespace, name, {key: ids[key] for key in metric["of"]}


def _on_period(moment: datetime, period_s: int, *, later: bool) -> datetime:
    """The begin of the period that `moment` is in, or with `later` its end."""
    number = moment.timestamp() // period_s + (1 if later else 0)
    return datetime.fromtimestamp(number * period_s, UTC)

"""What there is of a lease, or of all leases, by listing their tags: never by memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.providers.aws.requests import EXPIRES_TAG, LEASE_TAG, of_any_lease, of_lease

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.providers.aws.edge import Edge

Item = dict[str, Any]
ENDED = frozenset({"terminated"})
ENDING = frozenset({"shutting-down", "terminated"})


@dataclass(frozen=True)
class Inventory:
    """Instances (ended ones too, as long as EC2 lists them), volumes, interfaces that no machine
    will take along, addresses (diskbench makes none), groups and key pairs."""

    instances: tuple[Item, ...]
    volumes: tuple[Item, ...]
    interfaces: tuple[Item, ...]
    addresses: tuple[Item, ...]
    groups: tuple[Item, ...]
    keys: tuple[Item, ...]

    def resources(self) -> Iterator[tuple[str, Item]]:
        """Everything that is there, with its kind and id: `volume vol-0abc`."""
        for item in self.instances:
            if item["State"]["Name"] not in ENDED:
                yield f"instance {item['InstanceId']}", item
        for item in self.volumes:
            yield f"volume {item['VolumeId']}", item
        for item in self.interfaces:
            yield f"network-interface {item['NetworkInterfaceId']}", item
        for item in self.addresses:
            yield f"address {item['AllocationId']}", item
        for item in self.groups:
            yield f"security-group {item['GroupId']}", item
        for item in self.keys:
            yield f"key-pair {item['KeyName']}", item

    def names(self) -> tuple[str, ...]:
        """Kinds and ids of everything that is there."""
        return tuple(name for name, _ in self.resources())

    @property
    def live(self) -> tuple[Item, ...]:
        """The instances that are not ending, oldest first."""
        going = [item for item in self.instances if item["State"]["Name"] not in ENDING]
        return tuple(sorted(going, key=lambda item: str(item.get("LaunchTime"))))

    @property
    def ended(self) -> tuple[Item, ...]:
        """The instances that are ending or have ended."""
        return tuple(item for item in self.instances if item["State"]["Name"] in ENDING)


def inventory(ec2: Edge, lease_id: str | None = None) -> Inventory:
    """What is there of one lease, or of all. Raises our errors."""
    request = {"Filters": of_lease(lease_id) if lease_id else of_any_lease()}
    reservations = ec2.listed("describe_instances", "Reservations", request)
    return Inventory(
        instances=tuple(item for held in reservations for item in held["Instances"]),
        volumes=tuple(
            item
            for item in ec2.listed("describe_volumes", "Volumes", request)
            if item["State"] not in {"deleting", "deleted"}
        ),
        interfaces=tuple(
            item
            for item in ec2.listed("describe_network_interfaces", "NetworkInterfaces", request)
            if item["Status"] == "available"
        ),
        addresses=tuple(ec2.call("describe_addresses", request)["Addresses"]),
        groups=tuple(ec2.listed("describe_security_groups", "SecurityGroups", request)),
        keys=tuple(ec2.listed("describe_key_pairs", "KeyPairs", request)),
    )


def tag(item: Item, key: str) -> str | None:
    """The value of one tag."""
    carried = item.get("Tags") or item.get("TagSet", [])  # interfaces have a word of their own
    return next((t["Value"] for t in carried if t["Key"] == key), None)


def lease_of(item: Item) -> str | None:
    """The lease that a thing carries."""
    return tag(item, LEASE_TAG)


def expiry_of(item: Item) -> float | None:
    """When the thing's lease expires, in Unix seconds; None where it does not say."""
    text = tag(item, EXPIRES_TAG) or ""
    return float(text) if text.isdecimal() else None


def why_ended(instance: Item) -> str:
    """The reason that EC2 gives for an instance's state."""
    reason = instance.get("StateReason") or {}
    message = str(reason.get("Message") or instance.get("StateTransitionReason") or "")
    code = str(reason.get("Code") or "")
    if code and code not in message:
        message = f"{message} ({code})" if message else code
    return message or "AWS gives no reason"

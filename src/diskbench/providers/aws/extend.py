"""Extend a lease: the guest's timer first, then all tags in one request.

Only the guest's timer ends an instance by itself (its shutdown terminates it). Between the two
steps, `gc` on another controller still uses the earlier end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.providers.aws import requests
from diskbench.providers.aws.account_leases import regions_of
from diskbench.providers.aws.inventory import inventory_by_all, kind_and_id, tag
from diskbench.providers.guest import move_timer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.rental import LeaseEnd, Scope, Which
    from diskbench.ports import Host
    from diskbench.providers.aws.client import AwsClient, AwsSessions
    from diskbench.providers.aws.inventory import Item
    from diskbench.providers.aws.timing import AwsTiming


def extend(
    sessions: AwsSessions,
    which: Which,
    scope: Scope,
    timing: AwsTiming,
    end: LeaseEnd,
    guest: Host,
) -> None:
    """See ports.ExtendsLeases."""
    move_timer(guest, end)
    for region in regions_of(sessions, scope, timing):
        ec2 = sessions.of_scope(scope, timing, region).edge("ec2", timing)
        ids = sorted(set(_ids(ec2, which)))
        if ids:
            ec2.call("create_tags", requests.new_expiry(ids, end.expires_at))


def _ids(ec2: AwsClient, which: Which) -> Iterator[str]:
    """The ids of all resources of the lease, including those that are deleted with the machine."""
    listing = inventory_by_all(ec2, which)
    for kind, item in listing.resources():
        yield _id(kind, item)
        if kind == "instances" and "SpotInstanceRequestId" in item:
            yield str(item["SpotInstanceRequestId"])
    request: dict[str, Any] = {"Filters": requests.of_lease(which.lease_id)}
    for item in ec2.listed("describe_network_interfaces", "NetworkInterfaces", request):
        if which.takes(tag(item, "Name"), kind_and_id("interfaces", item)):
            yield str(item["NetworkInterfaceId"])


def _id(kind: str, item: Item) -> str:
    """The id that tags need; a key pair is listed by name but tagged by its id."""
    return str(item["KeyPairId"]) if kind == "keys" else kind_and_id(kind, item).partition(" ")[2]

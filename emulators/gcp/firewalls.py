"""Firewall rules, and who gets in by them: without one, nobody reaches a machine's sshd."""

import ipaddress
from typing import Any

from emulators import guests
from emulators.gcp import lists, places
from emulators.gcp.call import Call, Refusal, invalid
from emulators.gcp.cloud import Cloud, Work
from emulators.gcp.disks import check_free
from emulators.gcp.operations import look_at, start
from emulators.gcp.regions import DEFAULT_NETWORK, link, path_of, rfc3339
from emulators.guests import Reach, write_ssh_config

CALLER = ipaddress.ip_address("127.0.0.1")
"""Where requests and SSH come from here."""
SSH_PORT = 22


def insert(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Make a rule."""
    body = call.body
    path = f"{call.scope}/firewalls/{body['name']}"
    check_free(cloud, path)
    if ("allowed" in body) == ("denied" in body):
        raise Refusal(400, "invalid", "Exactly one of 'allowed' and 'denied' must be specified.")
    default = f"global/networks/{DEFAULT_NETWORK}"
    network = places.network(cloud, body.get("network", default), call.project)
    ranges = body.get("sourceRanges", [])
    for one in ranges:
        try:
            ipaddress.ip_network(one)
        except ValueError:
            why = "Must be a valid CIDR address range."
            raise invalid("resource.sourceRanges", one, why) from None
    if not ranges and not body.get("sourceTags") and body.get("direction") != "EGRESS":
        ranges = ["0.0.0.0/0"]
    row = {
        "kind": "compute#firewall",
        "id": cloud.new_id(),
        "creationTimestamp": rfc3339(cloud.now()),
        "selfLink": link(path),
        "direction": "INGRESS",
        "priority": 1000,
        "disabled": False,
        "logConfig": {"enable": False},
        **body,
        "network": link(network),
    }
    if ranges:
        row["sourceRanges"] = ranges
    cloud.resources[path] = row | {"disabled": True}

    def made() -> None:
        cloud.resources[path] = row
        open_ways(cloud)

    def gone() -> None:
        cloud.resources.pop(path, None)

    failure = cloud.faults.failure(call)
    return start(cloud, call, path, Work(finish=made, undo=gone, failure=failure))


def list_(cloud: Cloud, call: Call) -> dict[str, Any]:
    """All rules."""
    look_at(cloud, f"{call.scope}/firewalls/")
    rows = list(cloud.shown("firewalls", f"{call.scope}/").values())
    return lists.listed(call, "compute#firewallList", rows)


def delete(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Delete a rule."""
    path = call.names("firewall", "firewalls")
    look_at(cloud, path)
    cloud.resource(path)
    if cloud.operations.under_way(path):
        raise Refusal(400, "resourceNotReady", f"The resource '{path}' is not ready")

    def gone() -> None:
        cloud.resources.pop(path, None)
        open_ways(cloud)

    return start(cloud, call, path, Work(finish=gone, failure=cloud.faults.failure(call)))


def open_ways(cloud: Cloud) -> None:
    """Write down how SSH reaches the machines now: those that a rule lets the caller in to."""
    ways = {}
    for path, machine in cloud.machines.items():
        row = cloud.resources.get(path)
        if row is None or machine.reach is None:
            continue
        (nic,) = row["networkInterfaces"]
        if "networkIP" not in nic:
            continue  # it is booting; its own end of that comes here again
        told = [nic["networkIP"], *(one["natIP"] for one in nic.get("accessConfigs", ()))]
        address, port = machine.reach
        if not lets_in(cloud, row, CALLER):
            address, port = guests.silent_address(), SSH_PORT
        ways[machine.guest.name] = Reach(tuple(told), address, port)
    write_ssh_config(cloud.ssh_config, ways)


def lets_in(
    cloud: Cloud,
    instance: dict[str, Any],
    source: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> bool:
    """Rules by priority, deny before allow; without any, ingress is denied."""
    tags = set(instance.get("tags", {}).get("items", ()))
    (nic,) = instance["networkInterfaces"]
    fitting = [
        rule
        for rule in cloud.of_kind("firewalls").values()
        if not rule["disabled"]
        and rule["direction"] == "INGRESS"
        and path_of(rule["network"], cloud.project) == path_of(nic["network"], cloud.project)
        and (not rule.get("targetTags") or tags & set(rule["targetTags"]))
        and any(source in ipaddress.ip_network(one) for one in rule.get("sourceRanges", ()))
        and any(_is_ssh(one) for one in rule.get("allowed") or rule["denied"])
    ]
    fitting.sort(key=lambda rule: (rule["priority"], "allowed" in rule))
    return bool(fitting) and "allowed" in fitting[0]


def _is_ssh(allowed: dict[str, Any]) -> bool:
    if allowed["IPProtocol"] not in {"tcp", "6", "all"}:
        return False
    for one in allowed.get("ports", [str(SSH_PORT)]):
        low, _, high = one.partition("-")
        if int(low) <= SSH_PORT <= int(high or low):
            return True
    return False

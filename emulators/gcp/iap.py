"""IAP TCP forwarding: a tunnel to a port of an instance without an external address.

`gcloud compute start-iap-tunnel` is what users run. The program that `write_gcloud` writes stands
for it: it knows that one command, asks this emulator where the tunnel leads, and carries the bytes.
The emulator demands what IAP demands: the permission, a running instance of that name in that zone,
and a firewall rule that lets IAP's range in (IAP, "Using IAP for TCP forwarding").
"""

import ipaddress
import sys
from pathlib import Path
from typing import Any

from emulators.gcp import firewalls, rights
from emulators.gcp.call import Refusal
from emulators.gcp.cloud import Cloud

PATH = "/iap/connect"
RANGE = ipaddress.ip_network("35.235.240.0/20")
"""From where IAP reaches machines."""


def answer(
    cloud: Cloud, path: str, query: dict[str, str], caller: str
) -> tuple[int, dict[str, Any]] | None:
    """Where a tunnel leads, or the close code of the relay; None for a path of somebody else's."""
    if path != PATH:
        return None
    try:
        cloud.faults.check_credentials(caller)
        rights.require(cloud, caller, (rights.IAP,), f"instances/{query['instance']}")
    except Refusal as refusal:
        return refusal.status, {"code": 4033, "message": "not authorized"}
    with cloud.lock:
        found = f"projects/{query['project']}/zones/{query['zone']}/instances/{query['instance']}"
        machine, row = cloud.machines.get(found), cloud.resources.get(found)
        if machine is None or row is None or machine.reach is None or row["status"] != "RUNNING":
            return 404, {"code": 4047, "message": "failed to lookup instance"}
        lets_in = firewalls.lets_in(cloud, row, RANGE[1])
        if query["port"] != str(firewalls.SSH_PORT) or not lets_in:
            return 502, {"code": 4003, "message": "failed to connect to backend"}
        address, port = machine.reach
    return 200, {"address": address, "port": port}


def write_gcloud(directory: Path, endpoint: str, account: str) -> None:
    """A program `gcloud` in a directory, logged in as an account."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "gcloud"
    text = _PROGRAM.replace("ENDPOINT", repr(endpoint + PATH)).replace("ACCOUNT", repr(account))
    program.write_text(f"#!{sys.executable}\n{text}", "utf-8")
    program.chmod(0o755)


_PROGRAM = '''"""gcloud compute start-iap-tunnel, and nothing else of gcloud."""

import argparse
import json
import os
import select
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request

parser = argparse.ArgumentParser(prog="gcloud")
parser.add_argument("group", choices=["compute"])
parser.add_argument("command", choices=["start-iap-tunnel"])
parser.add_argument("instance")
parser.add_argument("port")
parser.add_argument("--listen-on-stdin", action="store_true", required=True)
parser.add_argument("--project", required=True)
parser.add_argument("--zone", required=True)
parser.add_argument("--verbosity")
given = parser.parse_args()
fields = {name: getattr(given, name) for name in ("project", "zone", "instance", "port")}
request = urllib.request.Request(
    ENDPOINT + "?" + urllib.parse.urlencode(fields), headers={"Authorization": "Bearer " + ACCOUNT}
)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    told = json.load(opener.open(request, timeout=30))
except urllib.error.HTTPError as error:
    refused = json.load(error)
    sys.exit("ERROR: (gcloud.compute.start-iap-tunnel) Error while connecting [%s: '%s']."
             % (refused["code"], refused["message"]))
machine = socket.create_connection((told["address"], told["port"]), timeout=30)
machine.settimeout(None)
reads = [sys.stdin.fileno(), machine]
while machine in reads:
    for ready in select.select(reads, [], [])[0]:
        if ready is machine:
            if data := machine.recv(65536):
                while data:
                    data = data[os.write(sys.stdout.fileno(), data):]
            else:
                reads.remove(machine)
        elif data := os.read(sys.stdin.fileno(), 65536):
            machine.sendall(data)
        else:
            reads.remove(ready)
            machine.shutdown(socket.SHUT_WR)
'''

"""`python -m emulators.vsphere.listing`: what is rented, by plain pyVmomi.

Credentials come from the environment, as for any client. Ends with 1 when there is anything.
"""

import argparse
import contextlib
import os
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_NOT_RENTED = frozenset({"debian-12", "neighbour"})
"""The template, and a machine of somebody else's."""


@dataclass(frozen=True)
class Machine:
    """A machine as it is listed."""

    id: str
    name: str
    notes: str


@contextlib.contextmanager
def operator(endpoint: str, ca_file: str) -> Iterator[Any]:
    """A session for the block; the service's content."""
    from pyVim.connect import Disconnect, SmartConnect

    parts = urlsplit(endpoint)
    instance = SmartConnect(
        host=parts.hostname,
        port=parts.port,
        user=os.environ["VSPHERE_USER"],
        pwd=os.environ["VSPHERE_PASSWORD"],
        sslContext=ssl.create_default_context(cafile=ca_file),
    )
    try:
        yield instance.content
    finally:
        Disconnect(instance)


def machines(content: Any) -> list[Machine]:
    """Every machine but those that are always there."""
    from pyVmomi import vim

    kinds, below = [vim.VirtualMachine], True
    view = content.viewManager.CreateContainerView(content.rootFolder, kinds, below)
    return [
        Machine(vm._GetMoId(), vm.name, vm.config.annotation or "")
        for vm in view.view
        if vm.name not in _NOT_RENTED
    ]


def main() -> int:
    """Print the listing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoint-url", required=True)
    parser.add_argument("--ca-file", required=True)
    given = parser.parse_args()
    with operator(given.endpoint_url, given.ca_file) as content:
        told = [f"{machine.id} ({machine.name})" for machine in machines(content)]
    print(f"  {'virtual machines':20} {len(told)}  {' '.join(told)}".rstrip())
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())

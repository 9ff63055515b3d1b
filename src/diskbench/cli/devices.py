"""`diskbench devices`: the disks of a machine, how to name them, and why one is refused."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from diskbench.cli.terminal import TableOrJson, option
from diskbench.hosts.device import list_devices
from diskbench.hosts.disks import DeviceState
from diskbench.hosts.ssh import host_at
from diskbench.report.terminal.layout import hanging
from diskbench.units import counted, format_bytes

FORMAT = 1
"""Format number of the JSON document printed here."""


def devices(
    host: Annotated[
        str | None,
        option("USER@HOST[:PORT]", "Machine to look at over SSH.", show_default="this machine"),
    ] = None,
    all_: Annotated[
        bool, option("--all", "Also list loop devices (files attached as disks).")
    ] = False,
    output: TableOrJson = "table",
) -> None:
    """List the disks of a machine, each with its identity for --destroy-data, or why it is refused.

    Writes nothing. Needs root on that machine, to read signatures and to see what uses a disk. JSON
    lists loop devices, too.
    """
    machine = host_at(host or "")
    try:
        devices_seen = list_devices(machine)
    finally:
        machine.close()
    if output == "json":
        listed = [_entry(state, reasons) for state, reasons in devices_seen]
        typer.echo(json.dumps({"format": FORMAT, "host": host, "devices": listed}, indent=2))
    else:
        shown = [seen for seen in devices_seen if all_ or seen[0].disk.transport != "loop"]
        _table(shown, machine.name)
        if hidden := len(devices_seen) - len(shown):
            typer.echo(f"{counted(hidden, 'loop device')} not listed: add --all", err=True)


def _entry(state: DeviceState, reasons: tuple[str, ...]) -> dict[str, object]:
    disk, identities = state.disk, list(state.identities)
    known = {name: getattr(disk, name) for name in ("path", "number", "size_bytes")}
    named = {"identity": next(iter(identities), None), "identities": identities}
    seen = {name: getattr(disk, name) for name in ("model", "transport", "rotational")}
    return {**known, **named, **seen, "free": not reasons, "refused": list(reasons)}


def _table(devices_seen: Sequence[tuple[DeviceState, tuple[str, ...]]], name: str) -> None:
    if not devices_seen:
        typer.echo(f"no disks on {name}")
        return
    for state, reasons in devices_seen:
        disk = state.disk
        kind = " ".join(part for part in (disk.model, disk.transport) if part)
        typer.echo(f"{disk.path}  {format_bytes(disk.size_bytes or 0)}  {kind}".rstrip())
        typer.echo(f"  identity  {next(iter(state.identities), 'none')}")
        why = f"it {'; it '.join(reasons)}"
        typer.echo(hanging("  refused   ", why) if reasons else "  free")
    for state, identity in [(s, i) for s, r in devices_seen if not r for i in s.identities][:1]:
        named = f"--device {state.disk.path} --destroy-data '{identity}'"
        typer.echo(f"\nto destroy what is on it and measure it: {named}", err=True)

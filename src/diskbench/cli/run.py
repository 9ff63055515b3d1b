"""`diskbench run`: measure a disk, here or over SSH."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diskbench.cli.foreground import Output
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl


def run(
    provider: Annotated[
        str | None,
        typer.Option(help="Where the machine comes from (default: ssh with --host, else local)."),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(help="USER@HOST[:PORT] to measure over SSH; several are measured at once."),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option(help="Directory to measure in (default here: the working directory)."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Block device to measure; ALL DATA ON IT IS DESTROYED.")
    ] = None,
    destroy_data: Annotated[
        str | None,
        typer.Option(
            metavar="IDENTITY", help="The device's identity, as `diskbench devices` prints it."
        ),
    ] = None,
    size: Annotated[
        float | None,
        typer.Option(metavar="GIB", help="How much of the target to use, in GiB (2^30 bytes)."),
    ] = None,
    filesystem: Annotated[
        str | None,
        typer.Option(help="Make this filesystem on the device first: none, ext4 or xfs."),
    ] = None,
    profile: Annotated[
        str, typer.Option(help="A profile's name (`diskbench profiles list`) or a .fio file.")
    ] = "default",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Profile parameter.")
    ] = None,
    runs: Annotated[
        int, typer.Option(help="Consecutive fio runs on the same machine and disk.")
    ] = 1,
    replicates: Annotated[
        int, typer.Option(help="New machines with new disks (providers that rent).")
    ] = 1,
    label: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A label kept with the rows.")
    ] = None,
    output: Annotated[Output, typer.Option(help="What to print on stdout.")] = "table",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No plan, no progress.")] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Go on in the background; print the run's id.")
    ] = False,
    install_fio: Annotated[
        bool, typer.Option("--install-fio", help="Install fio on the target when it has none.")
    ] = False,
    timing: Annotated[
        bool, typer.Option("--timing", help="Say at the end where the time went.")
    ] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Measure a disk: render a profile, run fio, keep the evidence, say what it means."""
    from diskbench.cli.foreground import Show
    from diskbench.cli.start import Stores, start
    from diskbench.plan.cells import Request

    request = Request(
        provider=provider or ("ssh" if host else "local"),
        profile=profile,
        hosts=tuple(host or ()),
        path=_here(path, device, host),
        device=device,
        destroy_data=destroy_data,
        size_gib=size,
        filesystem=filesystem,
        parameters=tuple(set_ or ()),
        labels=tuple(label or ()),
        runs=runs,
        replicates=replicates,
    )
    start(
        request,
        Show(output=output, quiet=quiet, timing=timing),
        Stores(database_url, evidence_url),
        install_fio=install_fio,
        detach=detach,
    )


def _here(path: str | None, device: str | None, host: list[str] | None) -> str | None:
    """The directory as the target sees it: on this machine relative to where we are."""
    if host or (path is None and device is not None):
        return path
    return str(Path(path or ".").absolute())

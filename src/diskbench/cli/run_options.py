"""The options of `diskbench run` and `diskbench plan` that no provider owns: common ones, and those
of renting (cli/run_command.py reads a command line with them)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diskbench.cli.foreground import Output
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.plugins import plugin_names

if TYPE_CHECKING:
    from collections.abc import Callable

WHAT, _HOW, _SHOW = "What is measured", "How it is measured", "What is printed and kept"
RENT = "Renting"


def _panel(panel: str) -> Callable[..., Any]:
    """What makes the options of one panel of the help."""

    def option(about: str, *names: str, **more: Any) -> Any:  # noqa: ANN401 - as typer.Option
        return typer.Option(*names, help=about, rich_help_panel=panel, **more)

    return option


_what, _how, _show, _rent = map(_panel, (WHAT, _HOW, _SHOW, RENT))


def _starting_with(incomplete: str) -> list[str]:
    return [name for name in plugin_names() if name.startswith(incomplete)]


def common(
    provider: Annotated[
        str | None,
        _what(
            "Where the machine comes from (default: ssh with --host, else local).",
            metavar="NAME",
            autocompletion=_starting_with,
        ),
    ] = None,
    host: Annotated[
        list[str] | None,
        _what(
            "Machine to measure over SSH; several are measured at once.", metavar="USER@HOST[:PORT]"
        ),
    ] = None,
    path: Annotated[
        str | None,
        _what("Directory to measure in (default here: the working directory).", metavar="DIR"),
    ] = None,
    device: Annotated[
        list[str] | None,
        _what(
            "Block device to measure; ALL DATA ON IT IS DESTROYED. Once for each device that a job "
            "file names, in its order.",
            metavar="PATH",
        ),
    ] = None,
    destroy_data: Annotated[
        list[str] | None,
        _what(
            "The device's identity, as `diskbench devices` prints it; one for each --device.",
            metavar="IDENTITY",
        ),
    ] = None,
    size: Annotated[
        float | None,
        _what(
            "How much of the target to use, or the size of the disk to rent, in GiB (2^30).",
            metavar="GIB",
        ),
    ] = None,
    filesystem: Annotated[
        str | None,
        _what("Make this filesystem on the device first.", metavar="none|ext4|xfs"),
    ] = None,
    promise: Annotated[
        str | None,
        _what(
            "The rates that you expect of a disk that is not in the catalogue.",
            metavar="iops=N,mb_per_s=N",
        ),
    ] = None,
    disk: Annotated[
        str | None,
        _rent("Disk type to rent, in the provider's own words, as gp2 or root.", metavar="TYPE"),
    ] = None,
    region: Annotated[
        str | None, _rent("Region (default: the cloud's own configuration).", metavar="NAME")
    ] = None,
    max_cost: Annotated[
        float | None,
        _rent("Refuse to rent if the total may cost more US dollars than this.", metavar="USD"),
    ] = None,
    profile: Annotated[
        str, _how("A profile's name (`diskbench profiles list`) or a .fio file.", metavar="NAME")
    ] = "default",
    set_: Annotated[
        list[str] | None, _how("Profile parameter.", "--set", metavar="KEY=VALUE")
    ] = None,
    runs: Annotated[
        int, _how("Consecutive fio runs on the same machine and disk.", metavar="N")
    ] = 1,
    replicates: Annotated[
        int, _how("Repeat on this many new machines with new disks (rented ones).", metavar="N")
    ] = 1,
    until_ci: Annotated[
        str | None,
        _how(
            "Replicates, ten at least, until the interval of the median is within this share "
            "of it in every step: 5%.",
            metavar="SHARE",
        ),
    ] = None,
    max_replicates: Annotated[
        int | None, _how("With --until-ci: the most replicates (30).", metavar="N")
    ] = None,
    deadline: Annotated[
        str | None,
        _how("With --until-ci: no replicate begins that ends later (6h, 90m).", metavar="TIME"),
    ] = None,
    if_busy: Annotated[
        str,
        _how(
            "While another trial measures the same disk: wait, fail, measure beside it "
            "(doubted), or wait so long (30m).",
            metavar="wait|fail|share|TIME",
        ),
    ] = "wait",
    allow: Annotated[
        list[str] | None,
        _how(
            "Let a job file use this option on this machine of yours, as exec_prerun.",
            metavar="OPTION",
        ),
    ] = None,
    label: Annotated[
        list[str] | None, _how("A label kept with the rows.", metavar="KEY=VALUE")
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        _how(
            "Exit 1 if a figure meets this condition: 'p99 > 10ms', 'ratio < 0.9', "
            "'STEP: iops < 2900'.",
            metavar="CONDITION",
        ),
    ] = None,
    install_fio: Annotated[
        bool, _how("Install fio on the target when it has none.", "--install-fio")
    ] = False,
    output: Annotated[Output, _show("What to print on stdout.")] = "table",
    verbose: Annotated[
        bool, _show("The whole plan and result, with all warnings.", "--verbose", "-v")
    ] = False,
    junit: Annotated[
        Path | None,
        _show("Write the steps as a JUnit report, for CI.", "--junit", metavar="FILE"),
    ] = None,
    quiet: Annotated[bool, _show("Print no plan and no progress.", "--quiet", "-q")] = False,
    detach: Annotated[
        bool, _show("Run in the background; print the run's id.", "--detach")
    ] = False,
    timing: Annotated[bool, _show("Print at the end how long each part took.", "--timing")] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Options that `run` always takes."""


def renting(
    iops: Annotated[
        int | None, _rent("IOPS to provision, where the type sells them.", metavar="N")
    ] = None,
    throughput: Annotated[
        float | None, _rent("{unit} to provision, where the type sells them.", metavar="RATE")
    ] = None,
    count: Annotated[
        int,
        _rent(
            "Equal disks to attach to a machine, one for each device that a job file names, or for "
            "--stripe.",
            metavar="N",
        ),
    ] = 1,
    stripe: Annotated[bool, _rent("Measure the disks as one RAID 0.", "--stripe")] = False,
    zone: Annotated[
        str | None, _rent("Zone (default: one that has the machine).", metavar="NAME")
    ] = None,
    instance_type: Annotated[
        str | None,
        _rent("VM size (default: the cheapest that does not limit the disk).", metavar="TYPE"),
    ] = None,
    image: Annotated[
        str | None, _rent("Image id (default: a current Linux).", metavar="ID")
    ] = None,
    subnet: Annotated[
        str | None, _rent("Subnet id (default: the default network's).", metavar="ID")
    ] = None,
    security_group: Annotated[
        str | None,
        _rent("Security group id to use (default: one is made, open only to you).", metavar="ID"),
    ] = None,
    placement: Annotated[str | None, _rent("Placement group to use.", metavar="NAME")] = None,
    spot: Annotated[bool, _rent("Rent spare capacity, cheaper and revocable.", "--spot")] = False,
    ssh_cidr: Annotated[
        str | None,
        _rent("Who may reach SSH (default: this machine's address).", metavar="CIDR"),
    ] = None,
    assume_price: Annotated[
        float | None,
        _rent(
            "US dollars an hour to assume if no price is known (with --max-cost).",
            metavar="USD_PER_HOUR",
        ),
    ] = None,
    endpoint_url: Annotated[
        str | None, _rent("Another API endpoint, for example an emulator.", metavar="URL")
    ] = None,
) -> None:
    """Options of `run` that say what to rent, of every renting provider."""

"""The options of `diskbench run` and `diskbench plan` that no provider owns, but for those that say
what to rent (model/options.py); cli/run_command.py reads a command line with them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from diskbench.cli import completion
from diskbench.cli.selecting import labels
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.cli.terminal import Output
from diskbench.model.options import rent_options

WHAT, _HOW, SHOW = "What is measured", "How it is measured", "What is printed and kept"
RENT = "Renting"
_ABOUT = {option.name: option.about for option in rent_options()}

_what, _how, _show, _rent = (
    partial(typer.Option, rich_help_panel=panel) for panel in (WHAT, _HOW, SHOW, RENT)
)


def common(
    provider: Annotated[
        str | None,
        _what(
            help="Where the machine comes from (default: ssh with --host, else local).",
            metavar="NAME",
            autocompletion=completion.providers,
        ),
    ] = None,
    host: Annotated[
        list[str] | None,
        _what(
            help="Machine to measure over SSH; several are measured at once.",
            metavar="USER@HOST[:PORT]",
        ),
    ] = None,
    path: Annotated[
        str | None,
        _what(help="Directory to measure (plan: default is the current directory).", metavar="DIR"),
    ] = None,
    device: Annotated[
        list[str] | None,
        _what(
            help="Block device to measure; ALL DATA ON IT IS DESTROYED. Once for each device that "
            "a job file names, in its order.",
            metavar="PATH",
        ),
    ] = None,
    destroy_data: Annotated[
        list[str] | None,
        _what(
            help="The device's identity, as `diskbench devices` prints it; one for each --device.",
            metavar="IDENTITY",
        ),
    ] = None,
    size: Annotated[
        float | None,
        _what(
            help="How much of the target to use, or the size of the disk to rent, in GiB (2^30).",
            metavar="GIB",
        ),
    ] = None,
    filesystem: Annotated[
        str | None,
        _what(help="Make this filesystem on the device first.", metavar="none|ext4|xfs"),
    ] = None,
    promise: Annotated[
        str | None,
        _what(
            help="The rates that you expect of a disk that is not in the catalogue.",
            metavar="iops=N,mb_per_s=N",
        ),
    ] = None,
    ask_metadata: Annotated[
        bool,
        _what(
            "--ask-metadata",
            help="Let the machine ask its cloud's metadata service for its type: its limits then "
            "count beside --promise; no credentials are read.",
        ),
    ] = False,
    disk: Annotated[
        str | None,
        _rent(
            help=_ABOUT["disk"],
            metavar="TYPE",
            autocompletion=completion.disks,
        ),
    ] = None,
    region: Annotated[
        str | None,
        _rent(
            help=_ABOUT["region"],
            metavar="NAME",
            autocompletion=completion.regions,
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        _rent(
            help="Refuse to rent if the total may cost more US dollars than this.", metavar="USD"
        ),
    ] = None,
    assume_price: Annotated[
        float | None,
        _rent(
            help="US dollars an hour to assume if no price is known (with --max-cost).",
            metavar="USD_PER_HOUR",
        ),
    ] = None,
    profile: Annotated[
        str,
        _how(
            help="A profile's name (`diskbench profiles list`) or a .fio file.",
            metavar="NAME",
            autocompletion=completion.profiles,
        ),
    ] = "default",
    set_: Annotated[
        list[str] | None, _how("--set", help="Profile parameter.", metavar="KEY=VALUE")
    ] = None,
    runs: Annotated[
        int, _how(help="Consecutive fio runs on the same machine and disk.", metavar="N")
    ] = 1,
    replicates: Annotated[
        int,
        _how(help="Repeat on this many new machines with new disks (rented ones).", metavar="N"),
    ] = 1,
    until_ci: Annotated[
        str | None,
        _how(
            help="Add replicates (10 or more) until the median's confidence interval is within "
            "this share of it in every step: 5%.",
            metavar="SHARE",
        ),
    ] = None,
    max_replicates: Annotated[
        int | None, _how(help="With --until-ci: the most replicates (30).", metavar="N")
    ] = None,
    deadline: Annotated[
        str | None,
        _how(
            help="With --until-ci: no replicate begins that ends later (6h, 90m).", metavar="TIME"
        ),
    ] = None,
    if_busy: Annotated[
        str,
        _how(
            help="While another trial measures the same disk: wait, fail, measure beside it "
            "(doubted), or wait so long (30m).",
            metavar="wait|fail|share|TIME",
        ),
    ] = "wait",
    allow: Annotated[
        list[str] | None,
        _how(
            help="Let a job file use this option on this machine of yours, as exec_prerun.",
            metavar="OPTION",
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        _how(help="A label kept with the rows.", metavar="KEY=VALUE", autocompletion=labels),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        _how(
            help="Exit 1 if a figure meets this condition: 'p99 > 10ms', 'ratio < 0.9', "
            "'STEP: iops < 2900'.",
            metavar="CONDITION",
        ),
    ] = None,
    install_fio: Annotated[
        bool, _how("--install-fio", help="Install fio on the target when it has none.")
    ] = False,
    output: Annotated[Output, _show(help="What to print on stdout.")] = "table",
    verbose: Annotated[
        bool, _show("--verbose", "-v", help="The whole plan and result, with all warnings.")
    ] = False,
    junit: Annotated[
        Path | None,
        _show("--junit", help="Write the steps as a JUnit report, for CI.", metavar="FILE"),
    ] = None,
    quiet: Annotated[bool, _show("--quiet", "-q", help="Print no plan and no progress.")] = False,
    detach: Annotated[
        bool, _show("--detach", help="Run in the background; print the run's id.")
    ] = False,
    timing: Annotated[
        bool, _show("--timing", help="Print at the end how long each part took.")
    ] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Options that `run` always takes."""

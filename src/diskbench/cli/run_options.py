"""The options of `diskbench run` and `diskbench plan` that no provider owns. Those that say what is
measured and rented are fields of models (model/matrix.py, model/options.py); the others, which no
cell has, stand here. cli/run_command.py reads a command line with them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from diskbench.cli import completion
from diskbench.cli.selecting import labels
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.cli.terminal import Output, option
from diskbench.model.matrix import HOW, WHAT
from diskbench.model.options import RentSpec

SHOW = "What is printed and kept"
COMPLETIONS = {
    "provider": completion.providers,
    "disk": completion.disks,
    "region": completion.regions,
    "profile": completion.profiles,
    "labels": labels,
}
"""The options whose values the shell is offered."""
MORE_HELP = {
    "provider": " (default: ssh with --host, else local).",
    "host": "; several are measured at once.",
    "path": " (plan: default is the current directory).",
    "device": ". Once for each device that a job file names, in its order.",
    "destroy_data": "; one for each --device.",
}
"""What the help of a flag adds to that of the field of a cell."""
_what, _how, _show, _rent = (
    partial(option, rich_help_panel=panel) for panel in (WHAT, HOW, SHOW, RentSpec.panel)
)


def beside_cells(
    ask_metadata: Annotated[
        bool,
        _what(
            "--ask-metadata",
            "Let the machine ask its cloud's metadata service for its type: its limits then "
            "count beside --promise; no credentials are read.",
        ),
    ] = False,
    max_cost: Annotated[
        float | None,
        _rent("USD", "Refuse to rent if the total may cost more US dollars than this."),
    ] = None,
    assume_price: Annotated[
        float | None,
        _rent(
            "USD_PER_HOUR", "US dollars an hour to assume if no price is known (with --max-cost)."
        ),
    ] = None,
    until_ci: Annotated[
        str | None,
        _how(
            "SHARE",
            "Add replicates (10 or more) until the median's confidence interval is within "
            "this share of it in every step: 5%.",
        ),
    ] = None,
    max_replicates: Annotated[
        int | None, _how("N", "With --until-ci: the most replicates (30).")
    ] = None,
    deadline: Annotated[
        str | None, _how("TIME", "With --until-ci: no replicate begins that ends later (6h, 90m).")
    ] = None,
    allow: Annotated[
        list[str] | None,
        _how("OPTION", "Let a job file use this option on this machine of yours, as exec_prerun."),
    ] = None,
    install_fio: Annotated[
        bool, _how("--install-fio", "Install fio on the target when it has none.")
    ] = False,
    output: Annotated[Output, _show("What to print on stdout.")] = "table",
    verbose: Annotated[
        bool, _show("--verbose", "-v", "The whole plan and result, with all warnings.")
    ] = False,
    junit: Annotated[
        Path | None, _show("FILE", "Write the steps as a JUnit report, for CI.")
    ] = None,
    quiet: Annotated[bool, _show("--quiet", "-q", "Print no plan and no progress.")] = False,
    detach: Annotated[
        bool, _show("--detach", "Run in the background; print the run's id.")
    ] = False,
    timing: Annotated[bool, _show("--timing", "Print at the end how long each part took.")] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Options of `run` that are no fields of a cell."""

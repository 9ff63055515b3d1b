"""`diskbench identify`: which disks of the catalogue a run behaves as."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from diskbench.catalog.entry import clouds
from diskbench.cli import completion
from diskbench.cli.selecting import ids
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.cli.terminal import TableOrJson, print_json
from diskbench.errors import UnknownName
from diskbench.results.identified import identified
from diskbench.results.selection import Selection, run_or_set

_MOST = 8


def identify(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", autocompletion=ids, help="A run: its id, long or short, or `last`."
        ),
    ],
    cloud: Annotated[
        str | None,
        typer.Option(
            "--provider",
            metavar="NAME",
            autocompletion=completion.providers,
            help="Only disks of this provider.",
        ),
    ] = None,
    output: TableOrJson = "table",
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Find the disks in the catalogue that match the figures of a run, the best match first.

    Rates and falls are compared with the dated limits of every disk type and size. Exit code 0
    also where nothing fits.
    """
    if cloud is not None and cloud not in clouds():
        raise UnknownName("provider with disks in the catalogue", cloud, clouds())
    engine = database(database_url)
    measured, _ = run_or_set(engine, Selection((run,)))
    store = evidence(evidence_url or measured.evidence_url)
    levels, fits = identified(engine, store, measured, cloud=cloud)
    if output == "json":
        document = {
            "format": 1,
            "run_id": measured.run_id,
            "levels": [level.name for level in levels],
            "disks": [asdict(fit) for fit in fits],
        }
        print_json(json.dumps(document, indent=2))
        return
    if not fits:
        print(f"no disk of the catalogue behaves as run {measured.run_id} in {len(levels)} steps")
    for fit in fits[:_MOST]:
        until = f", limits until {fit.until}" if fit.until else ""
        tier = f" ({fit.tier})" if fit.tier else ""
        compared = len(fit.fits) + len(fit.misses)
        share = f"{len(fit.fits)} of {compared} fit"
        print(f"{fit.disk}{tier}{until}: {share}, {fit.off:.1%} off on average")
        for words in fit.fits:
            print(f"    fits      {words}")
        for words in fit.misses:
            print(f"    does not  {words}")

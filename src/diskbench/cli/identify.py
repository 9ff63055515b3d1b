"""`diskbench identify`: which disks of the catalogue a run behaves as."""

import json
from dataclasses import asdict
from typing import Annotated

from diskbench.catalog.shipped import clouds
from diskbench.cli import completion
from diskbench.cli.selecting import ids
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.cli.terminal import TableOrJson, argument, option, print_json
from diskbench.errors import check_known
from diskbench.model.ids import short
from diskbench.plan.identify import by_type, sizes_of, type_words
from diskbench.report.terminal.layout import hanging
from diskbench.results.identified import identified
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.selection import Selection, run_or_set
from diskbench.units import counted


def identify(
    run: Annotated[
        str, argument("RUN", "A run: its id, long or short, or `last`.", autocompletion=ids)
    ],
    cloud: Annotated[
        str | None,
        option(
            "--provider",
            "NAME",
            "Only disks of this provider.",
            autocompletion=completion.providers,
        ),
    ] = None,
    output: TableOrJson = "table",
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Find the disks in the catalogue that match the figures of a run, the best match first.

    The rates and drops of all runs of its trial are compared with the dated limits of every disk
    type, size and machine. A figure that does not fit counts as 10 % off; so does a size or a
    provisioned figure that was chosen to fit. Exits 0 even if nothing fits.
    """
    check_known("provider with disks in the catalogue", cloud, clouds())
    engine = database(database_url)
    measured, _ = run_or_set(engine, Selection((run,)))
    store = evidence(evidence_url or measured.evidence_url)
    levels, fits = identified(engine, store, measured, cloud=cloud, books=open_books())
    types = by_type(fits)
    if output == "json":
        document = {
            "format": 1,
            "run_id": measured.run_id,
            "levels": [level.name for level in levels],
            "disks": [asdict(of[0]) | {"sizes_gib": sizes_of(of)} for of in types],
        }
        print_json(json.dumps(document, indent=2))
        return
    if len(levels) == 1 and levels[0].fell_from is None:
        print(
            "one figure cannot identify a disk: measure random and sequential I/O (--profile quick)"
        )
    elif not types:
        steps = counted(len(levels), "step")
        print(f"no disk in the catalogue behaves like run {short(measured.run_id)} in {steps}")
    for of_type in types:
        best = of_type[0]
        print(hanging("", f"{type_words(of_type)}; on average {best.off:.1%} off"))
        for words in best.fits:
            print(f"    fits      {words}")
        for words in best.misses:
            print(f"    does not  {words}")

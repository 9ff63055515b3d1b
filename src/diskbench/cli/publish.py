"""`diskbench publish`: the whole history as a static site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from diskbench.cli.selecting import Filters, Selections, Since, Until, asked
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.errors import InvalidValue


def publish(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="The folder of the site: new, empty, or an existing site to update."
        ),
    ],
    selection: Selections = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="The title of every page.")
    ] = "Disk benchmarks",
    anonymous: Annotated[
        bool,
        typer.Option(
            "--anonymous", help="Leave out hosts, addresses, paths, labels, errors and evidence."
        ),
    ] = False,
    with_evidence: Annotated[
        bool,
        typer.Option("--with-evidence", help="Copy the files of every run into the site, too."),
    ] = False,
    evidence_base: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Where readers find the evidence store: an http:// or https:// URL."
        ),
    ] = None,
    site_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The public address of the site, for the links of its Atom feed."
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Write every page again.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Write a static site of runs (default: all), with a page for each configuration and trial.

    The site works from files and from any static host. Called again, it writes only changes.
    """
    from diskbench.report.site.frame import Site
    from diskbench.report.site.publish import publish_site
    from diskbench.results.selection import chosen

    if anonymous and (with_evidence or evidence_base):
        raise InvalidValue(
            "--anonymous leaves the evidence out, which names hosts and paths",
            advice="leave out --with-evidence and --evidence-base, or --anonymous",
        )
    addresses = (
        ("--evidence-base", evidence_base, "the evidence store"),
        ("--site-url", site_url, "the site"),
    )
    for option, url, linked in addresses:
        if url is not None and not url.startswith(("http://", "https://")):
            raise InvalidValue(
                f"{option} {url!r} is not an http:// or https:// URL",
                advice=f"write the address at which readers find {linked}",
            )
    site = Site(
        title=title,
        anonymous=anonymous,
        with_evidence=with_evidence,
        evidence_base=evidence_base.rstrip("/") if evidence_base else None,
        evidence_url=evidence_url,
        url=f"{site_url.rstrip('/')}/" if site_url else "",
        full=full,
    )
    engine = database(database_url)
    filters = chosen(engine, asked(selection, filter_, since, until))
    done = publish_site(engine, folder, filters, site, evidence)
    if not quiet:
        print(
            f"{done.runs:,} runs of {done.configurations:,} configurations: {done.written:,} files "
            f"written, {done.kept:,} unchanged, {done.removed:,} removed",
            file=sys.stderr,
        )
        print((folder / "index.html").absolute())

"""`diskbench publish`: the whole history as a static site."""

import sys
from pathlib import Path
from typing import Annotated

from diskbench.cli.selecting import selecting
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.cli.terminal import argument, option
from diskbench.errors import InvalidValue
from diskbench.results.selection import Selection, chosen


@selecting
def publish(
    folder: Annotated[
        Path, argument("DIR", "The folder of the site: new, empty, or an existing site to update.")
    ],
    asked: Selection,
    title: Annotated[str, option("TEXT", "The title of every page.")] = "Disk benchmarks",
    anonymous: Annotated[
        bool,
        option("--anonymous", "Leave out hosts, addresses, paths, labels, errors and evidence."),
    ] = False,
    with_evidence: Annotated[
        bool, option("--with-evidence", "Copy the files of every run into the site, too.")
    ] = False,
    evidence_base: Annotated[
        str | None,
        option("URL", "Where readers find the evidence store: an http:// or https:// URL."),
    ] = None,
    site_url: Annotated[
        str | None, option("URL", "The public address of the site, for the links of its Atom feed.")
    ] = None,
    full: Annotated[bool, option("--full", "Rewrite every page.")] = False,
    quiet: Annotated[bool, option("--quiet", "-q", "Print no summary.")] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Write a static site of runs (default: all), with a page for each configuration and trial.

    The site works from files and from any static host. Called again, it writes only changes.
    """
    from diskbench.report.site.frame import Site
    from diskbench.report.site.publish import publish_site

    if anonymous and (with_evidence or evidence_base):
        raise InvalidValue(
            "--anonymous leaves out the evidence, because it names hosts and paths",
            advice="leave out --with-evidence and --evidence-base, or --anonymous",
        )
    addresses = {"--evidence-base": evidence_base, "--site-url": site_url}
    for flag, url in addresses.items():
        if url is not None and not url.startswith(("http://", "https://")):
            raise InvalidValue(
                f"{flag} {url!r} is not an http:// or https:// URL",
                advice="write the address at which readers find the "
                + ("site" if flag == "--site-url" else "evidence store"),
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
    filters = chosen(engine, asked)
    done = publish_site(engine, folder, filters, site, evidence)
    if not quiet:
        print(done, file=sys.stderr)
        print((folder / "index.html").absolute())

"""Updating a site: find the pages that are out of date, and make them again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import diskbench
from diskbench.model.history import ConfigurationLine, SiteRunLine
from diskbench.report.charts.vega import drawn_apart
from diskbench.report.site.build import SiteBuild, configuration_name, digest_of
from diskbench.report.site.feed import FEED, regressions_feed
from diskbench.report.site.in_site import moved_page, trial_name
from diskbench.report.site.index import Site, index_page, runs_page
from diskbench.report.site.renew_configurations import renew_configurations
from diskbench.report.site.renew_trials import renew_trials
from diskbench.report.site.shown_runs import shown_runs_of
from diskbench.report.site.trial_page import TrialPages
from diskbench.store.digests import load_asked, trial_stamps
from diskbench.store.site_folder import open_site
from diskbench.store.site_manifest import ShownTrial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.results.run_evidence import OpenStore
    from diskbench.store.site_folder import SiteFolder
    from diskbench.store.where import Filter

INDEX, RUNS = "index.html", "runs.html"
LISTINGS = (INDEX, RUNS, FEED)
MOST_LISTED = 10_000
"""Runs in the list of all runs, 6 MB; the older ones stand on the pages of their configurations."""
_SOURCES = (".py", ".j2", ".css", ".js", ".yaml")


@dataclass(frozen=True)
class Wishes:
    """The options of the site. `evidence_base` is the readers' URL of the evidence store (without a
    trailing `/`), `evidence_url` the store given on the command line, `site_url` the public address
    of the site (with a trailing `/`; empty: not known)."""

    title: str = "Disk benchmarks"
    anonymous: bool = False
    with_evidence: bool = False
    evidence_base: str | None = None
    evidence_url: str | None = None
    site_url: str = ""
    full: bool = False


@dataclass(frozen=True)
class Done:
    """The outcome: how much the site shows, and how many files were changed."""

    runs: int
    configurations: int
    written: int
    kept: int
    removed: int


def publish_site(
    database: Engine,
    path: Path,
    filters: Sequence[Filter],
    wishes: Wishes,
    open_store: OpenStore,
) -> Done:
    """Create or update the site in `path`. Raises InvalidValue, StoreUnavailable."""
    site = Site(wishes.title, diskbench.__version__, wishes.site_url)
    # Names of machines and pages of an anonymous site depend on all runs of it.
    all_runs = (
        shown_runs_of(load_asked(database, filters), anonymous=True) if wishes.anonymous else None
    )
    with drawn_apart(), open_site(path) as folder:
        manifest = folder.manifest
        manifest.show(
            ShownTrial(trial_id, trial_name(trial_id), stamp)
            for trial_id, stamp in trial_stamps(database, filters)
        )
        folder.claim([*LISTINGS, *manifest.new_pages()])
        if wishes.full:
            manifest.forget_digests()
        build = SiteBuild(database, folder, filters, site, common_digest(wishes), all_runs)
        manifest.want(LISTINGS)
        renew_trials(build, TrialPages(database, site, wishes, open_store))
        manifest.want(_moved_pages(folder))
        renew_configurations(build)
        lines = [
            ConfigurationLine.model_validate(entry.summary)
            for key in manifest.keys_newest_first()
            if (entry := manifest.entry(configuration_name(key))) is not None
        ]
        _listings(folder, site, build.common, lines)
        listed = manifest.wanted()
        folder.keep_only()
        return Done(
            runs=manifest.count_lines(),
            configurations=len(lines),
            written=len(folder.written),
            kept=listed - len(folder.written),
            removed=len(folder.removed),
        )


def _moved_pages(folder: SiteFolder) -> list[str]:
    """The pages of runs that an earlier version published: they now lead to the trial's page."""
    names = []
    for name, _ in list(folder.manifest.entries("runs")):
        run_id = PurePosixPath(name).stem
        trial_id = folder.manifest.trial_of(run_id)
        if trial_id is not None:
            data = moved_page(trial_id, run_id).encode()
            folder.write(name, data, sha256(data).hexdigest())
            names.append(name)
    return names


def _listings(
    folder: SiteFolder, site: Site, common: str, lines: Sequence[ConfigurationLine]
) -> None:
    runs, newest = folder.manifest.count_lines(), folder.manifest.newest(MOST_LISTED)

    def overview() -> bytes:
        return index_page(site, lines, runs=runs)

    def newest_runs() -> bytes:
        of_runs = map(SiteRunLine.model_validate_json, newest)
        return runs_page(site, of_runs, runs=runs)

    def feed() -> bytes:
        return regressions_feed(site, lines)

    configurations = [line.model_dump(mode="json") for line in lines]
    pages: tuple[tuple[str, object, Callable[[], bytes]], ...] = (
        (INDEX, configurations, overview),
        (RUNS, newest, newest_runs),
        (FEED, configurations, feed),
    )
    for name, made_of, make in pages:
        digest = digest_of(common, site.url, runs, made_of)
        if folder.fresh(name, digest) is None:
            folder.write(name, make(), digest)


def common_digest(wishes: Wishes) -> str:
    """A digest of what all pages depend on: the program and the options."""
    return digest_of(
        _program(), wishes.title, wishes.anonymous, wishes.with_evidence, wishes.evidence_base
    )


@cache
def _program() -> str:
    """A digest of this diskbench: code, templates, assets and catalogue. The version alone does not
    change during development, so pages would not be updated."""
    top = Path(diskbench.__file__).parent
    digest = sha256()
    for path in sorted(top.rglob("*")):
        if path.suffix in _SOURCES:
            digest.update(f"{path.relative_to(top)}\0".encode() + path.read_bytes())
    return digest.hexdigest()

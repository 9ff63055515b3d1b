"""Updating a site: find the pages that are out of date, and make them again."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import Progress

import diskbench
from diskbench.model.site import ConfigurationLine, SiteRunLine
from diskbench.report.charts.vega import drawn_apart
from diskbench.report.site.configuration import configuration_page
from diskbench.report.site.feed import FEED, regressions_feed
from diskbench.report.site.in_site import moved_page, trial_name
from diskbench.report.site.index import Site, index_page, runs_page
from diskbench.report.site.lines import configuration_line
from diskbench.report.site.shown_runs import told_of
from diskbench.report.site.trial_page import TrialPages
from diskbench.report.terminal.screen import screen
from diskbench.results.site_subjects import configurations
from diskbench.store.digests import load_asked, run_digests
from diskbench.store.site_folder import open_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import AskedRun
    from diskbench.report.site.shown_runs import Told
    from diskbench.results.run_evidence import OpenStore
    from diskbench.store.query import Filter
    from diskbench.store.site_folder import SiteFolder

INDEX, RUNS = "index.html", "runs.html"
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
    rows = load_asked(database, filters)
    shown_runs = told_of(rows, anonymous=wishes.anonymous)
    digests = run_digests(database, [row.run.run_id for row in rows])
    site = Site(wishes.title, diskbench.__version__, wishes.site_url)
    common = _common(wishes)
    with drawn_apart(), open_site(path) as folder:
        folder.claim(
            [
                INDEX,
                RUNS,
                FEED,
                *map(trial_name, shown_runs.trials),
                *map(configuration_name, shown_runs.keys.values()),
            ]
        )
        if wishes.full:
            for entry in folder.entries.values():
                entry.digest = None
        wanted = {INDEX, RUNS, FEED}
        run_lines: dict[str, SiteRunLine] = {}
        for of_trial, names in _trial_pages(
            folder, database, site, shown_runs, digests, common, wishes, open_store
        ):
            run_lines |= {line.run_id: line for line in of_trial}
            wanted |= names
        wanted |= _moved_pages(folder, rows)
        lines = _configuration_pages(
            folder, database, site, shown_runs, filters, run_lines, digests, common
        )
        wanted |= {configuration_name(line.key) for line in lines}
        _listings(folder, site, lines, [run_lines[row.run.run_id] for row in rows])
        folder.keep_only(wanted)
        return Done(
            runs=len(rows),
            configurations=len(lines),
            written=len(folder.written),
            kept=len(wanted) - len(folder.written),
            removed=len(folder.removed),
        )


def configuration_name(key: str) -> str:
    """The file name of a configuration's page within the site."""
    return f"configurations/{key}.html"


def _trial_pages(
    folder: SiteFolder,
    database: Engine,
    site: Site,
    shown_runs: Told,
    digests: Mapping[str, str],
    common: str,
    wishes: Wishes,
    open_store: OpenStore,
) -> Iterator[tuple[Sequence[SiteRunLine], set[str]]]:
    """The lines of each trial's runs with its own files; outdated pages are made again."""
    pages = TrialPages(database, site, shown_runs, wishes, open_store)
    stale = []
    for trial_id, rows in shown_runs.trials.items():
        name = trial_name(trial_id)
        around = shown_runs.around(rows[0])
        digest = _digest(common, [digests[row.run.run_id] for row in rows], asdict(around))
        entry = folder.fresh(name, digest)
        if entry is None or not entry.told or not all(map(folder.has, entry.told["evidence"])):
            stale.append((rows, name, digest, around))
            continue
        lines = [SiteRunLine.model_validate(line) for line in entry.told["lines"]]
        yield lines, {name, *entry.told["evidence"]}
    with _progress("trials", len(stale)) as advance:
        for rows, name, digest, around in stale:
            copied = pages.copy_evidence(folder, rows)
            page = pages.page(rows, around, copied)
            told = [line.model_dump(mode="json", exclude_defaults=True) for line in page.lines]
            folder.write(
                name,
                page.html.encode(),
                # Evidence that could not be read may be available next time.
                digest if page.complete else "",
                {"lines": told, "evidence": copied},
            )
            yield page.lines, {name, *copied}
            advance()


def _moved_pages(folder: SiteFolder, rows: Sequence[AskedRun]) -> set[str]:
    """The pages of runs that an earlier version published: they now lead to the trial's page."""
    names = set()
    for row in rows:
        name = f"runs/{row.run.run_id}.html"
        if name in folder.entries:
            data = moved_page(row.run.trial_id, row.run.run_id).encode()
            folder.write(name, data, sha256(data).hexdigest())
            names.add(name)
    return names


def _configuration_pages(
    folder: SiteFolder,
    database: Engine,
    site: Site,
    shown_runs: Told,
    filters: Sequence[Filter],
    run_lines: Mapping[str, SiteRunLine],
    digests: Mapping[str, str],
    common: str,
) -> list[ConfigurationLine]:
    """The line of each configuration; outdated pages are made again."""
    lines, stale, wanted = [], {}, {}
    for subject, rows in shown_runs.groups.items():
        ids = [row.run.run_id for row in rows]
        made_of = [[digests[run_id], run_lines[run_id].model_dump(mode="json")] for run_id in ids]
        wanted[subject] = _digest(common, made_of)
        entry = folder.fresh(configuration_name(shown_runs.keys[subject]), wanted[subject])
        if entry is None or not entry.told:
            stale[subject] = rows
        else:
            lines.append(ConfigurationLine.model_validate(entry.told))
    if not stale:
        return lines
    with _progress("configurations", len(stale)) as advance:
        for configuration in configurations(database, filters, stale):
            shown = shown_runs.configuration(configuration)
            runs = [run_lines[run_id] for run_id in configuration.runs]
            line = configuration_line(shown, runs)
            html = configuration_page(site, shown, runs)
            name = configuration_name(shown.key)
            folder.write(
                name, html.encode(), wanted[configuration.fields], line.model_dump(mode="json")
            )
            lines.append(line)
            advance()
    return lines


def _listings(
    folder: SiteFolder,
    site: Site,
    lines: Sequence[ConfigurationLine],
    runs: Sequence[SiteRunLine],
) -> None:
    for name, data in (
        (INDEX, index_page(site, lines, runs=len(runs)).encode()),
        (RUNS, runs_page(site, runs).encode()),
        (FEED, regressions_feed(site, lines)),
    ):
        folder.write(name, data, sha256(data).hexdigest())


def _common(wishes: Wishes) -> str:
    """A digest of what all pages depend on: the program and the options."""
    return _digest(
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


def _digest(*parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show progress on a terminal; nothing for few pages, and nothing without a terminal."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    # If redirected, other output would reach rich before it is made visible.
    with Progress(
        console=screen(error=True), transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)

"""Making and updating a site, page by page: a page whose digest of inputs is the one that the
folder's manifest knows (store/site_folder.py) is left alone, every other one is made again."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from rich.progress import Progress
from sqlalchemy.engine import Engine

import diskbench
from diskbench.model.history import ConfigurationLine, SiteRunLine
from diskbench.parallel import few_at_a_time
from diskbench.report.assemble.stored_report import RUNS_AT_ONCE, ReportReader
from diskbench.report.site.configuration import configuration_page
from diskbench.report.site.frame import Site, configuration_name, trial_name
from diskbench.report.site.lines import configuration_line
from diskbench.report.site.listings import FEED, index_page, regressions_feed, runs_page
from diskbench.report.site.private import ShownRuns, shown_runs_of
from diskbench.report.site.trial_page import copy_evidence, evidence_folder, trial_page
from diskbench.report.terminal.screen import screen
from diskbench.results.history import configurations
from diskbench.results.run_evidence import OpenStore
from diskbench.store.digests import load_asked, run_digests
from diskbench.store.site_folder import SiteFolder, open_site
from diskbench.store.where import Filter
from diskbench.units import counted

INDEX, RUNS = "index.html", "runs.html"
LISTINGS = (INDEX, RUNS, FEED)
MOST_LISTED = 10_000
"""Runs in the list of all runs, 6 MB; the older ones stand on the pages of their configurations."""
_SOURCES = (".py", ".j2", ".css", ".js", ".yaml")
_Made = tuple[str, Sequence[dict[str, Any]]]
"""What other pages depend on of a trial: the digest of its inputs, and its runs' lines."""


@dataclass(frozen=True)
class _Build:
    """What all parts of one build share. `common` is a digest of what all pages depend on, `rows`
    are digests of the rows of each run; `wanted` are the names of all files of the site, which are
    known when it is built."""

    reader: ReportReader
    folder: SiteFolder
    filters: Sequence[Filter]
    site: Site
    common: str
    shown: ShownRuns
    rows: Mapping[str, str]
    wanted: set[str] = field(default_factory=set)


def publish_site(
    database: Engine, path: Path, filters: Sequence[Filter], site: Site, open_store: OpenStore
) -> str:
    """Create or update the site in `path`; in a line how much it shows, and how many files were
    changed. Raises InvalidValue, StoreUnavailable."""
    with open_site(path) as folder:
        reader = ReportReader(database, open_store, site.evidence_url)
        rows = load_asked(database, filters)
        shown = shown_runs_of(rows, anonymous=site.anonymous)
        digests = run_digests(database, [row.run.run_id for row in rows])
        options = site.title, site.anonymous, site.with_evidence, site.evidence_base
        common = digest_of(_program(), *options)
        build = _Build(reader, folder, filters, site, common, shown, digests)
        evidence = [evidence_folder(row.run.run_id) for row in rows if site.with_evidence]
        pages = *map(trial_name, shown.trials), *map(configuration_name, shown.keys.values())
        folder.claim([*LISTINGS, *pages, *evidence])
        if site.full:
            folder.forget_digests()
        trials = _trials(build)
        lines = _configurations(build, trials)
        of_runs = {line["run_id"]: line for _, of_trial in trials.values() for line in of_trial}
        _listings(build, lines, [of_runs[row.run.run_id] for row in rows[:MOST_LISTED]])
        folder.keep_only([*build.wanted, *evidence])
        written, removed = len(folder.written), len(folder.removed)
        files = f"{counted(written, 'file')} written, {len(build.wanted) - written:,} unchanged"
        runs = f"{counted(len(rows), 'run')} of {counted(len(lines), 'configuration')}"
        return f"{runs}: {files}, {removed:,} removed"


def _trials(build: _Build) -> dict[str, _Made]:
    """Write the pages of trials that are out of date; all trials by id, the newest first."""
    reader, site, folder, shown = build.reader, build.site, build.folder, build.shown
    trials, stale = dict[str, _Made](), dict[str, str]()
    for trial_id, rows in shown.trials.items():
        of_rows = [build.rows[row.run.run_id] for row in rows]
        # An anonymous page depends on other trials too: on how the site calls its configuration.
        digest = digest_of(build.common, of_rows, shown.around(rows[0]))
        entry = folder.fresh(trial_name(trial_id), digest)
        if entry is None or not all(map(folder.has, entry.quoted["evidence"])):
            stale[trial_id] = digest
        else:
            trials[trial_id] = digest, entry.quoted["lines"]
            build.wanted.update((trial_name(trial_id), *entry.quoted["evidence"]))
    with _progress("trials", len(stale)) as advance:
        rows_of = ((trial_id, shown.trials[trial_id]) for trial_id in stale)
        for few in few_at_a_time(rows_of, RUNS_AT_ONCE):
            reader.prepare({name: [row.run for row in rows] for name, rows in few.items()})
            for trial_id, rows in few.items():
                copied = [name for row in rows for name in copy_evidence(reader, site, folder, row)]
                html, of_runs, complete = trial_page(reader, site, shown, rows, copied)
                lines = [line.model_dump(mode="json", exclude_defaults=True) for line in of_runs]
                # Evidence that could not be read may be available next time.
                known = stale[trial_id] if complete else ""
                quoted = {"evidence": copied, "lines": lines}
                folder.write(trial_name(trial_id), html.encode(), known, quoted)
                trials[trial_id] = stale[trial_id], lines
                build.wanted.update((trial_name(trial_id), *copied))
                advance()
    return trials


def _configurations(build: _Build, trials: Mapping[str, _Made]) -> list[ConfigurationLine]:
    """Write the pages of configurations that are out of date; the lines of all, that of the newest
    run first."""
    folder, shown = build.folder, build.shown
    lines, stale = dict[str, dict[str, Any]](), dict[str, str]()
    for subject, rows in shown.groups.items():
        key = shown.keys[subject]
        made_of = [trials[name] for name in dict.fromkeys(row.run.trial_id for row in rows)]
        digest = digest_of(build.common, made_of)
        entry = folder.fresh(configuration_name(key), digest)
        if entry is None:
            stale[key] = digest
        lines[key] = {} if entry is None else entry.quoted
    groups = {name: rows for name, rows in shown.groups.items() if shown.keys[name] in stale}
    with _progress("configurations", len(stale)) as advance:
        for named in configurations(build.reader.database, build.filters, groups):
            one = shown.configuration(named)
            ids = {row.run.trial_id for row in groups[named.fields]}
            of_runs = {line["run_id"]: line for name in ids for line in trials[name][1]}
            runs = [SiteRunLine.model_validate(of_runs[run_id]) for run_id in one.runs]
            line = configuration_line(one, runs).model_dump(mode="json")
            page = configuration_page(build.site, one, runs)
            folder.write(configuration_name(one.key), page, stale[one.key], line)
            lines[one.key] = line
            advance()
    build.wanted.update(map(configuration_name, lines))
    return [ConfigurationLine.model_validate(line) for line in lines.values()]


def _listings(
    build: _Build, lines: Sequence[ConfigurationLine], newest: Sequence[dict[str, Any]]
) -> None:
    """Write the listings that are out of date; `newest` are the lines of the newest runs."""
    site, runs = build.site, len(build.rows)

    def newest_runs() -> bytes:
        return runs_page(site, [SiteRunLine.model_validate(line) for line in newest], runs=runs)

    of_configurations = [line.model_dump(mode="json") for line in lines]
    for name, made_of, make in (
        (INDEX, of_configurations, lambda: index_page(site, lines, runs=runs)),
        (RUNS, newest, newest_runs),
        (FEED, of_configurations, lambda: regressions_feed(site, lines)),
    ):
        digest = digest_of(build.common, site.url, runs, made_of)
        if build.folder.fresh(name, digest) is None:
            build.folder.write(name, make(), digest)
        build.wanted.add(name)


def digest_of(*parts: object) -> str:
    """A digest of values that JSON can hold."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


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


@contextmanager
def _progress(pages: str, total: int) -> Iterator[Callable[[], None]]:
    """Show progress on a terminal; nothing for few pages, and nothing without a terminal."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    # If redirected, other output would reach rich before it is made visible.
    with Progress(
        console=screen(error=True), transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task(pages, total=total)
        yield lambda: bar.advance(task)

"""The page of one trial of a site: its report, with links to its evidence and configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from sqlalchemy.engine import Engine

from diskbench.model.history import SiteRunLine
from diskbench.model.run import AskedRun
from diskbench.report.assemble.report_view import Report
from diskbench.report.assemble.stored_report import ReportReader, stored_report
from diskbench.report.assemble.view import View
from diskbench.report.page.page import page
from diskbench.report.site.frame import Around, Site, Wishes
from diskbench.report.site.lines import run_line
from diskbench.report.site.private import ShownRuns, private_trial, scrubbed_trial
from diskbench.report.site.published_evidence import is_as_recorded, published_files
from diskbench.report.templates import environment
from diskbench.results.run_evidence import OpenStore
from diskbench.results.selection import Selection
from diskbench.store.site_folder import SiteFolder

_EVIDENCE = "evidence"
Files = tuple[tuple[str, str], ...]
"""The names of evidence files with their relative paths."""


def evidence_folder(run_id: str) -> str:
    """The folder of the copied evidence of a run within the site."""
    return f"{_EVIDENCE}/{run_id}/"


@dataclass(frozen=True)
class TrialPage:
    """A page with the line of each run, in the order of the given rows, for the site's tables.
    `complete`: all its sources were read."""

    html: str
    lines: tuple[SiteRunLine, ...]
    complete: bool


class TrialPages:
    """Makes the pages of trials one by one."""

    def __init__(
        self,
        database: Engine,
        site: Site,
        wishes: Wishes,
        shown_runs: ShownRuns,
        open_store: OpenStore,
    ) -> None:
        self._reader = ReportReader(database, open_store, wishes.evidence_url)
        self._site = site
        self._wishes = wishes
        self._shown_runs = shown_runs

    def prepare(self, trials: Mapping[str, Sequence[AskedRun]]) -> None:
        """Read what is stored of these trials, whose pages are made next, together."""
        self._reader.prepare(
            {trial_id: [row.run for row in rows] for trial_id, rows in trials.items()}
        )

    def page(self, rows: Sequence[AskedRun], around: Around, copied: Sequence[str]) -> TrialPage:
        """The page of the trial of these runs; `copied` are the site's files of evidence."""
        report = self._report(rows)
        (view,) = report.trials
        shown = self._shown_runs
        parts: Any = environment().get_template("site_trial.html.j2").module
        return TrialPage(
            html=page(
                report,
                nav=parts.nav(self._site, around),
                evidence=parts.evidence(_by_run(copied)),
            ),
            lines=tuple(
                run_line(shown.run(row), shown.asked(row), around.key, view) for row in rows
            ),
            complete=all(self._reader.evidence.store(row.run) is not None for row in rows),
        )

    def copy_evidence(self, folder: SiteFolder, rows: Sequence[AskedRun]) -> list[str]:
        """Copy the evidence files of runs into the site if requested; return their names there."""
        return [name for row in rows for name in self._copied(folder, row)]

    def _copied(self, folder: SiteFolder, row: AskedRun) -> list[str]:
        if not self._wishes.with_evidence:
            return []
        store = self._reader.evidence.store(row.run)
        if store is None:
            return []
        run_id = row.run.run_id
        files = {
            f"{_EVIDENCE}/{run_id}/{name}": file
            for name, file in published_files(store, run_id).items()
        }
        # Evidence never changes: its key is enough.
        stale = {name for name, file in files.items() if folder.fresh(name, file.key) is None}
        wrong = {name for name in stale if not is_as_recorded(store, run_id, files[name])}
        names = sorted(files.keys() - wrong)
        folder.claim(names)
        for name in sorted(stale - wrong):
            folder.write(name, store.get(files[name].key), files[name].key)
        return names

    def _report(self, rows: Sequence[AskedRun]) -> Report:
        runs = sorted((row.run for row in rows), key=lambda run: run.run_index)
        report = stored_report(
            self._reader, runs, Selection(), shown=lambda trial: self._shown(trial, rows)
        )
        return replace(report, made=f"made by diskbench {self._site.version}", published=True)

    def _shown(self, trial: View, rows: Sequence[AskedRun]) -> View:
        """The part of a trial's report that the site shows."""
        shown = scrubbed_trial(
            trial,
            errors={row.run.run_id: row.run.error_kind or "" for row in rows},
            places={row.run.run_id: self._place(row) for row in rows},
            secrets=self._shown_runs.secrets(rows),
        )
        if not self._shown_runs.anonymous:
            return shown
        name = rows[0].run.address or rows[0].run.hostname or ""
        return private_trial(shown, self._shown_runs.machines.get(name, ""))

    def _place(self, row: AskedRun) -> str:
        """Where readers find the evidence; empty if the site hides it. A local directory of the
        publisher is not named: readers cannot reach it."""
        if self._wishes.with_evidence:
            return "copied, see below"
        if self._shown_runs.anonymous or not row.run.evidence_url:
            return ""
        place = f"runs/{row.run.run_id}/"
        if self._wishes.evidence_base:
            return f"{self._wishes.evidence_base}/{place}"
        if row.run.evidence_url.startswith("file:"):
            return f"{place} of the publisher's evidence store"
        return f"{row.run.evidence_url.rstrip('/')}/{place}"


def _by_run(copied: Sequence[str]) -> dict[str, Files]:
    """The copied files of each run: names without their folder, and paths from the page."""
    files: dict[str, Files] = {}
    for path in copied:
        _, run_id, name = path.split("/", 2)
        files[run_id] = (*files.get(run_id, ()), (name, f"../{quote(path)}"))
    return files

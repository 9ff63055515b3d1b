"""The page of one run of a site: its report, with links to its evidence and configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.report_view import Report
from diskbench.report.assemble.stored_report import ReportReader, with_charts
from diskbench.report.page.page import page
from diskbench.report.site.lines import run_line
from diskbench.report.site.private import private_trial, told_trial
from diskbench.report.site.run import in_site
from diskbench.store.archive import run_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import AskedRun
    from diskbench.model.site import SiteRunLine
    from diskbench.report.assemble.trial_report import TrialFacts
    from diskbench.report.site.index import Site
    from diskbench.report.site.renewal import Wishes
    from diskbench.report.site.run import Around
    from diskbench.report.site.shown_runs import Told
    from diskbench.results.run_evidence import OpenStore
    from diskbench.store.site_folder import SiteFolder


@dataclass(frozen=True)
class RunPage:
    """A page with its run's line in the site's tables. `complete`: all its sources were read."""

    html: str
    line: SiteRunLine
    complete: bool


class RunPages:
    """Makes the pages of runs one by one."""

    def __init__(
        self, database: Engine, site: Site, shown_runs: Told, wishes: Wishes, open_store: OpenStore
    ) -> None:
        self._reader = ReportReader(database, open_store, wishes.evidence_url)
        self._site = site
        self._shown_runs = shown_runs
        self._wishes = wishes

    def page(self, row: AskedRun, around: Around, copied: Sequence[str]) -> RunPage:
        """The page of a run; `copied` are the site's files with its evidence."""
        report = self._report(row)
        (view,) = report.trials
        top = f"evidence/{row.run.run_id}/"
        files = [(name.removeprefix(top), f"../{quote(name)}") for name in copied]
        return RunPage(
            html=in_site(page(report), self._site, around, files),
            line=run_line(self._shown_runs.run(row), self._shown_runs.asked(row), around.key, view),
            complete=self._reader.evidence.store(row.run) is not None,
        )

    def copy_evidence(self, folder: SiteFolder, row: AskedRun) -> list[str]:
        """Copy the evidence files of a run into the site if requested; return their names there."""
        if not self._wishes.with_evidence:
            return []
        store = self._reader.evidence.store(row.run)
        if store is None:
            return []
        prefix = run_prefix(row.run.run_id)
        keys = {
            f"evidence/{row.run.run_id}{key.removeprefix(prefix)}": key
            for key in store.list(prefix)
        }
        folder.claim(keys)
        for name, key in keys.items():
            if folder.fresh(name, key) is None:  # evidence never changes: its key is enough
                folder.write(name, store.get(key), key)
        return sorted(keys)

    def _report(self, row: AskedRun) -> Report:
        read = self._reader.read([row.run], lambda trial: self._shown(trial, row))
        report = Report(
            asked="",
            groups=read.groups,
            inside_of=row.run.run_id,
            made=f"made by diskbench {self._site.version}",
            published=True,
        )
        evidence = self._reader.evidence
        data = ChartData(read.groups, read.stored, evidence, [row.run], row.run)
        return with_charts(report, data)

    def _shown(self, trial: TrialFacts, row: AskedRun) -> TrialFacts:
        """The part of a run's report that the site shows."""
        place = "copied, see below" if self._wishes.with_evidence else self._place(row)
        shown = told_trial(trial, row.run.error_kind or "", place, self._shown_runs.secrets(row))
        if not self._shown_runs.anonymous:
            return shown
        name = row.run.address or row.run.hostname or ""
        return private_trial(shown, self._shown_runs.machines.get(name, ""))

    def _place(self, row: AskedRun) -> str:
        """Where readers find the evidence; empty if the site hides it. A local directory of the
        publisher is not named: readers cannot reach it."""
        if self._shown_runs.anonymous or not row.run.evidence_url:
            return ""
        place = f"runs/{row.run.run_id}/"
        if self._wishes.evidence_base:
            return f"{self._wishes.evidence_base}/{place}"
        if row.run.evidence_url.startswith("file:"):
            return f"{place} of the publisher's evidence store"
        return f"{row.run.evidence_url.rstrip('/')}/{place}"

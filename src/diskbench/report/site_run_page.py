"""The page of one run of a site: its report, with ways to its evidence and its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.report_view import Report
from diskbench.report.assemble.stored_report import ReportReader, with_charts
from diskbench.report.page import page
from diskbench.report.site_lines import run_line
from diskbench.report.site_private import private_trial, told_trial
from diskbench.report.site_run import in_site
from diskbench.store.archive import run_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.engine.run_evidence import OpenStore
    from diskbench.model.site import SiteRunLine
    from diskbench.report.site import Site
    from diskbench.report.site_renewal import Wishes
    from diskbench.report.site_run import Around
    from diskbench.report.site_told import Told
    from diskbench.report.trial_report import TrialFacts
    from diskbench.store.site_folder import SiteFolder

Row = dict[str, Any]


@dataclass(frozen=True)
class RunPage:
    """A page with what the site's tables say of its run. `complete`: all that it is made of could
    be read."""

    html: str
    line: SiteRunLine
    complete: bool


class RunPages:
    """Makes the pages of runs, one after the other."""

    def __init__(
        self, database: Engine, site: Site, told: Told, wishes: Wishes, open_store: OpenStore
    ) -> None:
        self._reader = ReportReader(database, open_store, wishes.evidence_url)
        self._site = site
        self._told = told
        self._wishes = wishes

    def page(self, row: Row, around: Around, copied: Sequence[str]) -> RunPage:
        """The page of a run (a row with `rent`), whose evidence was copied to these files."""
        report = self._report(row)
        (view,) = report.trials
        top = f"evidence/{row['run_id']}/"
        files = [(name.removeprefix(top), f"../{quote(name)}") for name in copied]
        return RunPage(
            html=in_site(page(report), self._site, around, files),
            line=run_line(self._told.row(row), self._told.asked(row), around.key, view),
            complete=self._reader.evidence.store(row) is not None,
        )

    def copy_evidence(self, folder: SiteFolder, row: Row) -> list[str]:
        """Copy the files of a run into the site, where that was asked for: their names there."""
        if not self._wishes.with_evidence:
            return []
        store = self._reader.evidence.store(row)
        if store is None:
            return []
        prefix = run_prefix(row["run_id"])
        keys = {
            f"evidence/{row['run_id']}{key.removeprefix(prefix)}": key for key in store.list(prefix)
        }
        folder.claim(keys)
        for name, key in keys.items():
            if folder.fresh(name, key) is None:  # evidence is written once: a key says it all
                folder.write(name, store.get(key), key)
        return sorted(keys)

    def _report(self, row: Row) -> Report:
        found = self._reader.read([row], lambda trial: self._shown(trial, row))
        report = Report(
            asked="",
            groups=found.groups,
            inside_of=row["run_id"],
            made=f"made by diskbench {self._site.version}",
            published=True,
        )
        evidence = self._reader.evidence
        return with_charts(report, ChartData(found.groups, found.stored, evidence, [row], row))

    def _shown(self, trial: TrialFacts, row: Row) -> TrialFacts:
        """What is told of a run."""
        place = "copied, see below" if self._wishes.with_evidence else self._place(row)
        told = told_trial(trial, row["error_kind"] or "", place, self._told.secrets(row))
        if not self._told.anonymous:
            return told
        name = row["address"] or row["hostname"] or ""
        return private_trial(told, self._told.machines.get(name, ""))

    def _place(self, row: Row) -> str:
        """Where readers find the evidence, as far as that is told: a directory of the publisher's
        is none of theirs."""
        if self._told.anonymous or not row["evidence_url"]:
            return ""
        place = f"runs/{row['run_id']}/"
        if self._wishes.evidence_base:
            return f"{self._wishes.evidence_base}/{place}"
        if row["evidence_url"].startswith("file:"):
            return f"{place} of the publisher's evidence store"
        return f"{row['evidence_url'].rstrip('/')}/{place}"

"""The page of one trial of a site: its report, with links to its evidence and configuration."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import diskbench
from diskbench.model.history import SiteRunLine
from diskbench.model.run import AskedRun
from diskbench.report.assemble.stored_report import ReportReader, stored_report
from diskbench.report.assemble.view import View
from diskbench.report.page.page import page
from diskbench.report.site.frame import Site
from diskbench.report.site.lines import run_line
from diskbench.report.site.private import ShownRuns, private_trial, scrubbed_trial, secrets_of
from diskbench.report.site.published_evidence import is_as_recorded, published_files
from diskbench.report.templates import environment
from diskbench.results.selection import Selection
from diskbench.store.site_folder import SiteFolder


def evidence_folder(run_id: str) -> str:
    """The folder of the copied evidence of a run within the site."""
    return f"evidence/{run_id}/"


def trial_page(
    reader: ReportReader, site: Site, shown: ShownRuns, rows: Sequence[AskedRun], copied: list[str]
) -> tuple[str, list[SiteRunLine], bool]:
    """The page of the trial of these runs; the line of each run, in the order of `rows`, for the
    site's tables; and whether all its sources were read. `copied` are the site's files of
    evidence."""
    around = shown.around(rows[0])
    runs = sorted((row.run for row in rows), key=lambda run: run.run_index)
    whole = stored_report(reader, runs, Selection(), shown=lambda of: _shown(site, shown, of, rows))
    made = f"made by diskbench {diskbench.__version__}"
    report = replace(whole, made=made, published=True)
    (view,) = report.trials
    files: dict[str, list[tuple[str, str]]] = {}
    for path in copied:
        _, run_id, name = path.split("/", 2)
        files.setdefault(run_id, []).append((name, f"../{quote(path)}"))
    parts: Any = environment().get_template("site_trial.html.j2").module
    html = page(report, nav=parts.nav(site, around), evidence=parts.evidence(files))
    of_runs = view.lines_of_runs()
    lines = [
        run_line(shown.run(row), shown.asked(row), around["key"], view, of_runs[row.run.run_id])
        for row in rows
    ]
    return html, lines, all(reader.evidence.store(row.run) is not None for row in rows)


def copy_evidence(reader: ReportReader, site: Site, folder: SiteFolder, row: AskedRun) -> list[str]:
    """Copy the evidence files of a run into the site if requested; return their names there."""
    store = reader.evidence.store(row.run) if site.with_evidence else None
    if store is None:
        return []
    run_id = row.run.run_id
    copied = evidence_folder(run_id)
    files = {f"{copied}{name}": of for name, of in published_files(store, run_id).items()}
    # Evidence never changes: its key is enough.
    stale = {name for name, (key, _) in files.items() if folder.fresh(name, key) is None}
    wrong = {name for name in stale if not is_as_recorded(store, run_id, files[name])}
    names = sorted(files.keys() - wrong)
    folder.claim(names)
    for name in sorted(stale - wrong):
        key, _ = files[name]
        folder.write(name, store.get(key), key)
    return names


def _shown(site: Site, runs: ShownRuns, trial: View, rows: Sequence[AskedRun]) -> View:
    """The part of a trial's report that the site shows."""
    shown = scrubbed_trial(
        trial,
        errors={row.run.run_id: row.run.error_kind or "" for row in rows},
        places={row.run.run_id: _place(site, row) for row in rows},
        secrets=secrets_of(rows, anonymous=site.anonymous),
    )
    machine = runs.machines.get(rows[0].run.address or rows[0].run.hostname or "", "")
    return private_trial(shown, machine) if site.anonymous else shown


def _place(site: Site, row: AskedRun) -> str:
    """Where readers find the evidence; empty if the site hides it. A local directory of the
    publisher is not named: readers cannot reach it."""
    if site.with_evidence:
        return "copied, see below"
    if site.anonymous or not row.run.evidence_url:
        return ""
    place = f"runs/{row.run.run_id}/"
    if site.evidence_base:
        return f"{site.evidence_base}/{place}"
    if row.run.evidence_url.startswith("file:"):
        return f"{place} of the publisher's evidence store"
    return f"{row.run.evidence_url.rstrip('/')}/{place}"

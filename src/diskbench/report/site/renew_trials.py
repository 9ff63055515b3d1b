"""The pages of trials that are out of date, made again.

What is read of the others is a stamp each: a new day in a store of a million runs costs as much as
its own trials.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from diskbench.report.assemble.stored_report import few_at_a_time
from diskbench.report.site.build import digest_of, progress
from diskbench.report.site.in_site import trial_name
from diskbench.store.digests import load_asked
from diskbench.store.site_manifest import TrialLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from diskbench.model.run import AskedRun, Run
    from diskbench.report.site.build import SiteBuild
    from diskbench.report.site.shown_runs import ShownRuns
    from diskbench.report.site.trial_page import TrialPages
    from diskbench.store.site_manifest import ShownTrial

_MOST_RUNS, _MOST_TRIALS = 1000, 200
"""Of runs and trials whose rows are in memory together."""


def renew_trials(build: SiteBuild, pages: TrialPages) -> None:
    """Write the pages of trials that are out of date, and note what the site quotes of them. The
    manifest knows all trials of the site (`SiteManifest.show`)."""
    manifest = build.folder.manifest
    manifest.want(_fresh(build))
    with progress("trials", manifest.count_outdated()) as advance:
        for chunk in _chunks(manifest.outdated()):
            stamps = {trial.trial_id: trial.stamp for trial in chunk}
            rows = load_asked(build.database, build.filters, trial_ids=list(stamps))
            _renew(build, rows, stamps, pages, advance)


def _fresh(build: SiteBuild) -> Iterator[str]:
    """The files of trials whose files are all there and up to date, and of which it is noted what
    the site quotes."""
    folder = build.folder
    digests = _digests(build)
    for trial, entry in folder.manifest.pages():
        if entry.summary is None:
            continue
        evidence = entry.summary["evidence"]
        digest = digests(trial.trial_id, trial.stamp)
        if folder.is_fresh(trial.name, entry, digest) and all(map(folder.has, evidence)):
            yield trial.name
            yield from evidence


def _digests(build: SiteBuild) -> Callable[[str, str], str]:
    """What the page of a trial is made of, by its id and stamp. An anonymous page also depends on
    how the site calls its configuration, which other trials may change."""
    shown_runs = build.all_runs

    def digest(trial_id: str, stamp: str) -> str:
        around = None
        if shown_runs is not None and trial_id in shown_runs.trials:
            around = asdict(shown_runs.around(shown_runs.trials[trial_id][0]))
        return digest_of(build.common, stamp, around)

    return digest


def _chunks(trials: Iterable[ShownTrial]) -> Iterator[list[ShownTrial]]:
    chunk: list[ShownTrial] = []
    runs = 0
    for trial in trials:
        count = int(trial.stamp.partition(":")[0])
        if chunk and (runs + count > _MOST_RUNS or len(chunk) == _MOST_TRIALS):
            yield chunk
            chunk, runs = [], 0
        chunk.append(trial)
        runs += count
    if chunk:
        yield chunk


def _renew(
    build: SiteBuild,
    rows: Sequence[AskedRun],
    stamps: Mapping[str, str],
    pages: TrialPages,
    advance: Callable[[], None],
) -> None:
    trials: dict[str, list[AskedRun]] = {}
    for row in rows:
        trials.setdefault(row.run.trial_id, []).append(row)
    shown, digests = build.shown(rows), _digests(build)
    for few in few_at_a_time(trials.items()):
        pages.prepare(shown, few)
        for trial_id, of_trial in few.items():
            _write(build, of_trial, shown, digests(trial_id, stamps[trial_id]), pages)
            advance()


def _write(
    build: SiteBuild, rows: Sequence[AskedRun], shown: ShownRuns, digest: str, pages: TrialPages
) -> None:
    folder, around = build.folder, shown.around(rows[0])
    trial_id = rows[0].run.trial_id
    copied = pages.copy_evidence(folder, rows)
    page = pages.page(rows, around, copied)
    name = trial_name(trial_id)
    lines = [
        (row.run.run_id, place_of(row.run), line.model_dump_json(exclude_defaults=True))
        for row, line in zip(rows, page.lines, strict=True)
    ]
    # Before the page: `write` may save the manifest, and a page that is up to date is not made
    # again after a kill, so that what the site quotes of it would be missing for good.
    folder.manifest.put_trial(TrialLines(trial_id, around.key, digest_of(digest, lines), lines))
    folder.write(
        name,
        page.html.encode(),
        # Evidence that could not be read may be available next time.
        digest if page.complete else "",
        {"evidence": copied},
    )
    folder.manifest.want([name, *copied])


def place_of(run: Run) -> str:
    """A text that sorts as runs do by time: those without a date first, by when they were made."""
    return f"{run.measured_at or f' {run.created_at}'} {run.run_id}"

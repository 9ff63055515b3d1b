"""A report of stored runs: read once, worded once, with its charts."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.engine import Engine

from diskbench import __version__
from diskbench.errors import UserError
from diskbench.model.ids import Known, meant
from diskbench.model.run import Run
from diskbench.parallel import few_at_a_time, grouped
from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.report_view import Group, Report
from diskbench.report.assemble.view import View, view_of
from diskbench.report.charts.registry import drawn_alone, drawn_inside, drawn_over
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.run_evidence import EvidenceOfRuns, OpenStore
from diskbench.results.selection import Selection
from diskbench.results.trial import Trial, read_trials
from diskbench.results.trial_figures import common_fields, subject_of, words
from diskbench.store.campaigns import find_matrix
from diskbench.units import counted

RUNS_AT_ONCE = 64
"""Runs whose rows and evidence are read together: fio's reports on their steps are in memory, which
may be some 100 KB each."""


class ReportReader:
    """Reads trials from a database and their evidence; the catalogue is opened once. `is_suspended`
    returns for a trial's id whether `diskbench resume` would continue it."""

    def __init__(
        self,
        database: Engine,
        open_store: OpenStore,
        evidence_url: str | None = None,
        is_suspended: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.database = database
        self.evidence = EvidenceOfRuns(open_store, evidence_url)
        self._is_suspended = is_suspended
        self._books = open_books()
        self._ready: dict[str, Trial] = {}

    def read(
        self, runs: Sequence[Run], shown: Callable[[View], View] | None = None
    ) -> tuple[tuple[Group, ...], dict[str, Trial], str]:
        """The trials of runs (database rows) grouped by subject, in the order of time; their stored
        form by id; and the subject that all groups share. `shown` reduces a trial to what may be
        shown; by default all."""
        rows_of = grouped(runs, lambda row: row.trial_id)
        stored: dict[str, Trial] = {}
        groups: dict[Any, list[View]] = defaultdict(list)
        for trial in self._trials(rows_of):
            # What is drawn needs neither its steps nor its audits.
            stored[trial.trial_id] = replace(trial, steps={}, audits=())
            view = view_of(trial)
            rent = trial.plan.cell.rent if trial.plan else None
            subject = subject_of(trial.runs[0], rent.model_dump() if rent else None)
            # Imported runs have little more than a file name as their subject.
            file = view.subject.title if trial.runs[0].imported else ""
            groups[subject, file].append(shown(view) if shown else view)
        named = [subject for subject, file in groups if not file]
        common = common_fields(named) if len(named) > 1 else ()
        without = {name for name, _ in common}
        views = []
        for number, ((subject, file), trials) in enumerate(groups.items(), 1):
            short = file or words(subject, without=without)
            views.append(Group(file or words(subject) or "all", tuple(trials), short, number))
        return tuple(views), stored, words(common)

    def prepare(self, rows_of: Mapping[str, Sequence[Run]]) -> None:
        """Read trials of which `read` is asked one by one afterwards. A caller names few runs at a
        time: what fio reported of all of them is in memory."""

        def is_suspended(trial_id: str) -> bool:
            is_open = any(row.state != "done" for row in rows_of[trial_id])
            return is_open and self._is_suspended(trial_id)

        self._ready |= read_trials(
            self.database, rows_of, self.evidence, self._books, is_suspended=is_suspended
        )

    def _trials(self, rows_of: Mapping[str, Sequence[Run]]) -> Iterator[Trial]:
        """The trials of these runs, read as many at a time as RUNS_AT_ONCE."""
        for few in few_at_a_time(rows_of.items(), RUNS_AT_ONCE):
            self.prepare({name: rows for name, rows in few.items() if name not in self._ready})
            for trial_id in few:
                yield self._ready.pop(trial_id)


def stored_report(
    reader: ReportReader,
    runs: Sequence[Run],
    asked: Selection,
    *,
    chart: str | None = None,
    shown: Callable[[View], View] | None = None,
) -> Report:
    """The report on these runs (database rows, oldest first) with all charts that their data
    allows, or with only `chart`. `asked` is the selection as typed. The run that is drawn in detail
    is the one that the user named, else the one in which the disk fell, else the last. Raises
    UnknownName for an unknown chart, InvalidValue if it has nothing to draw."""
    groups, stored, common = reader.read(runs, shown)
    trials = [trial for group in groups for trial in group.trials]
    typed, fell = _runs_selected(runs, asked.names), trials[0].fell
    named = [run for run in runs if run.run_id in typed]
    fallen = [run for run in runs if fell is not None and run.run_id == fell.run_id]
    run = next(iter([*named, *fallen, runs[-1]]))
    data = ChartData(groups, stored, reader.evidence, runs, run)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    report = Report(
        asked.words, groups, inside_of=run.run_id, common=common,
        made=f"made {now} by diskbench {__version__}",
        matrix=_matrix(reader.database, runs) if len(trials) > 1 else "",
    )  # fmt: skip
    if chart is not None:
        return replace(report, over=drawn_alone(chart, data), chart=chart)
    inside = drawn_inside(data)
    more = data.courses_left_out if inside else 0
    left_out = (f"Not drawn second by second: {counted(more, 'more step')}.",) if more else ()
    return replace(report, over=drawn_over(data), inside=inside, left_out=left_out)


def _matrix(database: Engine, runs: Sequence[Run]) -> str:
    """`nightly: gp2 beside gp3` when all runs are of one matrix; empty for others."""
    ids = {run.campaign_id for run in runs}
    known = find_matrix(database, ids.pop()) if len(ids) == 1 else None
    title = known.spec.get("title") if known else ""
    return "" if known is None else f"{known.name}: {title}" if title else known.name


def file_name(runs: Sequence[Run], asked: Sequence[str]) -> str:
    """The default file name of a report: the requested run, or the number of runs."""
    if len({run.trial_id for run in runs}) == 1:
        ids, typed = [row.run_id for row in runs], _runs_selected(runs, asked)
        return next((run_id for run_id in ids if run_id in typed), ids[-1])
    since = next((run.measured_at[:10] for run in runs if run.measured_at), "no-date")
    return f"{len(runs)}-runs-from-{since}"


def _runs_selected(runs: Sequence[Run], asked: Sequence[str]) -> set[str]:
    """The runs that the user selected by id or by a prefix of it."""
    known = [Known(str(run.run_id), "run") for run in runs]
    ids = set()
    for text in asked:
        with contextlib.suppress(UserError):  # a trial, a label or dates: not a single run
            ids.add(meant(text, known, "run").id)
    return ids

"""One figure per trial, step and direction, with its subject, its facts and its line. Figures are
comparable where the request (the subject) and the load on the disk (the line) are the same. What
was observed on the machine (the facts) may differ between trials of one subject; such figures are
not pooled (results/pool.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any

from sqlalchemy.engine import Engine

from diskbench.analysis.figure import Figure, middle, of_one_level, of_rounds
from diskbench.analysis.repeats import Sample, disagreement
from diskbench.analysis.row_figures import step_figure
from diskbench.analysis.run_course import joint_courses
from diskbench.analysis.sla import FOUND, Sla, slas_of
from diskbench.model.comparison import Metric, block_of
from diskbench.model.options import access_fields
from diskbench.model.phase import PhaseKind
from diskbench.model.run import MeasuredRow, Run
from diskbench.parallel import grouped
from diskbench.ports import EvidenceStore
from diskbench.results.run_evidence import Courses, courses_of
from diskbench.store.figures import load_figures
from diskbench.store.rows import find_searches
from diskbench.store.step_rows import load_results
from diskbench.store.where import Filter
from diskbench.units import format_bytes

FACTS = (
    "zone", "cpu_model", "cpu_count", "memory_bytes", "kernel", "distribution", "fio_version",
    "disk_model", "disk_driver", "disk_size_bytes", "emulated", "parser_version",
)  # fmt: skip
_RATES = frozenset({"iops", "bytes_per_s"})
_index = attrgetter("run_index")
REGIME = "regime"
"""A fact of a step that was cut into phases: whether its figure belongs to burst or baseline."""
_Steps = tuple[Callable[[str, str, str], Figure | None], Mapping[tuple[str, str], PhaseKind]]
"""What the figures of all metrics need: the figure of each step of each run, whole and by
direction, and the level of each run of each step."""
Fields = tuple[tuple[str, str], ...]
"""Names with values, in a fixed order."""

_NOT_SUBJECT = access_fields() | {"zone", "placement", "image", "no_public_ip", "iap"}


@dataclass(frozen=True)
class FigureLine:
    """The load on the disk: the step, and the options of fio that define it."""

    step: str
    direction: str
    rw: str | None
    block_bytes: int | None
    iodepth: int | None

    @classmethod
    def of(cls, row: MeasuredRow) -> FigureLine:
        """That of a row."""
        return cls(row.step, row.direction, row.rw, row.block_bytes, row.iodepth)


@dataclass(frozen=True)
class LineFigure:
    """The figure of one trial. `at` is the time of measurement, None where it is not known.
    `machine` is the key of the machine, equal for trials that depend on each other; `apart` is the
    spread of the trial's runs over their median. `level` is the kind of the phases that the figure
    is taken from, where the step has several levels; None: it is the mean of the whole step.
    `spans_cliff`: the figure covers both sides of a cliff, because it is not known for one side
    alone (a latency); such a figure is never pooled. `block` names the block of an ABBA order that
    the trial was measured in (model/comparison.py). `runs` are those of the trial, in order."""

    trial_id: str
    campaign_id: str
    replicate: int
    at: str | None
    machine: str
    subject: Fields
    facts: Fields
    line: FigureLine
    order: int
    value: float
    apart: float
    marks: tuple[str, ...] = ()
    role: str = "measure"
    level: PhaseKind | None = None
    spans_cliff: bool = False
    block: str = ""
    runs: tuple[Run, ...] = ()

    @property
    def sample(self) -> Sample:
        """The figure as a sample for the statistics."""
        return Sample(self.trial_id, self.value, self.machine)


def figures_by_metric(
    database: Engine,
    filters: Sequence[Filter],
    metrics: Sequence[Metric],
    evidence: EvidenceStore | None = None,
    *,
    trial_ids: Sequence[str] | None = None,
    of_row: Callable[[Metric, MeasuredRow], bool] = lambda _metric, _row: True,
) -> dict[Metric, list[LineFigure]]:
    """The figures of all trials with finished runs that meet `filters`, by metric, oldest first and
    those without a date last. Runs, rows and phases are read once for all metrics. The phases of
    long steps are read from `evidence`, or from each run's own store. With `trial_ids` (some
    hundreds) only these trials are read. `of_row` says whether a load of which this is a row gets a
    figure in the metric; it looks at the load alone."""
    rows = _searched(database, load_figures(database, filters, metrics, trial_ids=trial_ids))
    place = attrgetter("run_id", "step_index", "round", "direction")
    steps = {place(row): row for of_metric in rows.values() for row in of_metric}
    courses = courses_of(database, list(steps.values()), evidence)
    # Most metrics have figures of the same rows, whose steps are then examined once for all.
    alike: dict[tuple[object, ...], _Steps] = {}
    figures = {}
    for metric, of_metric in rows.items():
        key = tuple(map(place, of_metric))
        if key not in alike:
            alike[key] = _steps(of_metric, courses)
        chosen = (row for row in of_metric if of_row(metric, row))
        loads = grouped(chosen, lambda row: (row.run.trial_id, FigureLine.of(row)))
        figures[metric] = [
            _line_figure(line, of, metric, courses, alike[key]) for (_, line), of in loads.items()
        ]
    return figures


def _searched(
    database: Engine, rows: dict[Metric, list[MeasuredRow]]
) -> dict[Metric, list[MeasuredRow]]:
    """The rows; of the probes of a search only the one that found its rate, as the step FOUND: the
    others offer what differs between trials."""
    offered = [row for of_metric in rows.values() for row in of_metric if row.role == "offered"]
    runs = grouped(offered, lambda row: row.run.trial_id)
    searches = find_searches(database, list(runs)) if runs else {}
    of_searches = {row.run_id: searches[name] for name in searches for row in runs[name]}
    results = load_results(database, *of_searches) if of_searches else {}
    found: dict[str, Sla] = {}
    for run_id, search in of_searches.items():
        found |= slas_of(search, {run_id: results[run_id]})

    def kept(row: MeasuredRow) -> MeasuredRow | None:
        search, sla = of_searches.get(row.run_id), found.get(row.run_id)
        if search is None or row.step not in search.steps:
            return row
        return replace(row, step=FOUND) if sla and row.step == sla.step else None

    return {
        metric: [one for row in of_metric if (one := kept(row)) is not None]
        for metric, of_metric in rows.items()
    }


def _steps(rows: Sequence[MeasuredRow], courses: Courses) -> _Steps:
    of_steps = grouped(rows, lambda row: (row.run_id, row.step))

    @cache
    def figure(run_id: str, step: str, direction: str) -> Figure | None:
        course = courses.get((run_id, step))
        return step_figure(of_steps[run_id, step], course, direction=direction)

    return figure, _over_runs(rows, of_steps)


def _over_runs(
    rows: Sequence[MeasuredRow], of_steps: Mapping[tuple[str, str], Sequence[MeasuredRow]]
) -> Mapping[tuple[str, str], PhaseKind]:
    """The level of each run of each step, as its course over the runs of its trial shows it."""
    series: dict[str, dict[str, list[tuple[int, float, str]]]] = {}
    for row in {(row.run_id, row.step): row for row in rows}.values():
        figure = step_figure(of_steps[row.run_id, row.step], None)
        if figure is not None and figure.iops:
            of_trial = series.setdefault(row.run.trial_id, {})
            of_run = row.run.run_index, figure.iops, row.run_id
            of_trial.setdefault(row.step, []).append(of_run)
    kinds: dict[tuple[str, str], PhaseKind] = {}
    for of_trial in series.values():
        in_order = {step: sorted(of, key=itemgetter(0)) for step, of in of_trial.items()}
        courses = joint_courses({step: [of[:2] for of in runs] for step, runs in in_order.items()})
        for step, stretches in courses.items():
            for (*_, run_id), stretch in zip(in_order[step], stretches, strict=False):
                kinds[run_id, step] = stretch.kind
    return kinds


def _line_figure(
    line: FigureLine, rows: Sequence[MeasuredRow], metric: Metric, courses: Courses, steps: _Steps
) -> LineFigure:
    figure_of, kinds = steps
    results = _values_of_runs(line, rows, metric, figure_of)
    figures = [figure for _, _, figure in results]
    of_runs = [kinds.get((run_id, line.step)) for run_id, _, _ in results]
    if "baseline" not in of_runs:
        of_runs = [figure.kind for figure in figures]
    rates = [figure.iops or figure.bytes_per_s or 0.0 for figure in figures]
    places = of_one_level(of_runs, rates)
    kept = [figures[at] for at in places]
    first = rows[0]
    run = first.run
    facts = [(name, _text(name, of)) for name in FACTS if (of := getattr(run, name)) is not None]
    if any((run_id, line.step) in courses for run_id, _, _ in results):
        regimes = sorted({figure.kind for figure in kept if figure.kind in {"burst", "baseline"}})
        facts += [(REGIME, " and ".join(regimes))] if regimes else []
    levels = sorted({figure.kind for figure in kept if figure.kind and figure.level is not None})
    return LineFigure(
        trial_id=run.trial_id,
        campaign_id=run.campaign_id,
        replicate=run.replicate,
        at=run.measured_at,
        machine=run.machine(rented=bool(first.rent)),
        subject=subject_of(run, first.rent),
        facts=tuple(facts),
        line=line,
        order=first.step_index,
        value=middle([results[at][1] for at in places], worst_is_high=metric not in _RATES),
        apart=disagreement([value for _, value, _ in results]),
        marks=run.marks,
        role=first.role,
        level=levels[0] if levels and metric in _RATES else None,
        spans_cliff=metric not in _RATES and any(figure.crosses for figure in kept),
        block=block_of(run.labels),
        runs=tuple(sorted({row.run_id: row.run for row in rows}.values(), key=_index)),
    )


def _values_of_runs(
    line: FigureLine,
    rows: Sequence[MeasuredRow],
    metric: Metric,
    figure_of: Callable[[str, str, str], Figure | None],
) -> list[tuple[str, float, Figure]]:
    """The id of each run, its value in the metric, and the figure of its step."""
    results = []
    for run_id, of_run in grouped(rows, lambda row: row.run_id).items():
        figure = figure_of(run_id, line.step, line.direction) or Figure(None, None)
        ordered = sorted(of_run, key=lambda row: row.round or 0)
        value = of_rounds(
            [getattr(row, metric) for row in ordered], worst_is_high=metric not in _RATES
        )
        rate = {"iops": figure.iops, "bytes_per_s": figure.bytes_per_s}.get(metric)
        results.append((run_id, value if rate is None else rate, figure))
    return results


def _text(name: str, value: object) -> str:
    if name.endswith("_bytes"):
        return format_bytes(float(str(value)))
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def subject_of(run: Run, rent: Mapping[str, Any] | None) -> Fields:
    """The requested fields of a run; `rent` is the rental as typed (None: nothing was rented)."""
    fields: dict[str, Any] = {"provider": run.provider}
    if run.has("published"):
        rent = {"disk": run.disk_type, "size_gib": run.disk_gib, "iops": run.provisioned_iops}
        rent |= {"region": run.region, "cache": run.host_cache}
    if not run.imported or run.has("published"):
        fields |= {"profile": run.profile, "job": run.profile_digest}
        fields |= {f"set.{name}": value for name, value in sorted(run.parameters.items())}
    if rent:
        fields |= _rented(rent)
        fields["instance_type"] = run.instance_type or rent.get("instance_type")
        fields["filesystem"] = run.filesystem
    elif not run.imported:
        fields["machine"] = run.place
        fields |= {"target": run.target_path, "filesystem": run.filesystem}
    whole = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in fields.items()
    }
    return tuple((name, str(value)) for name, value in whole.items() if value not in (None, ""))


def _rented(rent: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The typed fields of a rental without defaults; options of one provider become `lab.noise`."""
    fields: dict[str, Any] = {}
    for name, value in rent.items():
        if isinstance(value, dict):
            fields |= _rented(value, f"{name}.")
        elif name == "size_gib" and value:
            fields["size"] = f"{value} GiB"
        elif value not in (None, False, "") and name not in _NOT_SUBJECT:
            fields[prefix + name] = value
    usual = {"count": 1, "lab.time_scale": 1, "lab.user": "root"}
    return {name: value for name, value in fields.items() if value != usual.get(name)}


def words(subject: Fields, *, without: Iterable[str] = ()) -> str:
    """A subject in one line: `lab pd-ssd 100 GiB, quick`."""
    unnamed = {name: value for name, value in subject if name not in without}
    unnamed.pop("job", None)
    profile = unnamed.pop("profile", "")
    named = [unnamed.pop(name, "") for name in ("provider", "region", "instance_type", "machine")]
    named += [unnamed.pop("disk", ""), unnamed.pop("size", "")]
    fields = [f"{name} {value}" for name, value in unnamed.items() if not name.startswith("set.")]
    return ", ".join(part for part in (" ".join(filter(None, named)), profile, *fields) if part)


def common_fields(subjects: Sequence[Fields]) -> Fields:
    """The fields that all subjects have in common, without the disk and its size, which always
    belong to the name of a subject."""
    first, *others = subjects or [()]
    shared = set(first).intersection(*others)
    return tuple(pair for pair in first if pair in shared and pair[0] not in {"disk", "size"})

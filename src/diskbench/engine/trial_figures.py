"""One figure a trial, step and direction, with what was measured and what was found there.

What was asked for (the subject) and what is done to the disk (the line) make figures comparable;
what was found (the facts) may differ between trials of one subject: those are not pooled
(engine/pool.py). The figure of a step with a cliff is the level that lasts (MR-3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.analysis.repeats import Sample, disagreement, value_of_trial
from diskbench.engine.dependence import machine_of
from diskbench.engine.levels import courses_of
from diskbench.store.figures import load_figures
from diskbench.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.engine.levels import Courses
    from diskbench.model.comparison import Metric
    from diskbench.model.phase import PhaseKind, StepPhases
    from diskbench.ports import EvidenceStore
    from diskbench.store.query import Filter

Fields = tuple[tuple[str, str], ...]
"""Names with values, in a fixed order."""

FACTS = (
    "zone", "cpu_model", "cpu_count", "memory_bytes", "kernel", "distribution", "fio_version",
    "disk_model", "disk_driver", "disk_size_bytes", "emulated", "parser_version",
)  # fmt: skip
REGIME = "regime"
"""A fact of a step that was cut into phases: whether its figure is of burst or baseline."""
_NOT_SUBJECT = ("zone", "account", "subnet", "security_group", "placement", "ssh_cidr", "image",
                "endpoint_url")  # fmt: skip


@dataclass(frozen=True)
class Line:
    """What was done to the disk: the step, and what fio was told."""

    step: str
    direction: str
    rw: str | None
    block_bytes: int | None
    iodepth: int | None


@dataclass(frozen=True)
class TrialFigure:
    """The figure of one trial. `at` is when it was measured, None where nobody knows. `machine` is
    shared with trials that depend on it; `apart` is how far its runs lie apart, over their median.

    `level` is the kind of the phase that the figure is the level of, where the step has a cliff;
    None: it is the step's own mean. With `spans_cliff` it is of both sides of a cliff, because
    nothing is known of one side alone (a latency): such a figure is never pooled.
    """

    trial_id: str
    campaign_id: str
    replicate: int
    at: str | None
    machine: str
    subject: Fields
    facts: Fields
    line: Line
    order: int
    value: float
    apart: float
    marks: tuple[str, ...] = ()
    role: str = "measure"
    level: PhaseKind | None = None
    spans_cliff: bool = False

    @property
    def sample(self) -> Sample:
        """As the statistics take it."""
        return Sample(self.trial_id, self.value, self.machine)


def trial_figures(
    database: Engine,
    filters: Sequence[Filter],
    metric: Metric,
    evidence: EvidenceStore | None = None,
    *,
    courses: Courses | None = None,
) -> list[TrialFigure]:
    """The figures of all trials with finished runs that meet `filters`, oldest first and those
    without a date last.

    The phases of long steps are read from `evidence`, or from where each run's files are, unless
    the caller has them (`courses`).
    """
    rows = load_figures(database, filters, metric)
    courses = courses_of(database, rows, evidence) if courses is None else courses
    trials: dict[tuple[str, Line], list[dict[str, Any]]] = {}
    for row in rows:
        line = Line(*(row[name] for name in Line.__dataclass_fields__))
        trials.setdefault((row["trial_id"], line), []).append(row)
    shares = _shares(rows)
    return [_figure(line, of, metric, courses, shares) for (_, line), of in trials.items()]


def words(subject: Fields, *, without: Iterable[str] = ()) -> str:
    """A subject in one line: `gcp europe-west3 pd-ssd 100 GiB, quick`."""
    left = {name: value for name, value in subject if name not in without}
    left.pop("job", None)
    profile = left.pop("profile", "")
    named = [left.pop(name, "") for name in ("provider", "region", "instance_type", "machine")]
    named += [left.pop("disk", ""), left.pop("size", "")]
    rest = [f"{name} {value}" for name, value in left.items() if not name.startswith("set.")]
    return ", ".join(part for part in (" ".join(filter(None, named)), profile, *rest) if part)


def common_fields(subjects: Sequence[Fields]) -> Fields:
    """What all of several subjects have in common, the disk and its size left out: these name a
    subject whatever the others are."""
    if not subjects:
        return ()
    shared = set(subjects[0]).intersection(*subjects[1:])
    return tuple(one for one in subjects[0] if one in shared and one[0] not in {"disk", "size"})


def _figure(
    line: Line,
    rows: Sequence[Mapping[str, Any]],
    metric: Metric,
    courses: Courses,
    shares: Mapping[tuple[str, str, str], _Share],
) -> TrialFigure:
    runs: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        runs.setdefault(row["run_id"], []).append((row["round"] or 0, row["value"]))
    rounds = {run_id: [value for _, value in sorted(run)] for run_id, run in runs.items()}
    seen = {run_id: courses[run_id, line.step] for run_id in runs if (run_id, line.step) in courses}
    levels: set[PhaseKind] = set()
    spans = False
    for run_id, course in seen.items():
        if not course.spans_cliff:
            continue
        level = _lasting(course, metric, shares.get((run_id, line.step, line.direction)))
        if level is None or course.lasting is None:
            spans = True
        else:
            rounds[run_id] = [level]
            levels.add(course.lasting.kind)
    first = rows[0]
    facts = [(name, _text(name, first[name])) for name in FACTS if first[name] is not None]
    regimes = sorted({one.regime for one in seen.values() if one.regime is not None})
    facts += [(REGIME, " and ".join(regimes))] if regimes else []
    return TrialFigure(
        trial_id=first["trial_id"],
        campaign_id=first["campaign_id"],
        replicate=first["replicate"],
        at=first["measured_at"],
        machine=machine_of(first, rented=bool(first["rent"])),
        subject=subject_of(first),
        facts=tuple(facts),
        line=line,
        order=first["step_index"],
        value=value_of_trial(rounds.values()),
        apart=disagreement(rounds.values()),
        marks=tuple(mark for mark in ("emulated", "imported") if first[mark]),
        role=first["role"],
        level=min(levels) if levels else None,
        spans_cliff=spans,
    )


@dataclass(frozen=True)
class _Share:
    """What part of a step's I/Os and bytes one direction has."""

    iops: float
    bytes_per_s: float


def _shares(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], _Share]:
    """By run, step and direction: phases are of all directions together."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    wholes: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        if row["direction"] == "sync":
            continue
        for one in (
            sums.setdefault((row["run_id"], row["step"], row["direction"]), [0, 0]),
            wholes.setdefault((row["run_id"], row["step"]), [0, 0]),
        ):
            one[0] += row["ios"]
            one[1] += row["bytes"]
    return {
        key: _Share(
            *(
                part / whole if whole else 0.0
                for part, whole in zip(of, wholes[key[:2]], strict=True)
            )
        )
        for key, of in sums.items()
    }


def _lasting(course: StepPhases, metric: Metric, share: _Share | None) -> float | None:
    """The level after the cliff in this metric and direction; None where it is not known."""
    level = course.lasting
    if level is None or share is None:
        return None
    if metric == "iops" and level.iops is not None:
        return level.iops * share.iops
    if metric == "bytes_per_s" and level.bytes_per_s is not None:
        return level.bytes_per_s * share.bytes_per_s
    return None


def subject_of(row: Mapping[str, Any]) -> Fields:
    """What was asked for in a run, from its columns and `rent` as in `store.figures`."""
    found: dict[str, Any] = {"provider": row["provider"]}
    if not row["imported"]:
        found |= {"profile": row["profile"], "job": row["profile_digest"]}
        found |= {f"set.{name}": value for name, value in sorted(row["parameters"].items())}
    rent = row["rent"]
    if rent:
        found |= _rented(rent)
        found["instance_type"] = row["instance_type"] or rent.get("instance_type")
        found["filesystem"] = row["filesystem"]
    elif not row["imported"]:
        found["machine"] = row["address"] or row["hostname"]
        found |= {"target": row["target_path"], "filesystem": row["filesystem"]}
    return tuple((name, str(value)) for name, value in found.items() if value not in (None, ""))


def _rented(rent: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """What was typed of a rental, without defaults; what one provider knows as `azure.cache`."""
    found: dict[str, Any] = {}
    for name, value in rent.items():
        if isinstance(value, dict):
            found |= _rented(value, f"{name}.")
        elif name == "size_gib" and value:
            found["size"] = f"{value} GiB"
        elif value not in (None, False, "") and name not in _NOT_SUBJECT:
            found[prefix + name] = value
    for name, usual in (("count", 1), ("lab.time_scale", 1), ("lab.user", "root")):
        if found.get(name) == usual:
            del found[name]
    return found


def _text(name: str, value: object) -> str:
    if name.endswith("_bytes"):
        return format_bytes(float(str(value)))
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)

"""One figure a trial, step and direction, with what was measured and what was found there.

What was asked for (the subject) and what is done to the disk (the line) make figures comparable;
what was found (the facts) may differ between trials of one subject, and is told where it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.analysis.repeats import Sample, disagreement, value_of_trial
from diskbench.store.figures import load_figures
from diskbench.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.comparison import Metric
    from diskbench.store.query import Filter

Fields = tuple[tuple[str, str], ...]
"""Names with values, in a fixed order."""

FACTS = (
    "zone", "cpu_model", "cpu_count", "memory_bytes", "kernel", "distribution", "fio_version",
    "disk_model", "disk_driver", "disk_size_bytes", "emulated",
)  # fmt: skip
_NOT_SUBJECT = ("zone", "account", "subnet", "security_group", "placement", "ssh_cidr", "image",
                "endpoint_url")  # fmt: skip
_MACHINE_LABEL = "machine"


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
    """The figure of one trial. `machine` is shared with trials that depend on it; `apart` is how
    far its runs lie apart, over their median."""

    trial_id: str
    campaign_id: str
    replicate: int
    at: str
    machine: str
    subject: Fields
    facts: Fields
    line: Line
    order: int
    value: float
    apart: float
    marks: tuple[str, ...] = ()

    @property
    def sample(self) -> Sample:
        """As the statistics take it."""
        return Sample(self.trial_id, self.value, self.machine)


def trial_figures(database: Engine, filters: Sequence[Filter], metric: Metric) -> list[TrialFigure]:
    """The figures of all trials with finished runs that meet `filters`, oldest first."""
    trials: dict[tuple[str, Line], list[dict[str, Any]]] = {}
    for row in load_figures(database, filters, metric):
        line = Line(*(row[name] for name in Line.__dataclass_fields__))
        trials.setdefault((row["trial_id"], line), []).append(row)
    return [_figure(line, rows) for (_, line), rows in trials.items()]


def words(subject: Fields, *, without: Iterable[str] = ()) -> str:
    """A subject in one line: `gcp europe-west3 pd-ssd 100 GiB, quick`."""
    left = {name: value for name, value in subject if name not in without}
    left.pop("job", None)
    profile = left.pop("profile", "")
    named = [left.pop(name, "") for name in ("provider", "region", "instance_type", "machine")]
    named += [left.pop("disk", ""), left.pop("size", "")]
    rest = [f"{name} {value}" for name, value in left.items() if not name.startswith("set.")]
    return ", ".join(part for part in (" ".join(filter(None, named)), profile, *rest) if part)


def _figure(line: Line, rows: Sequence[Mapping[str, Any]]) -> TrialFigure:
    runs: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        runs.setdefault(row["run_id"], []).append((row["round"] or 0, row["value"]))
    rounds = [[value for _, value in sorted(run)] for run in runs.values()]
    first = rows[0]
    return TrialFigure(
        trial_id=first["trial_id"],
        campaign_id=first["campaign_id"],
        replicate=first["replicate"],
        at=first["created_at"],
        machine=_machine(first),
        subject=subject_of(first),
        facts=tuple((name, _text(name, first[name])) for name in FACTS if first[name] is not None),
        line=line,
        order=first["step_index"],
        value=value_of_trial(rounds),
        apart=disagreement(rounds),
        marks=tuple(mark for mark in ("emulated", "imported") if first[mark]),
    )


def _machine(row: Mapping[str, Any]) -> str:
    """What makes trials depend on each other: a machine that they had in turn, or that was there
    before (MR-5). Of imported runs only what their files or a label `machine` tell is known: those
    that tell nothing may all be of one."""
    if row["machine_lease"]:
        return str(row["machine_lease"])
    if row["rent"]:
        return str(row["trial_id"])
    named = row["labels"].get(_MACHINE_LABEL) if row["imported"] else None
    return f"there:{row['provider']}:{named or row['address'] or row['hostname'] or ''}"


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

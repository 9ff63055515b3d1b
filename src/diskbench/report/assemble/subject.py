"""The subject of a result: the text above every table, chart and page."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from diskbench.catalog.lookup import DiskLimits, limits
from diskbench.errors import UserError
from diskbench.model.expectation import BeyondCredit
from diskbench.model.facts import DiskFacts, HostFacts
from diskbench.model.ids import LAST, short
from diskbench.model.rental import Rental
from diskbench.model.run import Mark, Run
from diskbench.model.spec import Plan, Search
from diskbench.model.threshold import Threshold
from diskbench.plan.rent_options import words as rent_words
from diskbench.units import GIB, format_bytes

ENDED_EARLY = frozenset({"cancelled", "interrupted", "failed"})
"""States of runs that ended before their last step."""
SHARED = "cells of its matrix share the machine: they are not independent samples"
"""Mark of a machine that other trials used as well."""
SUSPENDED = "suspended"
"""State of interrupted runs that `diskbench resume` can continue."""
_MARKS: tuple[Mark, ...] = ("emulated", "imported", "unverified")
UNFINISHED = {
    "cancelled": "interrupted",
    "interrupted": "interrupted",
    "failed": "failed",
    "planned": "not finished",
    "running": "not finished",
    SUSPENDED: "not finished",
}


@dataclass(frozen=True)
class Subject:
    """One trial: its profile, machine, disk and runs, as text.

    `marks` qualify the figures: emulated, imported, unverified.
    """

    profile: str
    title: str
    question: str
    machine: str
    disk: str
    target: str
    fio: str
    run_ids: tuple[str, ...]
    state: str | None = None
    marks: tuple[str, ...] = ()
    profile_typed: str = ""
    """The profile as it was given, a name or a path, to repeat the command."""
    target_flags: str = ""
    """The flags that select the same target, for the proposed next command."""
    trial_flags: str = ""
    """The other flags of the trial: profile parameters and labels."""
    runs_planned: int = 1
    """The requested number of runs on one machine and disk."""
    promised: HeadlinePromise | None = None
    """The promise of the rented disk, or what its owner expects; None without either."""
    trial_id: str = ""
    steps_planned: int | None = None
    """Steps of one run; None if unknown, as for a loop."""
    beyond: BeyondCredit | None = None
    """The load that outlasts the credit of its disk; None if none falls or is known."""
    rented: bool = False
    """Whether another machine and disk of its kind can be rented: a replicate."""
    disk_is_named: bool = False
    """Whether the disk of an imported run was named (`--as-disk`, `--promise`)."""
    thresholds: tuple[Threshold, ...] = ()
    """What the figures must meet: the thresholds of the profile, and those of the user."""
    search: Search | None = None

    @property
    def shown_id(self) -> str:
        """The short id that every command prints: of the trial, or of its run if it has only one;
        `last` without any."""
        id_ = self.run_ids[0] if len(self.run_ids) == 1 else self.trial_id
        return short(id_) if id_ else LAST

    @property
    def ended_early(self) -> bool:
        """Whether a run ended before its last step, so that its result is incomplete."""
        return self.state in ENDED_EARLY


def marks_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """What qualifies the figures of these runs."""
    return tuple(mark for mark in _MARKS if any(run.has(mark) for run in runs))


def subject_of_plan(plan: Plan) -> Subject:
    """The subject of a planned, running or just finished trial."""
    facts, promise = plan.facts, None
    if plan.rental is not None:
        promise = replace(promised(plan.rental), shared=plan.machine is not None)
    elif plan.cell.promise:
        promise = HeadlinePromise("", plan.cell.promise.words())
    return Subject(
        profile=plan.profile.name,
        title=plan.profile.title,
        question=plan.profile.question,
        machine=machine(facts, plan.address),
        disk=disks_words(facts, plan.target.path),
        target=target(plan),
        fio=f"fio {_version(facts.fio_version)}",
        run_ids=plan.run_ids,
        trial_id=plan.trial_id,
        marks=("emulated",) if plan.emulated else (),
        target_flags=shlex.join(_target_words(plan)),
        trial_flags=_trial_flags(plan),
        runs_planned=plan.cell.runs,
        promised=promise,
        steps_planned=None if plan.loop or plan.search else len(plan.steps),
        profile_typed=plan.cell.profile,
        thresholds=plan.conditions,
        search=plan.search,
        beyond=plan.expectation.beyond if plan.expectation else None,
        rented=plan.rental is not None,
    )


def subject_of_runs(rows: Sequence[Run], plan: Plan | None = None) -> Subject:
    """The subject of stored runs of one trial, oldest first.

    `plan` is the plan of the trial; imported runs have none, so their rows are the only source.
    """
    row = rows[0]
    subject = subject_of_plan(plan) if plan else _subject_of_row(row)
    return replace(
        subject,
        disk_is_named=bool({"as_disk", "promise"} & (row.labels or {}).keys()),
        run_ids=tuple(run.run_id for run in rows),
        state=next((run.state for run in rows if run.state != "done"), "done"),
        marks=marks_of(rows[:1]),
    )


def _subject_of_row(row: Run) -> Subject:
    size = row.disk_size_bytes
    disk = (row.disk_model, format_bytes(size) if size else None, row.disk_driver)
    place = row.target_device if row.target_kind == "device" else row.target_path
    kind = f" ({row.filesystem})" if row.filesystem else ""
    machine_words = (row.place or row.provider, row.instance_type)
    return Subject(
        profile=row.profile, title=row.profile, question="",
        machine=", ".join(filter(None, machine_words)), disk=", ".join(filter(None, disk)),
        target=f"{place}{kind}" if place else "", fio=f"fio {_version(row.fio_version)}",
        run_ids=(), trial_id=row.trial_id,
    )  # fmt: skip


def machine(facts: HostFacts, address: str | None) -> str:
    """`web1 (m5.large): 2 × Intel Xeon, 8 GiB memory, Linux 6.1.0`."""
    name = address or facts.hostname or "this machine"
    kind = f" ({facts.cloud.instance_type})" if facts.cloud.instance_type else ""
    words = [f"{facts.cpu.count} × {facts.cpu.model or 'CPU'}"]
    if facts.memory_bytes:
        words.append(f"{format_bytes(facts.memory_bytes)} memory")
    if facts.kernel:
        words.append(f"Linux {facts.kernel}")
    return f"{name}{kind}: {', '.join(words)}"


def disk_words(disk: DiskFacts | None, *, known_path: str = "") -> str:
    """`/dev/nvme1n1, Amazon Elastic Block Store, 20 GiB, nvme`; empty where nothing is known.

    A path that is shown beside it already (`known_path`) is not repeated.
    """
    if disk is None:
        return ""
    size = format_bytes(disk.size_bytes) if disk.size_bytes else None
    path = disk.path if disk.path != known_path else None
    words = (path, disk.model, size, disk.transport or disk.driver)
    return ", ".join(word.strip() for word in words if word and word.strip())


def disks_words(facts: HostFacts, known_path: str) -> str:
    """The words of each disk of the target, as `disk_words`; equal ones once, with their number."""
    if not facts.other_disks:
        return disk_words(facts.disk, known_path=known_path)
    disks = [disk for disk in (facts.disk, *facts.other_disks) if disk]
    counts = Counter(disk_words(disk, known_path=disk.path) for disk in disks)
    return "; ".join(f"{n} × {text}" if n > 1 else text for text, n in counts.items() if text)


def target(plan: Plan) -> str:
    """The target that fio writes to: a directory, its filesystem and what that lies on, or a
    device."""
    if plan.target.kind == "device":
        made = plan.target.filesystem
        paths = ", ".join(disk.path for disk in plan.cell.target.disks)
        return paths + (f" (new {made})" if made != "none" else " (raw)")
    mount = plan.facts.mount
    through = [mount.fstype] if mount and mount.fstype else []
    through += plan.facts.layers
    return plan.target.path + (f" ({' on '.join(through)})" if through else "")


def _target_words(plan: Plan) -> list[str]:
    """The flags for the machine, the target, its filesystem and size, and for the figures that its
    owner expects, independent of the profile."""
    spec, provider = plan.cell.target, plan.cell.provider
    words: list[str] = []
    if plan.rental is not None:
        words = ["--provider", provider, *rent_words(plan.rental.spec, provider)]
    elif plan.cell.address:
        words = ["--provider", provider, "--host", plan.cell.address]
    if plan.rental is None and spec.kind == "device":
        for disk in spec.disks:
            words += ["--device", disk.path, "--destroy-data", disk.destroy_data or ""]
    elif plan.rental is None:
        words += ["--path", spec.path]
    words += ["--filesystem", spec.filesystem] if spec.filesystem is not None else []
    if plan.rental is None and spec.size_bytes is not None:
        words += ["--size", f"{spec.size_bytes / GIB:g}"]
    if plan.cell.promise:
        figures = plan.cell.promise.model_dump(exclude_none=True).items()
        words += ["--promise", ",".join(f"{key}={value:.15g}" for key, value in figures)]
    return words


def _trial_flags(plan: Plan) -> str:
    """The other flags given for this profile: parameters and labels."""
    pairs = [("--set", pair) for pair in plan.cell.parameters]
    pairs += [("--label", pair) for pair in plan.cell.labels]
    words = [word for flag, (key, value) in pairs for word in (flag, f"{key}={value}")]
    asked = [threshold.source for threshold in plan.conditions if threshold.typed]
    words += [word for source in asked for word in shlex.split(source)]
    words += ["--if-busy", plan.cell.if_busy] if plan.cell.if_busy != "wait" else []
    words += [word for option in plan.cell.allowed for word in ("--allow", option)]
    return shlex.join(words)


def _version(text: str | None) -> str:
    return (text or "?").removeprefix("fio-")


@dataclass(frozen=True)
class HeadlinePromise:
    """The rented offer (empty: nothing was rented), the promise of its disk, and the scale of its
    credit in time; `shared`: other trials used the machine as well."""

    offer: str
    promise: str
    limits: DiskLimits | None = None
    time_scale: float = 1.0
    shared: bool = False


def promised(rental: Rental) -> HeadlinePromise:
    """The promise of a rental; without figures for a disk that no catalogue lists."""
    disk, cloud = rental.disk, rental.catalogue
    promises = None
    if disk is not None and disk.count == 1:
        with suppress(UserError):
            promises = limits(cloud, disk.type, disk.size_gib, disk.iops, disk.throughput_mib_per_s)
    return HeadlinePromise(rental.offer, rental.promise_words, promises, rental.spec.time_scale)


def namer(plans: Sequence[Plan]) -> Callable[[Plan], str]:
    """The shortest label that distinguishes each of the trials of a command: none, the host, the
    replicate, or host and replicate."""
    replicates = len({plan.cell.replicate for plan in plans}) > 1

    def name(plan: Plan) -> str:
        if len(plans) < 2:
            return ""
        number = f"#{plan.cell.replicate + 1}"
        if plan.rental is not None and replicates:  # a rented machine's address says nothing
            return number
        host = plan.address or plan.facts.hostname or plan.cell.provider
        return f"{host} {number}" if replicates else host

    return name

"""The subject of a result: the text above every table, chart and page; and its runs, with what they
cost and whether their figures agree."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from diskbench.catalog.cost import TrialCost
from diskbench.catalog.lookup import DiskLimits
from diskbench.catalog.prices import disk_limits
from diskbench.model.expectation import BeyondCredit, DiskPrice
from diskbench.model.facts import DiskFacts, HostFacts
from diskbench.model.ids import LAST, short
from diskbench.model.result import StepAudit
from diskbench.model.run import Mark, Run
from diskbench.model.spec import Plan, Search
from diskbench.model.threshold import Threshold
from diskbench.parallel import grouped
from diskbench.plan.rent_options import words as rent_words
from diskbench.report.assemble.words import row_id, utc_moment
from diskbench.units import GIB, format_bytes, format_duration_s, format_usd

ENDED_EARLY = frozenset({"cancelled", "interrupted", "failed"})
"""States of runs that ended before their last step."""
SHARED = "cells of its matrix share the machine: they are not independent samples"
"""Mark of a machine that other trials used as well."""
SUSPENDED = "suspended"
"""State of interrupted runs that `diskbench resume` can continue."""
_MARKS: tuple[Mark, ...] = ("emulated", "imported", "published", "unverified")
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
    offer: str = ""
    """The rented machine and disk, of which there are others; empty: nothing was rented."""
    promise: str = ""
    """What the rented disk promises, or what its owner expects; empty: unknown."""
    limits: DiskLimits | None = None
    """Those of the rented disk; None where no catalogue lists it."""
    time_scale: float = 1.0
    """By how much the lab divides the credit of a real disk."""
    shared: bool = False
    """Whether other trials used the rented machine as well."""
    trial_id: str = ""
    steps_planned: int | None = None
    """Steps of one run; None if unknown, as for a loop."""
    beyond: BeyondCredit | None = None
    """The load that outlasts the credit of its disk; None if none falls or is known."""
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


def marks_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """What qualifies the figures of these runs."""
    return tuple(mark for mark in _MARKS if any(run.has(mark) for run in runs))


def subject_of_plan(plan: Plan) -> Subject:
    """The subject of a planned, running or just finished trial."""
    facts, rental, expected = plan.facts, plan.rental, plan.cell.promise
    owned = expected.words() if expected else ""
    disk = rental.disk if rental and rental.disk and rental.disk.count == 1 else None
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
        offer=rental.offer if rental else "",
        promise=rental.promise_words if rental else owned,
        limits=disk_limits(rental.catalogue, disk) if rental and disk else None,
        time_scale=rental.spec.time_scale if rental else 1.0,
        shared=rental is not None and plan.machine is not None,
        steps_planned=None if plan.loop or plan.search else len(plan.steps),
        profile_typed=plan.cell.profile,
        thresholds=plan.conditions,
        search=plan.search,
        beyond=plan.expectation.beyond if plan.expectation else None,
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
    title, by, where = row.profile, f"fio {_version(row.fio_version)}", row.place or row.provider
    if row.has("published"):
        title, by, where = (row.labels[name] for name in ("published", "source", "machine"))
        place = f"{row.disk_type}{f', {row.disk_gib} GiB' if row.disk_gib else ''}"
    return Subject(
        profile=row.profile, title=title, question="",
        machine=", ".join(filter(None, (where, row.instance_type))),
        disk=", ".join(filter(None, disk)), target=f"{place}{kind}" if place else "", fio=by,
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


def disk_words(disk: DiskFacts | None, known_path: str = "") -> str:
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
    disks, others = [disk for disk in (facts.disk, *facts.other_disks) if disk], facts.other_disks
    known = [disk.path if others else known_path for disk in disks]
    counts = Counter(map(disk_words, disks, known))
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


def price_lines(price: DiskPrice) -> Iterator[str]:
    """The price of the disk per month, and per 1,000 IOPS and 100 MB/s."""
    if price.total_usd is None:
        yield "monthly price unknown"
        return
    month = f"${price.total_usd:,.2f} a month"
    if price.transactions_usd:
        month += f", ${price.transactions_usd:,.2f} of it transactions at the baseline"
    yield month
    pairs = (
        ("1,000 IOPS", price.per_1000_iops_usd, price.per_1000_burst_iops_usd),
        ("100 MB/s", price.per_100_mb_per_s_usd, price.per_100_burst_mb_per_s_usd),
    )
    for unit, lasting, burst in pairs:
        if lasting is not None:
            apart = f"; ${burst:,.2f} of the burst" if burst is not None else ""
            yield f"${lasting:,.2f} per {unit} of the baseline{apart}"


def _target_words(plan: Plan) -> list[str]:
    """The flags for the machine, the target, its filesystem and size, and for the figures that its
    owner expects, independent of the profile."""
    spec, provider, rental = plan.cell.target, plan.cell.provider, plan.rental
    words = ["--provider", provider, "--host", plan.cell.address] if plan.cell.address else []
    if rental is not None:
        words = ["--provider", provider, *rent_words(rental.spec, provider)]
    elif spec.kind == "device":
        for disk in spec.disks:
            words += ["--device", disk.path, "--destroy-data", disk.destroy_data or ""]
    else:
        words += ["--path", spec.path]
    words += ["--filesystem", spec.filesystem] if spec.filesystem is not None else []
    if rental is None and spec.size_bytes is not None:
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


LINKED = ("https://", "http://", "file://")
"""Schemes that become links; any other address stays text, above all `javascript:`."""


@dataclass(frozen=True)
class RunFacts:
    """One run: its state, start (`at`, UTC, ISO 8601; empty if unknown), error and advice, the URL
    of its evidence (empty if unknown), and whether its figures agree (`audit`, a line)."""

    run_id: str
    state: str
    at: str = ""
    error: str = ""
    advice: str = ""
    evidence: str = ""
    audit: str = ""

    @property
    def id(self) -> str:
        return row_id(self.run_id)

    @property
    def when(self) -> str:
        return utc_moment(self.at)

    @property
    def href(self) -> str:
        """Its evidence, if a browser can open it."""
        return self.evidence if self.evidence.startswith(LINKED) else ""


def run_facts(row: Run, audits: Sequence[StepAudit]) -> RunFacts:
    """The facts of a run for a report; `audits` are those of its steps."""
    evidence = f"{row.evidence_url}/runs/{row.run_id}/" if row.evidence_url else ""
    audit = audit_line([audit for audit in audits if audit.run_id == row.run_id])
    at, error, advice = (text or "" for text in (row.when, row.error, row.advice))
    return RunFacts(row.run_id, row.state, at, error, advice, evidence, audit)


def versions_of(row: Run, plan: Plan | None) -> tuple[tuple[str, str], ...]:
    """What measured, and on what software."""
    digest = f" ({row.profile_digest[:12]})" if row.profile_digest else ""
    versions = {
        "diskbench": row.diskbench_version,
        "fio": (row.fio_version or "").removeprefix("fio-"),
        "kernel": row.kernel,
        "distribution": row.distribution,
        "profile": f"{row.profile}{digest}",
        "catalogue": plan.catalogue[:12] if plan and plan.catalogue else "",
    }
    return tuple((name, str(value)) for name, value in versions.items() if value)


def cost_line(cost: TrialCost) -> str:
    """The cost of a trial: `$0.0123 (12 min at $0.0612/h)`, transactions with their number."""
    if cost.unknown:
        known = f" (the rest {format_usd(cost.known_usd)})" if cost.known_usd else ""
        return f"cost unknown{known}: {cost.unknown_words()}"
    if not cost.total_usd:
        return "nothing"
    hourly = f"{format_duration_s(cost.seconds)} at {format_usd(cost.hourly_usd or 0)}/h"
    if cost.fixed_usd:
        hourly += f", {format_usd(cost.fixed_usd)} for the least time that is billed"
    if cost.transactions_usd:
        hourly += f", {format_usd(cost.transactions_usd)} for {cost.transactions:,.0f} transactions"
    so_far = "" if cost.ended else " so far"
    paid = "; emulated: nothing was paid" if cost.emulated else ""
    return f"{format_usd(cost.total_usd)}{so_far} ({hourly}){paid}"


AUDIT_FAILED = "audit failed:"
"""How a line of checks begins of which one failed."""


def audit_line(audits: Sequence[StepAudit]) -> str:
    """The checks that hold in all steps, those that fail and where, and those that could not be
    made; empty without a step."""
    pairs = [(check, audit.step) for audit in audits for check in audit.checks]
    good: list[str] = []
    unknown: list[str] = []
    wrong: list[str] = []
    for name, of in grouped(pairs, lambda pair: pair[0].name).items():
        bad = [(check, step) for check, step in of if check.holds is False]
        if bad:
            check, step = bad[0]
            more = f" (and {len(bad) - 1} more steps)" if len(bad) > 1 else ""
            wrong.append(f"{name} in step {step}: {check.message}{more}")
        else:
            (unknown if all(check.holds is None for check, _ in of) else good).append(name)
    parts = [f"{AUDIT_FAILED} {'; '.join(wrong)}"] if wrong else []
    if good:
        parts.append(f"{'' if wrong else 'audit '}passed: {', '.join(good)}")
    if unknown:
        parts.append(f"{'' if parts else 'audit '}not checked: {', '.join(unknown)}")
    return "; ".join(parts)

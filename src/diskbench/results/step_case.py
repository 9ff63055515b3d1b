"""What is known of a step beside its figures, from its rows, its evidence and the facts of its
machine: the setting in which it ran, its doubts, and reasons that its evidence gives."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from diskbench.analysis.limiter import BLOCK_TRANSPORTS
from diskbench.analysis.setting import Setting, Sibling
from diskbench.analysis.unsteady import two_latencies
from diskbench.fio.declared import declared, options_of
from diskbench.fio.device import DeviceCount, device_counts
from diskbench.fio.warnings import processor_of, step_warnings
from diskbench.model import doubts
from diskbench.model.doubts import Reason
from diskbench.model.facts import HostFacts
from diskbench.model.metrics import Exceeded
from diskbench.model.processor import MachineUse, busiest
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Plan
from diskbench.plan.identify import like
from diskbench.plan.limit_path import Hint
from diskbench.results.step_groups import StepGroup
from diskbench.units import SHOWN_AS_BYTES, format_bytes, format_latency_ns

_SYNC = re.compile(r"^\s*(end_fsync|fsync_on_close|fsync|fdatasync|sync)\s*=\s*[1-9]", re.MULTILINE)
ALIKE = 0.05
"""Largest share by which the counts of device and fio may differ (MR-12)."""


def case_of(
    group: StepGroup,
    plan: Plan | None,
    hint: Hint,
    others: Iterable[StepGroup],
    memory_bytes: int | None,
    *,
    is_promised: bool,
) -> tuple[Setting, Sequence[Warning], tuple[Reason, ...]]:
    """The setting of a step, the warnings of its rounds, and the reasons that follow from its own
    evidence; `others` are the other steps of its run. A disk whose cliff resembles its own is named
    where nothing `is_promised`."""
    names = _like(group)
    setting = setting_of(group, plan, hint, others, memory_bytes)
    reasons = [*counted_otherwise(group)]
    if names and not is_promised:
        fell = f"it fell as {' or '.join(names)} does when its credit is used up"
        advice = f"results show --as-disk {names[0]} compares it with that disk"
        reasons.append(doubts.LOOKS_LIKE.reason(fell, advice=advice))
    reasons += _two_latencies(group)
    stretches = (group, *(group.phases.phases if group.phases else ()))
    rates = (getattr(of, rate) for of in stretches for rate in ("iops", "bytes_per_s"))
    if plan is None and all(rate is None for rate in rates):
        words = "no rate is known: the evidence has latencies only"
        reasons.append(doubts.NO_RATE.reason(words))
    return replace(setting, is_like_bucket=bool(names)), _doubts(group, plan), tuple(reasons)


def setting_of(
    group: StepGroup,
    plan: Plan | None,
    hint: Hint,
    others: Iterable[StepGroup],
    memory_bytes: int | None,
) -> Setting:
    """The setting of a step; `others` are the other steps of its run."""
    load = group.load
    rows = [row for of_round in group.rounds for row in of_round]
    written = sum(row.bytes or 0 for row in rows if row.direction == "write")
    like = load.model_copy(update={"depth": None}) if load else None
    device_share, device_at_most = _device_share(group)
    jobs = [evidence.step.job for evidence in group.evidence if evidence.step.job]
    # The links that a hypervisor reports to a guest are not those of the real disks.
    is_real = plan is not None and plan.facts.virtualisation in (None, "none")
    medium = plan.facts.disk if plan is not None and is_real else None
    return Setting(
        load=load,
        seconds=group.seconds,
        # One round short of CPU makes the figure with care: the busiest counts.
        processor=busiest(
            processor_of(evidence.output, group.rows, evidence.samples)
            for evidence in group.evidence
        ),
        device_share=device_share,
        device_at_most=device_at_most,
        device_requests=_device_requests(group) if device_share is None else None,
        memory_share=memory_bytes / written if memory_bytes and written else None,
        # Its jobs wait at their end until all that they wrote is on the disk.
        is_synced=bool(jobs) and all(_SYNC.search(job) for job in jobs),
        keeps_cache=bool(group.evidence) and group.evidence[0].step.page_cache == "keep",
        host_cache=plan.cell.has_host_cache if plan is not None else hint.has_cache,
        network=_network(plan),
        link=(medium and medium.transport) or "",
        turns=bool(medium and medium.rotational),
        exceeded=_exceeded(group),
        siblings=tuple(
            Sibling(sibling.name, sibling.load.depth, sibling.iops)
            for sibling in others
            if sibling.iops is not None
            and sibling.load is not None
            and sibling.load.depth is not None
            and sibling.load.model_copy(update={"depth": None}) == like
        ),
    )


def _exceeded(group: StepGroup) -> Exceeded | None:
    """The seconds beyond each limit, of all rounds; None where a round has no counters."""
    read = [evidence.exceeded for evidence in group.evidence if evidence.exceeded is not None]
    if not read or len(read) < len(group.evidence):
        return None
    seen = [one.counted_s for one in read if one.counted_s is not None]
    beyond = {limit: sum(one.seconds.get(limit, 0.0) for one in read) for limit in read[0].seconds}
    return Exceeded(beyond, sum(seen) if seen else None)


def _device_share(group: StepGroup) -> tuple[float | None, bool]:
    """The device's part of fio's I/O, in the direction where it is smaller, and whether it is only
    known to be at most that: by samples, else by what fio counted of the device."""
    if all(evidence.samples is None for evidence in group.evidence):
        counts = _counts(group)
        shares = [(count.share, count.is_bound) for count in counts if count.share is not None]
        fewest, is_bound = min(shares, default=(None, False))
        unknown = len(shares) < len(counts) and fewest == 1.0
        return (None, False) if unknown else (fewest, is_bound)
    moved: dict[str, list[int]] = {"read": [0, 0], "write": [0, 0]}
    by_index = {evidence.step.index: evidence.samples for evidence in group.evidence}
    for row in group.rows:
        if row.step_index not in by_index or row.scope != "step":
            continue
        if row.direction not in moved or not row.bytes:
            continue
        device, _ = _of_device(by_index[row.step_index], row.direction)
        if device is None:
            return None, False
        moved[row.direction][0] += device
        moved[row.direction][1] += row.bytes
    return min((device / asked for device, asked in moved.values() if asked), default=None), False


def _of_device(samples: MachineUse | None, direction: str) -> tuple[int | None, int | None]:
    """The bytes and I/Os that the device counted in a direction."""
    if samples is None:
        return None, None
    if direction == "read":
        return samples.device_read_bytes, samples.device_read_ios
    return samples.device_write_bytes, samples.device_write_ios


def _counts(group: StepGroup) -> Sequence[DeviceCount]:
    """What fio counted of the device of a step without samples, by direction."""
    if len(group.evidence) != 1 or (output := group.evidence[0].output) is None:
        return ()
    sections = declared(group.evidence[0].step.job)
    options = [options_of(job, output, sections) for job in output.jobs]
    return tuple(device_counts(output, options).values())


def _device_requests(group: StepGroup) -> float | None:
    """The requests of the device a second, if they are clearly fewer than fio's I/Os."""
    counts = _counts(group)
    requests, ios = (sum(getattr(c, name) for c in counts) for name in ("requests", "ios"))
    alone = all(count.of_all is None for count in counts)
    few = alone and group.seconds > 0 and requests < (1 - ALIKE) * ios
    return requests / group.seconds if few else None


def _network(plan: Plan | None) -> str | None:
    if plan is None:
        return None
    facts = plan.facts
    if facts.network_filesystem:
        return facts.mount.fstype if facts.mount else "a network filesystem"
    transport = facts.disk.transport if facts.disk else None
    return transport if transport in BLOCK_TRANSPORTS else None


def _doubts(group: StepGroup, plan: Plan | None) -> list[Warning]:
    """The warnings of all rounds; for an imported step also those that follow from fio's report,
    but for its audit, which was made by what the report itself says."""
    known = [warning for result in group.results for warning in result.warnings]
    if plan is not None:
        return known
    codes = {doubts.FIGURES_DISAGREE.code, *(warning.code for warning in known)}
    return known + [
        doubt
        for evidence in group.evidence
        if evidence.output is not None
        for doubt in step_warnings(evidence.step, group.rows, evidence.output, HostFacts(), None)
        if doubt.code not in codes
    ]


def _like(group: StepGroup) -> tuple[str, ...]:
    """The disks whose credit bucket resembles the one that ran out: a bucket of bytes where blocks
    are large."""
    course = group.phases
    if course is None or not course.cliffs:
        return ()
    fall = course.cliffs[0]
    figures = (fall.before, fall.after, fall.credits)
    if course.figure == "bytes_per_s":
        return like(*figures, counts="bytes")
    block = group.load.block_bytes if group.load is not None else 0
    if block < SHOWN_AS_BYTES:
        return like(*figures)
    return like(*figures) or like(*(value * block for value in figures), counts="bytes")


def _two_latencies(group: StepGroup) -> tuple[Reason, ...]:
    """A note where the I/Os of a step are of two kinds, quick and slow ones."""
    for row in (row for rows in group.rounds for row in rows):
        if two_latencies(row.p50_ns, row.p99_ns):
            quick, slow = format_latency_ns(row.p50_ns), format_latency_ns(row.p99_ns)
            ends = f"half take up to {quick}, one in a hundred {slow} or more"
            words = f"the latency of its {row.direction}s has two modes: {ends}"
            queued = "I/Os that wait for a limiter or a flush are slow together"
            advice = f"{queued}: measure at a lower rate"
            return (doubts.TWO_MODES.reason(words, weight="note", advice=advice),)
    return ()


def counted_otherwise(group: StepGroup) -> tuple[Reason, ...]:
    """A reason where the device's count of I/Os differs from fio's by more than 5 %. Nothing for
    buffered I/O, without samples, or where the device's bytes differ from fio's, too.

    The kernel splits blocks that are larger than its or the driver's largest request, and may merge
    small sequential ones. Both change the number of I/Os that a cloud counts, but no figure of
    fio's (MR-12)."""
    load = group.load
    if load is None or not load.direct:
        return ()
    ios = device = moved = device_bytes = 0
    by_index = {evidence.step.index: evidence.samples for evidence in group.evidence}
    for row in (row for rows in group.rounds for row in rows):
        if row.direction not in ("read", "write") or row.ios is None or row.bytes is None:
            return ()
        size, count = _of_device(by_index.get(row.step_index), row.direction)
        if count is None or size is None:
            return ()
        ios, moved = ios + row.ios, moved + row.bytes
        device, device_bytes = device + count, device_bytes + size
    if not ios or not moved or not device or abs(device_bytes / moved - 1) > ALIKE:
        return ()
    per_io = device / ios
    if abs(per_io - 1) <= ALIKE:
        return ()
    doubt, how = doubts.REQUESTS_MERGED, "merged"
    if per_io > 1:
        doubt, how = doubts.REQUESTS_SPLIT, "split"
    requests = f"requests of {format_bytes(round(device_bytes / device))}"
    words = f"blocks of {format_bytes(load.block_bytes)} were {how} into {requests}"
    counted = f"the device counted {per_io:.2g} I/Os a block, and the cloud may do the same"
    return (doubt.reason(f"{words}: {counted}"),)

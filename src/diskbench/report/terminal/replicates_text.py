"""Replicates for a terminal: a line a step with its median and the interval of that, and what to
know before believing it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from diskbench.model.doubts import doubt_words
from diskbench.report.terminal.compare_text import figure_text, replicated_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.replicates import ReplicateLine, Replicates
    from diskbench.model.verdict import StepVerdict

_APART = 0.10
"""As in `compare`: runs of a trial that differ by more are told."""


def replicate_lines(found: Replicates, *, width: int = 80) -> Iterator[str]:
    """All blocks in their order, then the trials on machines that were not themselves."""
    count = f"{found.trials} trial{'s'[: found.trials != 1]}"
    yield from wrapped("", ", ".join((f"{found.asked}: {count}", *found.marks)), width)
    if not found.lines and not found.left_out:
        told = "no finished run of it has figures; logs without fio's JSON have levels alone: "
        yield from wrapped("", f"{told}diskbench results show RUN", width)
    for block, lines in groupby(found.lines, key=lambda one: one.block):
        yield ""
        yield from wrapped("", block, width)
        for one in lines:
            yield from _line(one, width)
    if found.flagged or found.left_out:
        yield ""
    for flagged in found.flagged:
        told = f"{flagged.trial_id} was on a machine that was not itself: {'; '.join(flagged.why)}"
        yield from wrapped("! ", told, width)
    for text in found.left_out:
        yield from wrapped("no figure  ", text, width)


def _line(one: ReplicateLine, width: int) -> Iterator[str]:
    show = figure_text(one.metric)
    facts = ", ".join(f"{name} {value}" for name, value in one.facts)
    head = f"  {one.step} {one.direction}"
    yield from wrapped("", f"{head}, on {facts}" if facts else head, width)
    yield from wrapped("    ", replicated_text(one.replicated, show), width)
    if one.verdict is not None:
        yield from wrapped("    = ", _verdict(one.verdict), width)
    if one.after_cliff:
        told = f"level after the cliff in {one.after_cliff} of {one.replicated.trials} trials"
        yield from wrapped("    ! ", f"{told} ({one.level}), no mean over both", width)
    if one.replicated.machines < one.replicated.trials:
        machines = one.replicated.machines
        told = f"{one.replicated.trials} trials are of {machines} machine{'s'[: machines != 1]}"
        yield from wrapped("    ! ", f"{told}: those are the samples", width)
    if one.apart > _APART:
        told = f"runs of one trial differ by up to {one.apart * 100:.0f} %"
        yield from wrapped("    ! ", f"{told}: a trial counts as the median of its runs", width)
    if one.without is not None:
        told = f"without what a canary flags: {replicated_text(one.without, show)}"
        yield from wrapped("    ! ", told, width)


def _verdict(one: StepVerdict) -> str:
    """`73 % of what was promised (65 % to 80 %), limited by disk IOPS, doubtful: too short`."""
    parts = []
    if one.ratio is not None:
        told = f"{one.ratio * 100:,.0f} % of what was promised"
        if one.interval is not None:
            told += f" ({one.interval.low * 100:,.0f} % to {one.interval.high * 100:,.0f} %)"
        parts.append(told)
    if one.limiter.name != "unknown":
        parts.append(f"limited by {one.limiter.words()}")
    why = doubt_words(one.reasons, "no", "doubtful")
    believed = "believed" if one.believe == "yes" else f"{one.believe}: {why}"
    return f"{', '.join([*parts, believed])}"

"""Replicates for a terminal: a line per step with its median, the interval and its doubts."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from diskbench.model.doubts import doubt_words
from diskbench.model.ids import short
from diskbench.report.terminal.compare_text import figure_text, replicated_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.campaign import ReplicateLine, Replicates
    from diskbench.model.verdict import StepVerdict

_EMULATED = (
    "emulated disks share the physical machine that emulates them: their interval shows how that "
    "machine varies, not how the disks of a cloud do"
)
_APART = 0.10
"""Runs of a trial that differ by more are reported, as in `compare`."""


def replicate_lines(replicates: Replicates, *, width: int = 80) -> Iterator[str]:
    """All blocks in order, then the trials whose machine a canary flagged."""
    count = f"{replicates.trials} trial{'s'[: replicates.trials != 1]}"
    yield from wrapped("", ", ".join((f"{replicates.asked}: {count}", *replicates.marks)), width)
    if "emulated" in replicates.marks and replicates.trials > 1:
        yield from wrapped("! ", _EMULATED, width)
    if not replicates.lines and not replicates.left_out:
        sentence = "no finished run of it has figures; logs without fio's JSON have only levels: "
        yield from wrapped("", f"{sentence}diskbench results show RUN", width)
    for block, lines in groupby(replicates.lines, key=lambda line: line.block):
        yield ""
        yield from wrapped("", block, width)
        for line in lines:
            yield from _line(line, width)
    if replicates.flagged or replicates.left_out:
        yield ""
    for flagged in replicates.flagged:
        sentence = (
            f"{short(flagged.trial_id)} was on a machine whose canary differs from the others: "
            f"{'; '.join(flagged.why)}"
        )
        yield from wrapped("! ", sentence, width)
    for text in replicates.left_out:
        yield from wrapped("no figure  ", text, width)


def _line(line: ReplicateLine, width: int) -> Iterator[str]:
    show = figure_text(line.metric)
    facts = ", ".join(f"{name} {value}" for name, value in line.facts)
    head = f"  {line.step} {line.direction}"
    yield from wrapped("", f"{head}, on {facts}" if facts else head, width)
    yield from wrapped("    ", replicated_text(line.replicated, show), width)
    if line.verdict is not None:
        yield from wrapped("    = ", _verdict(line.verdict), width)
    if line.after_cliff:
        text = f"level after the cliff in {line.after_cliff} of {line.replicated.trials} trials"
        yield from wrapped("    ! ", f"{text} ({line.level}), no mean over both", width)
    if line.replicated.machines < line.replicated.trials:
        machines = line.replicated.machines
        text = f"{line.replicated.trials} trials are of {machines} machine{'s'[: machines != 1]}"
        yield from wrapped("    ! ", f"{text}: only machines count as samples", width)
    if line.apart > _APART:
        text = f"runs of one trial differ by up to {line.apart * 100:.0f} %"
        yield from wrapped("    ! ", f"{text}: a trial counts as the median of its runs", width)
    if line.without is not None:
        text = f"without what a canary flags: {replicated_text(line.without, show)}"
        yield from wrapped("    ! ", text, width)


def _verdict(verdict: StepVerdict) -> str:
    """`73 % of what was promised (65 % to 80 %), limited by disk IOPS, with care: too short`."""
    parts = []
    if verdict.ratio is not None:
        text = f"{verdict.ratio * 100:,.0f} % of what was promised"
        if verdict.interval is not None:
            text += (
                f" ({verdict.interval.low * 100:,.0f} % to {verdict.interval.high * 100:,.0f} %)"
            )
        parts.append(text)
    if verdict.limiter.name != "unknown":
        parts.append(f"limited by {verdict.limiter.words()}")
    why = doubt_words(verdict.reasons, "no", "with care")
    trusted = "trusted" if verdict.trust == "yes" else f"{verdict.trust}: {why}"
    return f"{', '.join([*parts, trusted])}"

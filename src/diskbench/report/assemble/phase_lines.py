"""Phases in words: one line a phase, with its level and its time, and a cliff in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diskbench.units import format_iops, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.model.phase import Phase, StepPhases

MOST_LINES = 24
_MOST_STALLS = 3


def phase_lines(found: Sequence[StepPhases]) -> list[str]:
    """The phases of each step: its name with how steady it ended, a line a phase, and its stalls.

    Of several runs, and past the room that there is, only steps are told that did more than keep
    one level. Empty for steps of one level that were too short to be called steady.
    """
    runs = list(dict.fromkeys(one.run_id for one in found))
    told = [one for one in found if is_eventful(one) or one.steady.state != "too short"]
    if len(runs) > 1 or sum(len(one.phases) + 1 for one in told) > MOST_LINES:
        told = [one for one in told if is_eventful(one)]
    lines: list[str] = []
    for number, one in enumerate(told):
        if len(lines) + len(one.phases) + 1 > MOST_LINES and lines:
            lines.append(f"{len(told) - number} more steps have phases: --output json")
            break
        run = f" (run {runs.index(one.run_id) + 1})" if len(runs) > 1 else ""
        rounds = f" in {one.rounds} rounds" if one.rounds else ""
        lines.append(f"{one.step}{run}: {one.steady.words()}{rounds}")
        lines += _columns(one)
        if one.stalls:
            lines.append(f"  {_stalls(one)}")
    return lines


def is_eventful(found: StepPhases) -> bool:
    """Whether a step did more than keep one level."""
    return len(found.phases) > 1 or bool(found.stalls)


def cliff_words(found: Sequence[StepPhases]) -> str:
    """`burst 3,000 for 31:02 of randread, then baseline 100`, of the first step in which credit
    ran out; empty where there is none."""
    for one in found:
        kinds = [phase.kind for phase in one.phases]
        if "burst" not in kinds or "baseline" not in kinds:
            continue
        burst, baseline = one.phases[kinds.index("burst")], one.phases[kinds.index("baseline")]
        if one.cliffs and burst.start_s < baseline.start_s:
            lasted = clock(baseline.start_s - burst.start_s)
            return (
                f"burst {_level(burst)} for {lasted} of {one.step}, "
                f"then baseline {_level(baseline)}"
            )
    return ""


def clock(seconds: float) -> str:
    """`31:02`, or `1:31:02` from an hour on."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def _columns(found: StepPhases) -> list[str]:
    rows = [
        (
            phase.kind,
            f"{clock(phase.start_s)}–{clock(phase.end_s)}",
            *_figures(phase),
        )
        for phase in found.phases
    ]
    wide = [max(len(row[i]) for row in rows) for i in range(4)] if rows else []
    return [
        f"  {kind:<8} {when:>{wide[1]}}  {iops:>{wide[2]}}  {speed:>{wide[3]}}".rstrip()
        for kind, when, iops, speed in rows
    ]


def _figures(phase: Phase) -> tuple[str, str]:
    if phase.from_iops is not None and phase.to_iops is not None:
        iops = f"{format_iops(phase.from_iops)} → {format_iops(phase.to_iops)} IOPS"
    else:
        iops = f"{format_iops(phase.iops)} IOPS" if phase.iops is not None else ""
    speed = phase.bytes_per_s
    return iops, f"{format_mb_per_s(speed)} MB/s" if speed is not None else ""


def _level(phase: Phase) -> str:
    if phase.iops is not None:
        return format_iops(phase.iops)
    return f"{format_mb_per_s(phase.bytes_per_s or 0.0)} MB/s"


def _stalls(found: StepPhases) -> str:
    longest = sorted(found.stalls, key=lambda one: -one.seconds)[:_MOST_STALLS]
    first = sorted(longest, key=lambda one: one.start_s)
    told = ", ".join(f"{one.seconds:.0f} s at {clock(one.start_s)}" for one in first)
    count = len(found.stalls)
    if count == 1:
        return f"1 stall: {told}"
    total = sum(one.seconds for one in found.stalls)
    longest_of = "" if count <= _MOST_STALLS else ", the longest"
    return f"{count} stalls, {total:.0f} s in all{longest_of}: {told}"

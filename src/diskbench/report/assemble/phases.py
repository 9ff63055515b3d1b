"""The phases of steps as text: lines for a terminal, rows for a page, a cliff and the stalls as
sentences."""

from collections.abc import Iterator, Sequence

from diskbench.model.phase import StepPhases
from diskbench.report.assemble.words import NONE, rate_words
from diskbench.units import counted, format_iops, format_mb_per_s

MOST_LINES = 24
_MOST_STALLS = 3


def phase_lines(steps: Sequence[StepPhases]) -> list[str]:
    """The phases of each step: its name and steadiness, a line per phase, and its stalls.

    With several runs or too many lines, only steps with several phases or stalls are shown. Empty
    for steps of one level that were too short to be called steady.
    """
    runs = list(dict.fromkeys(step.run_id for step in steps))
    shown = [step for step in steps if _is_eventful(step) or step.steady.state != "too short"]
    if len(runs) > 1 or sum(len(step.phases) + 1 for step in shown) > MOST_LINES:
        shown = [step for step in shown if _is_eventful(step)]
    lines: list[str] = []
    for number, step in enumerate(shown):
        if len(lines) + len(step.phases) + 1 > MOST_LINES and lines:
            lines.append(
                f"{counted(len(shown) - number, 'more step')} with phases (all: --output json)"
            )
            break
        run = f" (run {runs.index(step.run_id) + 1})" if len(runs) > 1 else ""
        rounds = f" in {step.rounds} rounds" if step.rounds else ""
        lines.append(f"{step.step}{run}: {step.steady.words()}{rounds}")
        lines += _columns(step)
        if step.stalls:
            lines.append(f"  {_stalls(step)}")
    return lines


def _is_eventful(step: StepPhases) -> bool:
    return len(step.phases) > 1 or bool(step.stalls)


def cliff_words(steps: Sequence[StepPhases]) -> str:
    """`burst of 3,000 IOPS for 31:02 in randread, then a baseline of 100 IOPS`, for the first step
    in which credit was used up; empty if there is none."""
    for step in steps:
        first = {phase.kind: phase for phase in reversed(step.phases)}
        burst, baseline = first.get("burst"), first.get("baseline")
        if step.cliffs and burst and baseline and burst.start_s < baseline.start_s:
            lasted = clock(baseline.start_s - burst.start_s)
            rates = [rate_words(level.iops, level.bytes_per_s) for level in (burst, baseline)]
            return f"burst of {rates[0]} for {lasted} in {step.step}, then a baseline of {rates[1]}"
    return ""


def clock(seconds: float) -> str:
    """`31:02`, or `1:31:02` from an hour on."""
    hours, below_hour = divmod(round(seconds), 3600)
    minutes, clock_s = divmod(below_hour, 60)
    return f"{hours}:{minutes:02}:{clock_s:02}" if hours else f"{minutes}:{clock_s:02}"


def _columns(step: StepPhases) -> list[str]:
    rows = []
    for _, _, _, when, iops, speed in phase_rows(step, ()):
        figures = ((iops, "IOPS"), (speed, "MB/s"))
        rows.append((when, *("" if of == NONE else f"{of} {unit}" for of, unit in figures)))
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = ("  ".join(map(str.rjust, row, wide)) for row in rows)
    return [f"  {of.kind:<8} {row}".rstrip() for of, row in zip(step.phases, cells, strict=True)]


def _stalls(step: StepPhases) -> str:
    longest = sorted(step.stalls, key=lambda stall: -stall.seconds)[:_MOST_STALLS]
    first = sorted(longest, key=lambda stall: stall.start_s)
    words = ", ".join(f"{stall.seconds:.0f} s at {clock(stall.start_s)}" for stall in first)
    count, total = len(step.stalls), sum(stall.seconds for stall in step.stalls)
    longest_of = "" if count <= _MOST_STALLS else ", the longest"
    lead = "1 stall" if count == 1 else f"{count} stalls, {total:.0f} s in all{longest_of}"
    return f"{lead}: {words}"


def phase_rows(step: StepPhases, run_ids: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A row per phase of a step, in order: the step (of several runs with its number), its
    steadiness, set only in the first row, the kind of phase, when, IOPS and MB/s."""
    several = len(run_ids) > 1 and step.run_id in run_ids
    run = f", run {run_ids.index(step.run_id) + 1}" if several else ""
    for number, phase in enumerate(step.phases):
        steady = "" if number else step.steady.words()
        iops = NONE if phase.iops is None else format_iops(phase.iops)
        if phase.from_iops is not None and phase.to_iops is not None:
            iops = f"{format_iops(phase.from_iops)} → {format_iops(phase.to_iops)}"
        speed = NONE if phase.bytes_per_s is None else format_mb_per_s(phase.bytes_per_s)
        when = f"{clock(phase.start_s)}–{clock(phase.end_s)}"
        yield f"{step.step}{run}", steady, phase.kind, when, iops, speed

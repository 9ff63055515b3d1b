"""Comparisons for a terminal.

two selections    both figures, the conclusion and its doubts
a history         when a level changed, and the smallest detectable change
replicates        a line per step with its median, the interval and its doubts
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from diskbench.analysis.compare_sentence import percent
from diskbench.model.campaign import ReplicateLine, Replicates
from diskbench.model.comparison import Compared, Comparison, Finding, Metric, Replicated
from diskbench.model.doubts import doubt_words
from diskbench.model.history import History, LevelChange
from diskbench.model.ids import short
from diskbench.model.verdict import StepVerdict
from diskbench.report.assemble.words import (
    NO_INTERVAL,
    bare_text,
    change_text,
    counted,
    difference_text,
    figure_text,
    local_time,
    noise_text,
    nothing_text,
    times,
    utc_moment,
)
from diskbench.report.terminal.screen import aligned, sparkline, wrapped

_NARROWEST = 12
_METRICS: dict[Metric, str] = {
    "iops": "IOPS",
    "bytes_per_s": "MB/s",
    "lat_mean_ns": "mean",
    "p50_ns": "p50",
    "p99_ns": "p99",
    "p99_9_ns": "p99.9",
}
_SIGNS: dict[Finding, str] = {"noise": "~", "too few": "?", "alike": "="}
_SIGN_WORDS = {
    "~": "may be chance",
    "=": "alike within 5 %",
    "?": "at least 6 pairs are needed for a test",
}


def compare_lines(
    comparison: Comparison, *, width: int = 80, verbose: bool = False
) -> Iterator[str]:
    """A table for each block of comparisons, its doubts, then what was not compared. `verbose` adds
    the replicates of both sides and each conclusion in words."""
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        asked = f"{side.asked}: {counted(len(side.trials), 'trial')}"
        yield f"{name}  {', '.join((asked, *side.marks))}"
    signs: set[str] = set()
    for block, group in groupby(comparison.compared, key=lambda line: line.block):
        lines = list(group)
        yield ""
        yield from wrapped("", block, width)
        differences = dict.fromkeys(difference for line in lines for difference in line.differences)
        yield from wrapped("  differ in ", "; ".join(map(difference_text, differences)), width)
        yield from _table(lines, width)
        signs |= {sign for line in lines if (sign := _SIGNS.get(line.finding, ""))}
        for doubt, steps in _doubts(lines).items():
            yield from wrapped("! ", doubt if not steps else f"{', '.join(steps)}: {doubt}", width)
        if verbose:
            # Of a figure measured once a side the table has said all.
            for line in lines:
                if line.a.trials > 1 or line.b.trials > 1:
                    yield from _in_words(line, width)
    if signs:
        yield ""
        yield "   ".join(f"{sign} {_SIGN_WORDS[sign]}" for sign in _SIGN_WORDS if sign in signs)
    tests = sum(1 for line in comparison.compared if line.q is not None)
    if verbose and tests > 1:
        yield ""
        yield from wrapped(
            "", f"{tests} comparisons, those of each figure judged together: of those called "
            "different at most 5 % are so by chance (Benjamini-Hochberg)", width,
        )  # fmt: skip
    if comparison.not_compared:
        yield ""
        yield "not compared"
    for unmatched in comparison.not_compared:
        yield from wrapped("  ", f"{unmatched.block}: {unmatched.why}", width)


def _table(lines: Sequence[Compared], width: int) -> Iterator[str]:
    """A row for each figure of each step: both sides and their change; where the median of the
    pairs' changes is another, that too; its interval, and p."""
    counts = {(line.n, line.blocks) for line in lines}
    of_pairs = any(percent(line.ratio) != percent(line.of_medians) for line in lines)
    between = ("in pairs",) if of_pairs else ()
    rows: list[tuple[str, ...]] = [
        ("step", "", "A", "B", "change", *between, _interval_head(counts), "p")
    ]
    before = None
    for line in lines:
        place = line.step, line.direction
        name = "" if place == before else " ".join(dict.fromkeys(place)).ljust(_NARROWEST)
        before = place
        show = bare_text(line.metric)
        rows.append(
            (
                name,
                _METRICS[line.metric],
                show(line.a.median),
                show(line.b.median),
                *_changes(line, of_pairs=of_pairs),
                _interval(line, alone=len(counts) == 1),
                "–" if line.p is None else f"{line.p:.3f}",
            )
        )
    yield from aligned(rows, right=range(2, len(rows[0])), least={0: _NARROWEST}, width=width)


def _changes(line: Compared, *, of_pairs: bool) -> tuple[str, ...]:
    """The change of the figures that are shown, and that of the pairs. The sign of the finding
    stands beside the one that it is about."""
    of_ratio = f"{_SIGNS.get(line.finding, '')} {percent(line.ratio)}".strip()
    return (percent(line.of_medians), of_ratio) if of_pairs else (of_ratio,)


def _interval_head(counts: set[tuple[int, bool]]) -> str:
    """The head of the column of intervals, with n if it is the same for all rows."""
    if len(counts) != 1:
        return "95 % interval"
    ((n, blocks),) = counts
    return f"95 %, {counted(n, 'block')}" if blocks else f"95 %, n = {n}"


def _interval(line: Compared, *, alone: bool) -> str:
    if line.interval is None:
        return "too few" if alone else f"too few, n = {line.n}"
    low, high = (percent(end).removesuffix(" %") for end in (line.interval.low, line.interval.high))
    return f"{low} to {high}" + ("" if alone else f", n = {line.n}")


def _doubts(lines: Sequence[Compared]) -> dict[str, list[str]]:
    """Each doubt once, with the steps that it is about, and with the figures where it is not about
    all of them; nothing where it is about all lines."""
    by_doubt: dict[str, dict[str, list[str]]] = {}
    figures: dict[str, list[str]] = {}
    for line in lines:
        step, figure = f"{line.step} {line.direction}", _METRICS[line.metric]
        figures.setdefault(step, []).append(figure)
        for doubt in line.doubts:
            by_doubt.setdefault(doubt, {}).setdefault(step, []).append(figure)
    return {
        doubt: []
        if of == figures
        else [
            step if some == figures[step] else f"{step} ({', '.join(some)})"
            for step, some in of.items()
        ]
        for doubt, of in by_doubt.items()
    }


def _in_words(compared: Compared, width: int) -> Iterator[str]:
    """The replicates of both sides of one figure, and the conclusion."""
    show = figure_text(compared.metric)
    yield f"  {compared.step} {compared.direction}, {_METRICS[compared.metric]}"
    yield from wrapped("    A  ", replicated_text(compared.a, show), width)
    yield from wrapped("    B  ", replicated_text(compared.b, show), width)
    yield from wrapped("    = ", compared.sentence, width)


def replicated_text(figure: Replicated, show: Callable[[float], str]) -> str:
    """`2,985 IOPS (2,970 to 3,010, n = 10), CoV 0.8 %`; without an interval it says so, and how
    many more replicates would give a narrow interval."""
    between = (
        f"{show(figure.interval.low)} to {show(figure.interval.high)}, n = {figure.machines}"
        if figure.interval
        else NO_INTERVAL.format(n=figure.machines)
    )
    middle = show(figure.median)
    parts = [f"{middle} ({between})" if figure.interval else f"{middle}, {between}"]
    if figure.variation is not None:
        parts.append(f"CoV {figure.variation * 100:.1f} %")
    if figure.more is None:
        parts.append("too noisy for ±5 %")
    elif figure.more:
        repeats = counted(figure.more, "more machine")
        parts.append(
            f"±5 % needs {repeats}" if figure.interval else f"measure {repeats}, ten in all"
        )
    if figure.outliers:
        parts.append(f"far off: {', '.join(figure.outliers)}")
    return ", ".join(parts)


_SPARK = 40


def regression_lines(
    histories: Iterable[History], undated: Collection[str] = (), *, width: int = 80
) -> Iterator[str]:
    """Histories with changes, the largest change first; then those without. Of each only its lines
    are kept. `undated` are trials that have no place in one, known when all histories are."""
    changed: list[tuple[float, list[str]]] = []
    steady: list[str] = []
    for history in histories:
        if history.changes:
            largest = max(abs(change.change) for change in history.changes)
            changed.append((-largest, [*_history(history, width), ""]))
        else:
            limits = "" if history.visible is None else f", {_limits(history)}"
            steady += wrapped("", f"{_name(history)}: {nothing_text(history)}{limits}", width)
    for _, lines in sorted(changed, key=itemgetter(0)):
        yield from lines
    yield from steady
    if undated:
        text = f"{', '.join(undated)}: the time of measurement is not known"
        yield from wrapped("", f"left out, because they have no date: {text}", width)


def notice(histories: Sequence[History]) -> str:
    """What to tell a team of the changes for the worse that the newest time showed, a line each;
    empty where there is none. Plain text, which Slack and Mattermost show as it is."""
    lines = [
        f"• {_name(history)}: {_level(history, change)}, since {utc_moment(change.at)}"
        + "".join(f"; {difference_text(difference)}" for difference in change.differences)
        for history in histories
        for change in history.changes
        if change.new and change.regression
    ]
    if not lines:
        return ""
    return "\n".join([f"diskbench: {counted(len(lines), 'figure')} became worse", *lines])


def _level(history: History, change: LevelChange) -> str:
    """`3,039 IOPS → 2,674 IOPS (−12.0 %)`."""
    show = figure_text(history.metric)
    before, after = show(change.median_before), show(change.median_after)
    return f"{before} → {after} ({change_text(change.change)})"


def _history(history: History, width: int) -> Iterator[str]:
    yield from wrapped("", f"{_name(history)}: measured {times(len(history.points))}", width)
    yield f"  {sparkline([point.value for point in history.points][-_SPARK:])}"
    for change in history.changes:
        yield from wrapped(
            "  ",
            f"{local_time(change.at)}  {'worse' if change.regression else 'better'}: "
            f"{_level(history, change)}, measured {times(change.since)} since, "
            f"the last before it was {local_time(change.before)}",
            width,
        )
        if change.differences:
            text = "; ".join(difference_text(difference) for difference in change.differences)
            yield from wrapped("    what changed with it: ", text, width)
    yield from wrapped("  ", f"{noise_text(history)}, {_limits(history)}", width)


def _name(history: History) -> str:
    return f"{history.block}, {history.step} {history.direction}"


def _limits(history: History) -> str:
    """How far its figures lie apart, and what was left out."""
    parts = [f"(max − min) / median {history.span * 100:.0f} %"]
    if history.after_cliff:
        parts.append(f"of {history.after_cliff} trials the level after a cliff counts")
    if out := sum(point.left_out for point in history.points):
        parts.append(
            f"{out} trials were left out: another machine or level than the others of their time "
            "(--pool counts them)"
        )
    return "; ".join(parts)


_EMULATED = (
    "emulated disks share the physical machine that emulates them: their interval shows how that "
    "machine varies, not how the disks of a cloud do"
)
_APART = 0.10
"""Runs of a trial that differ by more are reported, as in `compare`."""


def replicate_lines(replicates: Replicates, *, width: int = 80) -> Iterator[str]:
    """All blocks in order, then the trials whose machine a canary flagged."""
    asked = f"{replicates.asked}: {counted(replicates.trials, 'trial')}"
    yield from wrapped("", ", ".join((asked, *replicates.marks)), width)
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
        if line.verdict.kept is not None:
            yield from wrapped("    = ", line.verdict.kept.words(), width)
    if line.after_cliff:
        text = f"level after the cliff in {line.after_cliff} of {line.replicated.trials} trials"
        yield from wrapped("    ! ", f"{text} ({line.level}), no mean over both", width)
    if line.replicated.machines < line.replicated.trials:
        machines = counted(line.replicated.machines, "machine")
        text = f"{line.replicated.trials} trials are of {machines}"
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

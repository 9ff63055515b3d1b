"""Comparisons for a terminal: both figures of two selections with the conclusion; when a level
changed, and the smallest detectable change; replicates with median, interval and doubts."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from diskbench.analysis.compare import percent
from diskbench.model.campaign import ReplicateLine, Replicates
from diskbench.model.comparison import Compared, Comparison, Finding, Metric, Replicated
from diskbench.model.doubts import doubt_words
from diskbench.model.history import History, LevelChange
from diskbench.model.ids import line_number, short
from diskbench.model.verdict import StepVerdict
from diskbench.report.assemble.words import (
    NO_INTERVAL,
    bare_text,
    change_text,
    difference_text,
    figure_text,
    local_time,
    utc_moment,
)
from diskbench.report.terminal.layout import aligned, sparkline, wrapped
from diskbench.units import counted, times

_NARROWEST = 12
_METRICS: dict[Metric, str] = {
    "iops": "IOPS", "bytes_per_s": "MB/s", "lat_mean_ns": "mean", "p50_ns": "p50", "p99_ns": "p99",
    "p99_9_ns": "p99.9",
}  # fmt: skip
_SIGNS: dict[Finding, str] = {"noise": "~", "too few": "?", "alike": "="}
_OF_PAIRS = (
    "change = from the median of A to that of B; in pairs = the median of the changes within pairs "
    "measured together, which decides: interval and p are for it"
)
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
        sign = "" if line_number(side.asked) is None else "#"
        asked = f"{sign}{side.asked}: {counted(len(side.trials), 'trial')}"
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
        for doubt in _doubts(lines):
            yield from wrapped("! ", doubt, width)
        for line in lines if verbose else ():
            # Of a figure measured once a side the table has said all.
            if line.a.trials > 1 or line.b.trials > 1:
                show = figure_text(line.metric)
                yield f"  {line.step} {line.direction}, {_METRICS[line.metric]}"
                yield from wrapped("    A  ", replicated_text(line.a, show), width)
                yield from wrapped("    B  ", replicated_text(line.b, show), width)
                yield from wrapped("    = ", line.sentence, width)
    if any(percent(line.ratio) != percent(line.of_medians) for line in comparison.compared):
        yield ""
        yield from wrapped("", _OF_PAIRS, width)
    if signs:
        yield ""
        yield "   ".join(f"{sign} {_SIGN_WORDS[sign]}" for sign in _SIGN_WORDS if sign in signs)
    tests = sum(1 for line in comparison.compared if line.q is not None)
    if verbose and tests > 1:
        yield ""
        yield from wrapped(
            "", f"{tests} comparisons, corrected for each figure: at most 5 % of the differences "
            "called real are due to chance (Benjamini-Hochberg)", width,
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
    head = "95 % interval"
    if len(counts) == 1:
        ((n, blocks),) = counts
        head = f"95 %, {counted(n, 'block')}" if blocks else f"95 %, n = {n}"
    of_pairs = any(percent(line.ratio) != percent(line.of_medians) for line in lines)
    between = ("in pairs",) if of_pairs else ()
    rows: list[tuple[str, ...]] = [("step", "", "A", "B", "change", *between, head, "p")]
    before = None
    for line in lines:
        place = line.step, line.direction
        name = "" if place == before else " ".join(dict.fromkeys(place)).ljust(_NARROWEST)
        before = place
        sides = map(bare_text(line.metric), (line.a.median, line.b.median))
        # The sign of the finding stands beside the change that it is about.
        of_ratio = f"{_SIGNS.get(line.finding, '')} {percent(line.ratio)}".strip()
        changes = (percent(line.of_medians), of_ratio) if of_pairs else (of_ratio,)
        p = "–" if line.p is None else f"{line.p:.3f}"
        interval = "too few"
        if line.interval is not None:
            low, high = map(percent, (line.interval.low, line.interval.high))
            interval = f"{low.removesuffix(' %')} to {high.removesuffix(' %')}"
        interval += "" if len(counts) == 1 else f", n = {line.n}"
        rows.append((name, _METRICS[line.metric], *sides, *changes, interval, p))
    yield from aligned(rows, right=range(2, len(rows[0])), least={0: _NARROWEST}, width=width)


def _doubts(lines: Sequence[Compared]) -> Iterator[str]:
    """Each doubt once, with the steps that it is about, and with the figures where it is not about
    all of them; nothing where it is about all lines."""
    by_doubt: dict[str, dict[str, list[str]]] = {}
    figures: dict[str, list[str]] = {}
    for line in lines:
        step, figure = f"{line.step} {line.direction}", _METRICS[line.metric]
        figures.setdefault(step, []).append(figure)
        for doubt in line.doubts:
            by_doubt.setdefault(doubt, {}).setdefault(step, []).append(figure)
    for doubt, of in by_doubt.items():
        steps = [
            step if some == figures[step] else f"{step} ({', '.join(some)})"
            for step, some in of.items()
        ]
        yield doubt if of == figures else f"{', '.join(steps)}: {doubt}"


def replicated_text(figure: Replicated, show: Callable[[float], str]) -> str:
    """`2,985 IOPS (2,970 to 3,010, n = 10), CoV 0.8 %`; without an interval it says so, and how
    many more replicates would give a narrow interval."""
    middle, n, interval = show(figure.median), figure.machines, figure.interval
    parts = [f"{middle}, {NO_INTERVAL.format(n=n)}"]
    if interval:
        parts = [f"{middle} ({show(interval.low)} to {show(interval.high)}, n = {n})"]
    if figure.variation is not None:
        parts.append(f"CoV {figure.variation * 100:.1f} %")
    if figure.more is None:
        parts.append("too noisy for ±5 %")
    elif figure.more:
        repeats = counted(figure.more, "more machine")
        parts.append(f"±5 % needs {repeats}" if interval else f"measure {repeats}, ten in all")
    if figure.outliers:
        parts.append(f"outliers: {', '.join(figure.outliers)}")
    return ", ".join(parts)


def regression_lines(
    histories: Iterable[History], undated: Collection[str] = (), *, width: int = 80
) -> Iterator[str]:
    """Histories with changes, the largest change first; then those without; then how many have too
    few measurements. Of each only its lines are kept. `undated` are trials that have no place in
    one, known when all histories are."""
    changed: list[tuple[float, list[str]]] = []
    steady: list[str] = []
    few: list[int] = []
    for history in histories:
        if history.changes:
            largest = max(abs(change.change) for change in history.changes)
            changed.append((-largest, [*_history(history, width), ""]))
        elif history.visible is None:
            few.append(len(history.points))
        else:
            text = f"{_name(history)}: {history.nothing_words()}, {_limits(history)}"
            steady += wrapped("", text, width)
    for _, lines in sorted(changed, key=itemgetter(0)):
        yield from lines
    yield from steady
    if few:
        text = f"{counted(len(few), 'figure')} measured at most {times(max(few))}"
        yield from wrapped("", f"{text}: a change needs at least six measurements", width)
    if undated:
        text = f"{', '.join(undated)}: the time of measurement is unknown"
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
    head = [f"diskbench: {counted(len(lines), 'figure')} became worse"] if lines else []
    return "\n".join([*head, *lines])


def _level(history: History, change: LevelChange) -> str:
    """`3,039 IOPS → 2,674 IOPS (−12.0 %)`."""
    show = figure_text(history.metric)
    before, after = show(change.median_before), show(change.median_after)
    return f"{before} → {after} ({change_text(change.change)})"


def _history(history: History, width: int) -> Iterator[str]:
    yield from wrapped("", f"{_name(history)}: measured {times(len(history.points))}", width)
    yield f"  {sparkline([point.value for point in history.points][-40:])}"
    for change in history.changes:
        text = f"{local_time(change.at)}  {'worse' if change.regression else 'better'}: "
        text += f"{_level(history, change)}, measured {times(change.since)} since; "
        text += f"last measured before at {local_time(change.before)}"
        yield from wrapped("  ", text, width)
        text = "; ".join(map(difference_text, change.differences))
        yield from wrapped("    what changed with it: ", text, width)
    yield from wrapped("  ", f"{history.noise_words()}, {_limits(history)}", width)


def _name(history: History) -> str:
    return f"{history.block}, {history.step} {history.direction}"


def _limits(history: History) -> str:
    """How far its figures lie apart, and what was left out."""
    parts = [f"values spread over {history.span * 100:.0f} % of the median"]
    if history.after_cliff:
        parts.append(f"for {counted(history.after_cliff, 'trial')} the level after a cliff counts")
    if out := sum(point.left_out for point in history.points):
        why = "their machine or level differs from the others of that time (--pool counts them)"
        parts.append(f"left out {counted(out, 'trial')}: {why}")
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
        of = f"the machine of {short(flagged.trial_id)} differs from the others in the CPU check: "
        yield from wrapped("! ", of + "; ".join(flagged.why), width)
    for text in replicates.left_out:
        yield from wrapped("no figure  ", text, width)


def _line(line: ReplicateLine, width: int) -> Iterator[str]:
    show = figure_text(line.metric)
    facts = ", ".join(f"{name} {value}" for name, value in line.facts)
    head, trials = f"  {line.step} {line.direction}", line.replicated.trials
    yield from wrapped("", f"{head}, on {facts}" if facts else head, width)
    yield from wrapped("    ", replicated_text(line.replicated, show), width)
    if line.verdict is not None:
        yield from wrapped("    = ", _verdict(line.verdict), width)
        if line.verdict.kept is not None:
            yield from wrapped("    = ", line.verdict.kept.words(), width)
    doubts = []
    if line.after_cliff:
        fell = f"the rate dropped in {line.after_cliff} of {trials} trials"
        doubts.append(f"{fell}: their figure is that of the {line.level}, not a mean")
    if line.replicated.machines < trials:
        machines = counted(line.replicated.machines, "machine")
        doubts.append(f"{trials} trials are of {machines}: only machines count as samples")
    if line.apart > _APART:
        apart = f"runs of one trial differ by up to {line.apart * 100:.0f} %"
        doubts.append(f"{apart}: a trial counts as the median of its runs")
    if line.without is not None:
        others = replicated_text(line.without, show)
        doubts.append(f"without trials whose machine differs in the CPU check: {others}")
    for doubt in doubts:
        yield from wrapped("    ! ", doubt, width)


def _verdict(verdict: StepVerdict) -> str:
    """`73 % of what was promised (65 % to 80 %), limited by disk IOPS, with care: too short`."""
    parts = []
    if verdict.ratio is not None:
        text = f"{verdict.ratio * 100:,.0f} % of what was promised"
        if (interval := verdict.interval) is not None:
            text += f" ({interval.low * 100:,.0f} % to {interval.high * 100:,.0f} %)"
        parts.append(text)
    if verdict.limiter.name != "unknown":
        parts.append(f"limited by {verdict.limiter.words()}")
    why = doubt_words(verdict.reasons, "no", "with care")
    trusted = "trusted" if verdict.trust == "yes" else f"{verdict.trust}: {why}"
    return ", ".join([*parts, trusted])

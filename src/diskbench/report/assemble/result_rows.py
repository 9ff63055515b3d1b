"""The table of results, measured beside promised: a value a machine (of its runs the one in the
middle), of several machines their median with its interval (MR-6) or span. A step with a cliff has
a row per level: no figure spans a cliff (MR-3), and what a month of the disk buys is what lasts.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diskbench.analysis.repeats import Sample, replicated
from diskbench.analysis.shown import limit_of, reasons_over, shown_stretch
from diskbench.analysis.trust import over_runs
from diskbench.model.verdict import Judged, Verdict, trust_words
from diskbench.parallel import grouped
from diskbench.report.assemble.lines import EMPTY, TableCell, lines, span_words
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.summary import Facts
from diskbench.report.assemble.words import NO_INTERVAL, NONE, price_words, row_id
from diskbench.units import format_iops, format_mb_per_s


@dataclass(frozen=True)
class ResultRow:
    """One step, or one level of it. `rate` are its IOPS, 0 if they are unknown; `stands` is the
    number of runs whose figure it is; `burst` says that it was measured on burst credit; `trust` is
    the judgement over its runs, `doubt` its reasons."""

    id: str
    step: str
    rate: float = 0.0
    bytes_per_s: float = 0.0
    stands: int = 0
    burst: bool = False
    when: str = ""
    iops: TableCell = EMPTY
    mb_per_s: TableCell = EMPTY
    promised: TableCell = EMPTY
    ratio: TableCell = EMPTY
    price: TableCell = EMPTY
    limiter: str = NONE
    evidence: tuple[str, ...] = ()
    trust: str = NONE
    doubt: str = ""


_Found = tuple[Facts, Verdict, Judged]
"""One level of one step of one run, with its verdict and trial."""


def result_rows(trials: Sequence[Facts], *, of: str = "") -> tuple[ResultRow, ...]:
    """A row per step and level over all trials, in the order of the steps; a row per step for
    trials without verdicts. Row ids contain `of`, by default the id of the only run, or of the
    trial."""
    name = of or trials[0].name
    levels: dict[tuple[str, str, int], list[_Found]] = {}
    for trial in trials:
        for verdict in trial.verdicts:
            of_kind: Counter[str] = Counter()
            for level in verdict.stretches:
                kind: str = level.kind or ""
                of_kind[kind] += 1
                key = (verdict.step, kind, of_kind[kind])
                levels.setdefault(key, []).append((trial, verdict, level))
    if not levels:
        return _unjudged(trials, name)
    runs = Counter(verdict.step for trial in trials for verdict in trial.verdicts)
    rows = []
    for step, of_step in grouped(levels.items(), lambda item: item[0][0]).items():
        for number, ((_, kind, _), of_level) in enumerate(of_step):
            when = _when(kind, of_level, runs[step])
            rows.append(_row(row_id(name, step, str(number or "")), step, when, of_level))
    return tuple(rows)


def shown_columns(rows: Sequence[ResultRow]) -> frozenset[str]:
    """The optional columns (`promised`, `price`) that are not empty in all rows."""
    names = ("promised", "price")
    return frozenset(of for of in names if any(getattr(row, of).text != NONE for row in rows))


def _row(id_: str, step: str, when: str, of_runs: Sequence[_Found]) -> ResultRow:
    trial, verdicts = of_runs[0][0], [verdict for _, verdict, _ in of_runs]
    levels = [level for _, _, level in of_runs]
    trust = over_runs([verdict.trust for verdict in verdicts])
    most = limit_of(levels)
    common = shown_stretch([level for level in levels if level.limiter.name == most]).limiter
    promise = next((level.promised for level in levels if level.promised is not None), None)
    promised = EMPTY
    if promise is not None:
        span = span_words(format_iops(promise.low_iops), format_iops(promise.high_iops))
        promised = TableCell(format_iops(promise.iops), small=span)
    stand = [level.kind for _, verdict, level in of_runs if verdict.stands_for is level]
    block = next((m.block_bytes for m in trial.measurements if m.step == step), None)
    iops, rate = _figure(of_runs, "iops", format_iops)
    mb_per_s, bytes_per_s = _figure(of_runs, "bytes_per_s", format_mb_per_s)
    # What is bought by the month is what lasts, not a burst.
    lasts = any(kind != "burst" for kind in stand)
    price = price_words(trial.price, rate, block) if lasts else ""
    ratio, _ = _figure(of_runs, "ratio", "{:.0%}".format)
    return ResultRow(
        id=id_, step=step, rate=rate, bytes_per_s=bytes_per_s, stands=len(stand),
        burst=all(level.kind == "burst" for level in levels), when=when, iops=iops,
        mb_per_s=mb_per_s, promised=promised, ratio=ratio,
        price=TableCell(price or NONE), limiter=common.words(), evidence=common.evidence,
        trust=trust, doubt=trust_words(trust, reasons_over(verdicts)).partition(": ")[2],
    )  # fmt: skip


def _unjudged(trials: Sequence[Facts], name: str) -> tuple[ResultRow, ...]:
    phases = [phase for trial in trials for phase in trial.phases]
    rows = []
    for line in lines([row for trial in trials for row in trial.measurements], phases):
        speed = None if line.direction == "sync" else line.bytes_per_s
        id_, cells = row_id(name, line.step, line.direction), line.cells
        step = line.step if line.direction in line.step else f"{line.step} {line.direction}"
        rate, bytes_per_s = (of.median if of else 0.0 for of in (line.iops, speed))
        rows.append(
            ResultRow(
                id_, step, rate, bytes_per_s, when=line.level or "", iops=cells["IOPS"],
                mb_per_s=cells["MB/s"],
            )
        )  # fmt: skip
    return tuple(rows)


def _when(kind: str, of_runs: Sequence[_Found], runs: int) -> str:
    """`burst 0:00–0:31`; for several runs only the level, and the number of runs that have it."""
    if runs > 1:
        return f"{kind} in {len(of_runs)} of {runs} runs".strip() if len(of_runs) < runs else kind
    _, _, level = of_runs[0]
    if level.start_s is None or level.end_s is None:
        return kind
    return f"{kind} {clock(level.start_s)}–{clock(level.end_s)}".strip()


def _figure(
    of_runs: Sequence[_Found], name: str, show: Callable[[float], str]
) -> tuple[TableCell, float]:
    """The cell of a figure of a level, over a sample per trial, which is that of its median run;
    and the figure, 0 if it is unknown."""
    by_trial = grouped(of_runs, lambda found: found[0].trial_id)
    samples = [
        Sample(trial_id, value, of[0][0].machine or trial_id)
        for trial_id, of in by_trial.items()
        if (value := getattr(shown_stretch([level for _, _, level in of]), name)) is not None
    ]
    if not samples:
        return EMPTY, 0.0
    together = replicated(samples)
    if (interval := together.interval) is not None:
        words = f"{interval.coverage:.0%}: {show(interval.low)}–{show(interval.high)}"
    elif name == "ratio":
        words = NO_INTERVAL.format(n=together.machines)
    else:
        values = [of for _, _, level in of_runs if (of := getattr(level, name)) is not None]
        words = span_words(show(min(values)), show(max(values)))
    return TableCell(show(together.median), small=words), together.median

"""The table of results: measured beside promised figures, as text.

    measured    a value a machine: of its runs the one in the middle; of several machines their
                median, with its interval from six machines on (MR-6), else the lowest and highest
    ratio       measured over promised, with the interval of the same values, or the words
                `no interval (n = …)`: runs on one disk are a series and no samples (MR-5)
    price       a month of the disk over the measured rate: of blocks up to 64 KiB per 1,000 IOPS,
                of larger ones per 100 MB/s; of what lasts, for a burst is not bought by the month

A step with a cliff has a row per level: no figure spans a cliff (MR-3). Its trust is the judgement
that holds over its runs (analysis/trust.py): one odd run of several does not decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diskbench.analysis.repeats import Sample, replicated
from diskbench.analysis.shown import limit_of, reasons_over, shown_stretch
from diskbench.analysis.trust import over_runs
from diskbench.model.comparison import Interval
from diskbench.model.verdict import Judged, Promised, Verdict, trust_words
from diskbench.report.assemble.facts import Facts
from diskbench.report.assemble.lines import EMPTY, FigureCell, lines, span_words, spread_cell
from diskbench.report.assemble.phases import clock
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
    iops: FigureCell = EMPTY
    mb_per_s: FigureCell = EMPTY
    promised: FigureCell = EMPTY
    ratio: FigureCell = EMPTY
    price: FigureCell = EMPTY
    limiter: str = NONE
    evidence: tuple[str, ...] = ()
    trust: str = NONE
    doubt: str = ""


@dataclass(frozen=True)
class _Found:
    """One level of one step of one run, with its verdict and trial."""

    trial: Facts
    verdict: Verdict
    level: Judged

    @property
    def lasts(self) -> bool:
        """Whether it is the level that stands for the step, and not a burst."""
        return self.verdict.stands_for is self.level and self.level.kind != "burst"


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
                levels.setdefault(key, []).append(_Found(trial, verdict, level))
    if not levels:
        return _unjudged(trials, name)
    steps = dict.fromkeys(step for step, _, _ in levels)
    runs = Counter(verdict.step for trial in trials for verdict in trial.verdicts)
    numbers: Counter[str] = Counter()
    rows = []
    for step, kind, _ in sorted(levels, key=lambda key: list(steps).index(key[0])):
        of_level = levels[step, kind, _]
        number = numbers[step]
        numbers[step] += 1
        when = _when(kind, of_level, runs[step])
        rows.append(_row(row_id(name, step, str(number or "")), step, when, of_level))
    return tuple(rows)


def shown_columns(rows: Sequence[ResultRow]) -> frozenset[str]:
    """The optional columns (`promised`, `price`) that are not empty in all rows."""
    columns = {"promised": [row.promised for row in rows], "price": [row.price for row in rows]}
    return frozenset(
        name for name, cells in columns.items() if any(cell.text != NONE for cell in cells)
    )


def _row(id_: str, step: str, when: str, of_runs: Sequence[_Found]) -> ResultRow:
    verdicts = [of_run.verdict for of_run in of_runs]
    levels = [of_run.level for of_run in of_runs]
    trust = over_runs([verdict.trust for verdict in verdicts])
    most = limit_of(levels)
    common = shown_stretch([level for level in levels if level.limiter.name == most])
    promise = next((level.promised for level in levels if level.promised is not None), None)
    lasts = any(of_run.lasts for of_run in of_runs)
    trial = of_runs[0].trial
    block = next((m.block_bytes for m in trial.measurements if m.step == step), None)
    iops, rate = _figure(of_runs, lambda level: level.iops, format_iops)
    mb_per_s, bytes_per_s = _figure(of_runs, lambda level: level.bytes_per_s, format_mb_per_s)
    price = price_words(trial.price, rate, block) if lasts else ""
    return ResultRow(
        id=id_,
        step=step,
        rate=rate,
        bytes_per_s=bytes_per_s,
        stands=sum(of_run.verdict.stands_for is of_run.level for of_run in of_runs),
        burst=all(level.kind == "burst" for level in levels),
        when=when,
        iops=iops,
        mb_per_s=mb_per_s,
        promised=_promised(promise) if promise else EMPTY,
        ratio=_ratio(of_runs),
        price=FigureCell(price or NONE),
        limiter=common.limiter.words(),
        evidence=common.limiter.evidence,
        trust=trust,
        doubt=trust_words(trust, reasons_over(verdicts)).partition(": ")[2],
    )


def _unjudged(trials: Sequence[Facts], name: str) -> tuple[ResultRow, ...]:
    phases = [phase for trial in trials for phase in trial.phases]
    rows = []
    for line in lines([row for trial in trials for row in trial.measurements], phases):
        speed = None if line.direction == "sync" else line.bytes_per_s
        rows.append(
            ResultRow(
                id=row_id(name, line.step, line.direction),
                step=line.step if line.direction in line.step else f"{line.step} {line.direction}",
                rate=line.iops.median if line.iops else 0.0,
                bytes_per_s=speed.median if speed else 0.0,
                when=line.level or "",
                iops=spread_cell(line.iops, format_iops),
                mb_per_s=spread_cell(speed, format_mb_per_s),
            )
        )
    return tuple(rows)


def _when(kind: str, of_runs: Sequence[_Found], runs: int) -> str:
    """`burst 0:00–0:31`; for several runs only the level, and the number of runs that have it."""
    if runs > 1:
        return f"{kind} in {len(of_runs)} of {runs} runs".strip() if len(of_runs) < runs else kind
    level = of_runs[0].level
    if level.start_s is None or level.end_s is None:
        return kind
    return f"{kind} {clock(level.start_s)}–{clock(level.end_s)}".strip()


def _samples(of_runs: Sequence[_Found], pick: Callable[[Judged], float | None]) -> list[Sample]:
    """One sample per trial: the value that `pick` takes from the level of its median run."""
    levels: dict[str, list[Judged]] = {}
    machines: dict[str, str] = {}
    for of_run in of_runs:
        levels.setdefault(of_run.trial.trial_id, []).append(of_run.level)
        machines[of_run.trial.trial_id] = of_run.trial.machine or of_run.trial.trial_id
    picked = {name: pick(shown_stretch(of)) for name, of in levels.items()}
    return [
        Sample(name, value, machines[name]) for name, value in picked.items() if value is not None
    ]


def _figure(
    of_runs: Sequence[_Found], pick: Callable[[Judged], float | None], show: Callable[[float], str]
) -> tuple[FigureCell, float]:
    """The cell of a figure, and the figure; 0 if it is unknown."""
    samples = _samples(of_runs, pick)
    if not samples:
        return EMPTY, 0.0
    together = replicated(samples)
    if together.interval is not None:
        words = _interval(together.interval, show)
    else:
        values = [value for of_run in of_runs if (value := pick(of_run.level)) is not None]
        words = span_words(show(min(values)), show(max(values)))
    return FigureCell(show(together.median), words), together.median


def _ratio(of_runs: Sequence[_Found]) -> FigureCell:
    samples = _samples(of_runs, lambda level: level.ratio)
    if not samples:
        return EMPTY
    together = replicated(samples)
    none = NO_INTERVAL.format(n=together.machines)
    words = _interval(together.interval, _percent) if together.interval else none
    return FigureCell(_percent(together.median), words)


def _interval(interval: Interval, show: Callable[[float], str]) -> str:
    return f"{interval.coverage:.0%}: {show(interval.low)}–{show(interval.high)}"


def _promised(promise: Promised) -> FigureCell:
    span = span_words(format_iops(promise.low_iops), format_iops(promise.high_iops))
    return FigureCell(format_iops(promise.iops), span)


def _percent(fraction: float) -> str:
    return f"{fraction:.0%}"

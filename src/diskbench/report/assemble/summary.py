"""What a result says first: a headline on burst and baseline, and sentences for readers who do not
know the tool. A figure above the baseline of a disk says nothing about the baseline: the seconds of
a step show the cliff, else the verdicts say in which step the credit ran out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from diskbench.analysis.shown import (
    rate_of,
    reasons_over,
    shown,
    shown_stretch,
    trust_of,
    verdicts_by_step,
)
from diskbench.analysis.sla import Sla
from diskbench.analysis.verdict import figure_words
from diskbench.catalog.bucket import Allowance, capacity, lasts_s, scaled
from diskbench.model.doubts import OTHER_DISK
from diskbench.model.expectation import DiskPrice
from diskbench.model.phase import StepPhases
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.model.verdict import LIMITER_WORDS, Judged, LimiterName, Verdict, trust_words
from diskbench.report.assemble.phases import cliff_words, clock
from diskbench.report.assemble.subject import RunFacts, Subject
from diskbench.report.assemble.threshold_lines import sla_words
from diskbench.units import counted, format_duration_s, format_iops
from diskbench.yaml_lines import packaged

_ABOVE = 1.1
"""A rate above the baseline by this factor is called a burst; our choice."""


KEPT = 0.9
"""A disk keeps its promise from this ratio on (MR-12 calls 10 % near)."""
_NOT_ASKED = frozenset({"queue-depth", "offered", "latency"})
"""Limiters that mean that the load requested less than was promised."""
_MOST_DOUBTED = 3

_WORDS = packaged("diskbench.report.assemble", "limiters.yaml")
BECAUSE: dict[LimiterName, str] = _WORDS["because"]
"""The meaning of each limiter, as the end of a sentence."""
_SHORT: dict[LimiterName, str] = _WORDS["short"]


def short_limit(name: LimiterName) -> str:
    """What limited a step, in the words of a table: `latency`."""
    return _SHORT.get(name, LIMITER_WORDS[name])


@dataclass(frozen=True)
class LastingFall:
    """A `step` that fell and stayed low: its level before and after, and how long the first level
    lasted, as text (`31 min 02 s`, `4 runs`); `at` is when it ended. `run_id` is the run in which
    the step fell; empty if it fell between two runs."""

    step: str
    before: Judged
    after: Judged
    lasted: str
    at: str
    run_id: str = ""


@dataclass(frozen=True)
class Facts:
    """One machine with one disk, its runs in order, and what they tell in words.

    `machine` identifies trials on the same machine, which count as one sample (empty: a machine of
    its own). `place` is the region and zone of the machine. `versions` are names with versions:
    diskbench, fio, kernel, catalogue. `job` is the fio job text, `again` the command that repeats
    the measurement. `price` is the monthly price of the disk, `cost` the cost of the trial, as
    text. `notes` were made during planning. `slas` are the results of the search of each run.
    """

    trial_id: str
    subject: Subject
    runs: tuple[RunFacts, ...]
    measurements: tuple[Measurement, ...] = ()
    warnings: tuple[Warning, ...] = ()
    phases: tuple[StepPhases, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    place: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    price: DiskPrice | None = None
    cost: str = ""
    job: str = ""
    again: str = ""
    slas: tuple[Sla, ...] = ()

    @property
    def name(self) -> str:
        """The id in the ids of its rows: that of its only run, or else of the trial."""
        return self.runs[0].run_id if len(self.runs) == 1 else self.trial_id

    @property
    def headline(self) -> str:
        """What was observed of burst and baseline, in the order of the run. A step in which the
        credit ran out never gets one figure for both levels (MR-3): its phases give one each. Empty
        if no step shows a cliff and the disk has no burst bucket, or if no step was on credit."""
        bucket = self._bucket
        promised = f" (promised: {format_iops(bucket.baseline)} IOPS)" if bucket is not None else ""
        if cliffs := cliff_words(self.phases):
            return f"{cliffs}{promised}"
        burst: list[float] = []
        baseline: list[float] = []
        last = mixed = ""
        for verdict in self.verdicts:
            level = verdict.stands_for
            if level.kind == "burst" and not baseline:
                burst.append(level.iops or 0.0)
                last = verdict.step
            elif level.kind == "baseline":
                baseline.append(level.iops or 0.0)
            elif level.limiter.name == "credit":
                mixed = mixed or verdict.step
        if bucket is None or not (burst or mixed):
            return ""
        parts = [f"burst of {format_iops(max(burst))} IOPS"] if burst else []
        if mixed:
            parts.append(f"credit used up in {mixed}, whose figures mix burst and baseline")
        else:
            parts.append(f"credit used up in {last}" if baseline else "baseline not measured")
        if baseline:
            parts.append(f"baseline of at most {format_iops(max(baseline))} IOPS")
        return f"{'; '.join(parts)}{promised}"

    @property
    def sentences(self) -> tuple[str, str]:
        """What was bought; what it delivered and why. The second is empty without a verdict."""
        return self._bought(), self.gave()

    @property
    def trust(self) -> str:
        """The steps that should not be trusted, in one sentence; empty if all are trusted."""
        steps = {name: (trust_of(of), of) for name, of in verdicts_by_step(self.verdicts).items()}
        words = [
            f"{name} ({trust_words(trust, reasons_over(of))})"
            for name, (trust, of) in steps.items()
            if trust != "yes"
        ]
        if not words:
            return ""
        more = len(words) - _MOST_DOUBTED
        first = "; ".join(words[:_MOST_DOUBTED])
        return f"Doubtful figures: {first}{f' and {more} more' if more > 0 else ''}."

    @property
    def fell(self) -> LastingFall | None:
        """The first fall that lasted: within a run, or between two runs if the credit was used up
        by then. None if every step kept its level or rose."""
        steps = verdicts_by_step(self.verdicts).values()
        # Prefer the run that the table shows; if it did not fall, the first run that did.
        within = (_within(verdict) for of_step in steps for verdict in (shown(of_step), *of_step))
        return next(filter(None, chain(within, map(_between, steps))), None)

    @property
    def promise_kept(self) -> tuple[str, ...]:
        return shares_of_time(self.verdicts)

    @property
    def slowed(self) -> tuple[str, ...]:
        """Why it slowed down, in a few plain sentences; empty if it did not, or if unknown."""
        fall = self.fell
        if fall is None:
            return ()
        if fall.after.limiter.name != "credit":
            fell = f"{fall.at} it fell from {_figure(fall.before)} to {_figure(fall.after)}"
            return (f"{fell}: {BECAUSE[fall.after.limiter.name]}.",)
        bucket, scale = self._bucket, self.subject.time_scale
        if bucket is None:
            of = "A disk of this kind earns credit at its baseline rate and spends it above that "
            return (f"{of}rate. {fall.at} the credit was used up, and the disk kept its baseline.",)
        own = scaled(bucket, time_scale=scale)
        held = capacity(own)
        baseline, real = format_iops(bucket.baseline), format_iops(bucket.capacity or 0.0)
        divided = f" (a real bucket holds {real}; the lab divides it by {scale:g} to save time)"
        spent = (
            f"This disk sustains {baseline} IOPS. I/O above that rate uses credit from a bucket of "
            f"{format_iops(held)} I/Os{divided if scale > 1 else ''}: at the burst rate of "
            f"{format_iops(bucket.ceiling)} IOPS a full bucket lasts "
            f"{format_duration_s(lasts_s(own) or 0.0)}."
        )
        earned = (
            f"While the disk is idle the bucket gains {baseline} I/Os a second: from empty to full "
            f"takes {format_duration_s(held / bucket.baseline)}. A load that always asks for more "
            "than the baseline gets the baseline, no matter what the first minutes showed."
        )
        return spent, earned

    @property
    def _bucket(self) -> Allowance | None:
        """The disk's bucket of I/O credit; None if it has none."""
        pools = self.subject.limits.pools if self.subject.limits else ()
        return next((of for pool in pools if (of := pool.iops) is not None and capacity(of)), None)

    def _bought(self) -> str:
        subject = self.subject
        if subject.offer:
            verb = "You tried" if "emulated" in subject.marks else "You bought"
            promises = f": it promises {subject.promise}" if subject.promise else ""
            return f"{verb} {subject.offer}{promises}."
        if subject.promise:
            disk = subject.disk or subject.target
            return f"Measured: {disk}, expected to give {subject.promise}."
        is_known = any(level.promised for verdict in self.verdicts for level in verdict.stretches)
        if "imported" in subject.marks:
            labels = dict(self.labels)
            wished = labels.get("as_disk") or labels.get("promise")
            if wished and is_known:
                limits = f"compared with the documented limits of {wished}"
                return f"Imported: {subject.title}, {limits}."
            return f"Imported: {subject.title}. The limits of its disk are unknown."
        bought = subject.target or subject.disk or subject.machine
        unknown = "" if is_known else " The limits of this disk are unknown."
        return f"Measured: {bought}.{unknown}"

    def gave(self) -> str:
        """What it delivered, and why: of a search the rate that it found, in the run with the
        lowest. Else it is told of the most informative step: one that fell, else the one with the
        smallest share of its promise, else the one that is most above it, else the fastest that
        kept it, else the first."""
        reasons = (reason for verdict in self.verdicts for reason in verdict.reasons)
        other = next((reason for reason in reasons if reason.code == OTHER_DISK.code), None)
        behaves = other.message.partition(": ")[0] if other else ""
        lead = f"{behaves[:1].upper()}{behaves[1:]}. " if other else ""
        if self.slas and (search := self.subject.search):
            least = min(self.slas, key=attrgetter("iops"))
            told = sla_words(least, search).removeprefix("sla: ").removeprefix("none: ")
            carried = "It carried" if least.iops else "It met the target at no rate:"
            return f"{lead}{carried} {told}."
        if fall := self.fell:
            after = f"{_figure(fall.after)}{_beside(fall.after)}"
            first = f"It delivered {_figure(fall.before)} for {fall.lasted}"
            return f"{lead}{first}, then {after}: {BECAUSE[fall.after.limiter.name]}."
        every = [shown(of_step) for of_step in verdicts_by_step(self.verdicts).values()]
        if not every:
            return lead
        steps = [step for step in every if step.stands_for.ratio is not None]
        asked = [step for step in steps if step.stands_for.limiter.name not in _NOT_ASKED]
        short = sorted((step for step in asked if _ratio(step) < KEPT), key=_ratio)
        above = sorted(filter(_is_above, steps), key=_ratio, reverse=True)
        held = [step for step in steps if _ratio(step) >= KEPT]
        held.sort(key=lambda step: -rate_of(step.stands_for))
        verdict = next(iter([*short, *above, *held, *every]))
        main, all_ = verdict.stands_for, len(steps)
        told = f"{_figure(main)} in {verdict.step}{_beside(main)}: {BECAUSE[main.limiter.name]}"
        if short:
            told = f"less than promised in {len(short)} of {all_} steps, at worst {told}"
        elif above:
            told = f"more than promised in {len(above)} of {all_} steps: {told}"
        elif held and len(held) == all_:
            where = f" in all {all_} steps, for example" if all_ > 1 else ":"
            told = f"what is promised{where} {told}"
        elif held:
            which = f"in every step that requested it ({len(held)} of {all_} steps), for example"
            told = f"what is promised {which} {told}"
        return f"{lead}It delivered {told}."


def shares_of_time(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """For how much of its seconds each step kept its promise; of runs only where some did not."""
    kept = ((step, shown(of_step).kept) for step, of_step in verdicts_by_step(verdicts).items())
    return tuple(
        f"{step}: {share.words()}"
        for step, share in kept
        if share is not None and (share.unit == "s" or share.kept < share.of)
    )


def _ratio(step: Verdict) -> float:
    return step.stands_for.ratio or 0.0


def _is_above(verdict: Verdict) -> bool:
    """Whether a step delivered more than the most favourable promise."""
    main = verdict.stands_for
    if main.promised is None or main.iops is None or main.promised.limited_by == "latency":
        return False
    return main.iops > _ABOVE * main.promised.high_iops


def _within(verdict: Verdict) -> LastingFall | None:
    first, last = verdict.stretches[0], verdict.stands_for
    if first is last or not _is_lower(last, first):
        return None
    lasted = format_duration_s((first.end_s or 0.0) - (first.start_s or 0.0))
    return LastingFall(
        verdict.step, first, last, lasted, f"After {clock(last.start_s or 0.0)}", verdict.run_id
    )


def _between(of_step: Sequence[Verdict]) -> LastingFall | None:
    """A fall between runs. Runs differ for many reasons: it counts only if credit was used up."""
    levels = [verdict.stands_for for verdict in of_step]
    if levels[-1].limiter.name != "credit" or not _is_lower(levels[-1], levels[0]):
        return None
    held = next(at for at, level in enumerate(levels) if _is_lower(level, levels[0]))
    runs = counted(held, "run")
    # Use the figures that the table shows for both levels.
    before, after = shown_stretch(levels[:held]), shown(of_step).stands_for
    if after.limiter.name != "credit" or not _is_lower(after, before):
        after = levels[-1]
    return LastingFall(of_step[0].step, before, after, runs, f"After {runs}")


def _is_lower(judged: Judged, than: Judged) -> bool:
    return judged.iops is not None and than.iops is not None and judged.iops < KEPT * than.iops


def _beside(judged: Judged) -> str:
    if judged.ratio is None or judged.promised is None:
        return ""
    promised = figure_words(judged.promised.iops, judged.promised.bytes_per_s)
    return f" ({judged.ratio:.0%} of the promised {promised})"


def _figure(judged: Judged) -> str:
    return figure_words(judged.iops, judged.bytes_per_s)

"""A result in two sentences, and why it slowed down, for somebody who never saw the tool.

The first sentence says what was bought, the second what it gave and what set that pace. They speak
of the step that tells most: one that fell off a cliff, else one that gave less than it was
promised, else the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.analysis.shown import rate_of, shown, shown_stretch, verdicts_by_step
from diskbench.analysis.verdict import figure_words
from diskbench.catalog.bucket import capacity, lasts_s, scaled
from diskbench.report.assemble.phase_lines import clock
from diskbench.units import format_duration_s, format_iops, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.bucket import Allowance
    from diskbench.model.verdict import Judged, LimiterName, Verdict
    from diskbench.report.assemble.headline import HeadlinePromise
    from diskbench.report.assemble.trial_report import TrialFacts

KEPT = 0.9
"""From this share of its promise on a disk is said to keep it (MR-12 calls 10 % near)."""
_NOT_ASKED = frozenset({"queue-depth", "offered", "latency"})
"""Limiters by which a load asked for less than was promised."""
_MOST_DOUBTED = 3

BECAUSE: dict[LimiterName, str] = {
    "disk-iops": "that is the disk's own limit on operations a second",
    "disk-throughput": "that is the disk's own limit on bytes a second",
    "vm-iops": "that is the machine's limit on operations a second, not the disk's",
    "vm-throughput": "that is the machine's limit on bytes a second, not the disk's",
    "vm-cached-iops": "that is the machine's limit on cached operations a second, not the disk's",
    "vm-cached-throughput": "that is the machine's limit on cached bytes a second, not the disk's",
    "latency": "each operation takes its time, and so many were under way at once",
    "offered": "the load itself asked for no more",
    "credit": "its burst credit was used up",
    "client": "the program that made the load used up its processor, so the disk may have more",
    "other-process": "another program kept the machine that made the load busy, so the disk may "
    "have more",
    "interrupts": "interrupts kept a core of the machine that made the load busy, so the disk may "
    "have more",
    "steal": "the hypervisor took processor time from the machine that made the load, so the disk "
    "may have more",
    "queue-depth": "so few operations were under way at once, and more would have brought more",
    "page-cache": "the machine's memory answered, not the disk",
    "host-cache": "a cache below the machine answered, not only the disk",
    "network": "the network between machine and disk was full",
    "unknown": "nothing that was seen tells what set that pace",
}
"""What a limiter means, as the end of a sentence."""


@dataclass(frozen=True)
class LastingFall:
    """A step that fell for good: its level before and after, and how long the first one lasted, in
    words (`31 min 02 s`, `4 runs`); `at` is when that was over. `run_id` is the run in which it
    fell; empty where it fell from one run to the next."""

    before: Judged
    after: Judged
    lasted: str
    at: str
    run_id: str = ""


def fall_of(verdicts: Sequence[Verdict]) -> LastingFall | None:
    """The first fall: within a run, or from one run to the next where credit was used up by then.
    None where every step kept its level or rose."""
    steps = verdicts_by_step(verdicts)
    # Of several runs that fell the one that the table shows; of one that fell alone, that one.
    within = (_within(one) for of_step in steps.values() for one in (shown(of_step), *of_step))
    found = next((one for one in within if one is not None), None)
    if found is not None:
        return found
    between = (_between(of_step) for of_step in steps.values())
    return next((one for one in between if one is not None), None)


def two_sentences(trial: TrialFacts) -> tuple[str, str]:
    """What was bought, and what it gave and why. The second is empty where nothing was judged."""
    return _bought(trial), _gave(trial.verdicts)


def telling(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict that tells most where none fell: of the step that gave least of what was asked
    of it, of the fastest that kept its promise, else the first. None of none."""
    steps = _one_a_step(verdicts)
    short = sorted((one for one in steps if _is_short(one)), key=_ratio)
    kept = sorted((one for one in steps if _is_kept(one)), key=_rate, reverse=True)
    return next(iter([*short, *kept, *steps]), None)


def believe_sentence(verdicts: Sequence[Verdict]) -> str:
    """Which steps not to believe, in one sentence; empty where all are believed."""
    words = dict.fromkeys(f"{one.step} ({one.words()})" for one in verdicts if one.believe != "yes")
    if not words:
        return ""
    told = list(words)[:_MOST_DOUBTED]
    more = len(words) - len(told)
    return f"Not simply to be believed: {'; '.join(told)}{f' and {more} more' if more > 0 else ''}."


def slowed(trial: TrialFacts) -> tuple[str, ...]:
    """Why it slowed down, in a few plain sentences; empty where it did not, or nothing is known."""
    found = fall_of(trial.verdicts)
    if found is None:
        return ()
    if found.after.limiter.name != "credit":
        fell = f"{found.at} it fell from {_figure(found.before)} to {_figure(found.after)}"
        return (f"{fell}: {BECAUSE[found.after.limiter.name]}.",)
    bucket = _bucket(trial.subject.promised)
    if bucket is None:
        told = (
            "A disk of this kind earns credit all the time and spends it when it does more than "
            f"its baseline. {found.at} none was left, and the baseline is what stays."
        )
        return (told,)
    return _of_bucket(bucket, trial.subject.promised)


def _of_bucket(bucket: Allowance, told: HeadlinePromise | None) -> tuple[str, ...]:
    scale = told.time_scale if told else 1.0
    own = scaled(bucket, time_scale=scale)
    held = capacity(own)
    lasts = lasts_s(own) or 0.0
    divided = (
        f" (a real one holds {format_iops(bucket.capacity or 0.0)}; the lab divides it by {scale:g}"
        " to save time)"
        if scale > 1
        else ""
    )
    baseline = format_iops(bucket.baseline)
    spent = (
        f"This disk gives {baseline} I/Os a second for good. Whatever goes above that is paid from "
        f"a bucket of {format_iops(held)} I/Os{divided}: at the {format_iops(bucket.ceiling)} "
        f"IOPS of a burst it lasts {format_duration_s(lasts)}."
    )
    earned = (
        f"The bucket fills again by {baseline} I/Os for each second in which nothing is asked of "
        f"the disk: from empty to full takes {format_duration_s(held / bucket.baseline)}. A "
        "load that always asks for more than the baseline gets the baseline, whatever it measured "
        "in the first minutes."
    )
    return spent, earned


def _bought(trial: TrialFacts) -> str:
    subject = trial.subject
    told = subject.promised
    if "imported" in subject.marks and told is None:
        labels = dict(trial.labels)
        said = labels.get("as_disk") or labels.get("promise")
        if said and any(level.promised for one in trial.verdicts for level in one.stretches):
            return f"Imported was {subject.title}, held against what {said} promises."
        return f"Imported was {subject.title}, and of its disk nothing is promised."
    if told is None:
        what = subject.target or subject.disk or subject.machine
        return f"Measured was {what}, of which nothing is promised."
    offer = told.offer or subject.disk or subject.target
    if told.offer:
        verb = "You tried" if "emulated" in subject.marks else "You bought"
        return f"{verb} {offer}" + (f": it promises {told.promise}." if told.promise else ".")
    return f"Measured was {offer}, expected to give {told.promise}."


def _gave(verdicts: Sequence[Verdict]) -> str:
    if fall := fall_of(verdicts):
        after = f"{_figure(fall.after)}{_beside(fall.after)}"
        first = f"It gave {_figure(fall.before)} for {fall.lasted}"
        return f"{first}, then {after}: {BECAUSE[fall.after.limiter.name]}."
    found = telling(verdicts)
    if found is None:
        return ""
    steps = [one for one in _one_a_step(verdicts) if one.stands_for.ratio is not None]
    short = [one for one in steps if _is_short(one)]
    kept = [one for one in steps if _is_kept(one)]
    main = found.stands_for
    such = f"{_figure(main)} in {found.step}{_beside(main)}: {BECAUSE[main.limiter.name]}"
    if short:
        return f"It gave less than it promises in {_of(short, steps)}, the least {such}."
    if kept and len(kept) == len(steps):
        every = f"in all {len(steps)} steps, such as " if len(steps) > 1 else ""
        return f"It gave what it promises, {every}{such}."
    if kept:
        asked = f"wherever that was asked of it ({_of(kept, steps)}), such as"
        return f"It gave what it promises {asked} {such}."
    return f"It gave {such}."


def _one_a_step(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Of several runs of a step the one that its figure is of, as in the table."""
    return [shown(of_step) for of_step in verdicts_by_step(verdicts).values()]


def _of(some: Sequence[Verdict], steps: Sequence[Verdict]) -> str:
    return f"{len(some)} of {len(steps)} steps"


def _is_short(found: Verdict) -> bool:
    """Whether it gave less than was promised and asked of it."""
    told = found.stands_for
    asked = told.limiter.name not in _NOT_ASKED
    return asked and told.ratio is not None and told.ratio < KEPT


def _is_kept(found: Verdict) -> bool:
    ratio = found.stands_for.ratio
    return ratio is not None and ratio >= KEPT


def _within(found: Verdict) -> LastingFall | None:
    first, last = found.stretches[0], found.stands_for
    if first is last or not _is_lower(last, first):
        return None
    lasted = format_duration_s((first.end_s or 0.0) - (first.start_s or 0.0))
    return LastingFall(first, last, lasted, f"After {clock(last.start_s or 0.0)}", found.run_id)


def _between(of_step: Sequence[Verdict]) -> LastingFall | None:
    """Runs differ for many reasons: only where credit was used up is that a fall."""
    levels = [one.stands_for for one in of_step]
    if levels[-1].limiter.name != "credit" or not _is_lower(levels[-1], levels[0]):
        return None
    held = next(at for at, one in enumerate(levels) if _is_lower(one, levels[0]))
    runs = f"{held} run{'s'[: held != 1]}"
    # The figures that the table has of both levels.
    before, after = shown_stretch(levels[:held]), shown(of_step).stands_for
    if after.limiter.name != "credit" or not _is_lower(after, before):
        after = levels[-1]
    return LastingFall(before, after, runs, f"After {runs}")


def _is_lower(one: Judged, than: Judged) -> bool:
    return one.iops is not None and than.iops is not None and one.iops < KEPT * than.iops


def _rate(found: Verdict) -> float:
    return rate_of(found.stands_for)


def _ratio(found: Verdict) -> float:
    return found.stands_for.ratio or 0.0


def _beside(one: Judged) -> str:
    if one.ratio is None or one.promised is None:
        return ""
    return f" ({one.ratio:.0%} of the {format_iops(one.promised.iops)} promised)"


def _figure(one: Judged) -> str:
    words = figure_words(one.iops, one.bytes_per_s)
    if one.iops is not None and one.bytes_per_s is not None and one.bytes_per_s > 1e8:
        return f"{words} ({format_mb_per_s(one.bytes_per_s)} MB/s)"
    return words


def _bucket(told: HeadlinePromise | None) -> Allowance | None:
    """The bucket of I/Os of the disk; None where it has none."""
    pools = told.limits.pools if told and told.limits else ()
    kept = (pool.iops for pool in pools if pool.iops is not None)
    return next((one for one in kept if capacity(one)), None)

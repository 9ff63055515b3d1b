"""Whether to trust a figure, and why not (docs/METHOD.md, "Verdict"); and which figure with its
trust stands for a run in a list. Pure.

The headline of a run is its figure of one step, and of a trial that of one run:

step    of the steps that measure: random before sequential, small blocks before large ones,
        then the one with the highest rate. Small random I/O is what disks are bought and
        limited by (our choice); the highest rate is the one nearest to a limit
trial   the headline in the middle of its runs at the baseline where some are, else of all
        (MR-3, MR-5), with the trust over these
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from diskbench.model.doubts import DOUBTS, PAGE_CACHE, WEIGHTS, Reason, Weight, doubt_of
from diskbench.model.processor import DOUBT_OF, MachineUse, busy_with
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.run import Headline
from diskbench.model.verdict import LimiterName, Trust

MOSTLY = 0.5
_PROCESSOR_CODES = frozenset(doubt.code for doubt in DOUBTS.values() if doubt.rule == "processor")
_NO_CAP: frozenset[LimiterName] = frozenset({
    "client", "other-process", "interrupts", "steal", "queue-depth", "network", "fixed-limit",
    "unknown",
})  # fmt: skip
_PART = 3
_FEW = 2


def reasons_of(
    warnings: Iterable[Warning],
    *,
    limited_by: LimiterName,
    device_share: float | None,
    processor: MachineUse,
) -> tuple[Reason, ...]:
    """Return the reasons in the warnings of a step, one per code, heaviest first.

    `limited_by` is the limit that set the rate, `device_share` the device's bytes as a fraction of
    fio's. If the cause of processor load is known it is judged again, and processor warnings of an
    earlier version are ignored: they called every cause `client-bound`.
    """
    reasons: dict[str, Reason] = {}
    busy = busy_with(processor)
    for warning in warnings:
        if busy and warning.code in _PROCESSOR_CODES:
            continue
        weight = _weight(warning.code, limited_by, device_share)
        reason = Reason(
            code=warning.code, weight=weight, message=warning.message, advice=warning.advice
        )
        reasons.setdefault(warning.code, reason)
    for worker, words in busy.items():
        doubt = DOUBT_OF[worker]
        weight = _weight(doubt.code, limited_by, device_share)
        reasons[doubt.code] = doubt.reason("; ".join(words), weight=weight)
    return in_order(reasons.values())


def in_order(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Return the reasons with the heaviest first; equal weights keep their order."""
    return tuple(sorted(reasons, key=lambda reason: WEIGHTS.index(reason.weight)))


def trust(reasons: Sequence[Reason]) -> Trust:
    """Return the judgement that the heaviest reason gives."""
    weights = {reason.weight for reason in reasons}
    if "no" in weights:
        return "no"
    return "with care" if "with care" in weights else "yes"


def _weight(code: str, limited_by: LimiterName, device_share: float | None) -> Weight:
    doubt = doubt_of(code)
    if doubt.rule == "device-share" and (
        device_share >= MOSTLY if device_share is not None else code == PAGE_CACHE.code
    ):
        return "with care"
    if doubt.rule == "processor" and limited_by not in _NO_CAP:
        return "note"
    return doubt.weight


def headline_step(steps: Iterable[Headline]) -> Headline | None:
    """Return the step that stands for a run; of equal ones the first. None without a step."""

    def weight(step: Headline) -> tuple[bool, int, float]:
        return step.is_random, -(step.block_bytes or (1 << 62)), step.rate

    return max(steps, key=weight, default=None)


def of_trial(headlines: Sequence[Headline]) -> Headline | None:
    """Return the headline of a trial from those of its runs, the newest first; None without any. It
    has a trust only where each of these runs was judged."""
    if not headlines:
        return None
    alike = [headline for headline in headlines if headline.step == headlines[0].step]
    of_level = [headline for headline in alike if headline.kind == "baseline"] or alike
    middle = sorted(of_level, key=lambda headline: headline.rate)[(len(of_level) - 1) // 2]
    known = [headline.trust for headline in of_level if headline.trust is not None]
    is_judged = all(headline.trust is not None for headline in alike)
    return replace(middle, trust=over_runs(known) if is_judged else None)


def over_runs(judgements: Sequence[Trust]) -> Trust:
    """Return the judgement that holds over several runs; `yes` without any."""
    n, doubted = len(judgements), 0
    words: tuple[Trust, ...] = ("no", "with care")
    for word in words:
        doubted += judgements.count(word)
        if doubted and _PART * doubted >= n and (doubted > 1 or n <= _FEW):
            return word
    return "yes"

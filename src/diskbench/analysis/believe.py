"""Whether to believe a figure, and why not: pure.

The warnings of a step (fio/warnings.py) and what the verdict itself finds become reasons, each with
the weight that it alone would give (model/doubts.py): the heaviest decides.

A page cache that served less than half of the bytes leaves a doubtful figure, as does one that is
only suspected, because the files fit into memory and nobody counted what the device moved. A busy
processor is a note where the figure is at a cap all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from diskbench.model.doubts import DOUBTS, PAGE_CACHE, WEIGHTS, Reason, doubt_of
from diskbench.model.processor import DOUBT_OF, busy_with

if TYPE_CHECKING:
    from diskbench.model.doubts import Weight
    from diskbench.model.processor import Processor
    from diskbench.model.result import Warning  # noqa: A004 - the field's word
    from diskbench.model.verdict import Believe, LimiterName

MOSTLY = 0.5
_PROCESSOR_CODES = frozenset(one.code for one in DOUBTS.values() if one.rule == "processor")
_NO_CAP = frozenset(
    {"client", "other-process", "interrupts", "steal", "queue-depth", "network", "unknown"}
)


def reasons_of(
    warnings: Iterable[Warning],
    *,
    limited_by: LimiterName,
    device_share: float | None,
    processor: Processor,
) -> tuple[Reason, ...]:
    """The reasons in the warnings of a step, one of each code, heaviest first.

    `limited_by` is what set the pace, `device_share` the bytes that the device moved of those of
    fio. Where it is known what used the processor up that is judged anew, and warnings that an
    earlier version wrote of it are left aside: they called all of it `client-bound`.
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
    for busy_with_ in busy:
        doubt = DOUBT_OF[busy_with_.worker]
        weight = _weight(doubt.code, limited_by, device_share)
        reasons[doubt.code] = doubt.reason("; ".join(busy_with_.words), weight=weight)
    return in_order(reasons.values())


def in_order(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Heaviest first; of the same weight in the order given."""
    return tuple(sorted(reasons, key=lambda reason: WEIGHTS.index(reason.weight)))


def believe(reasons: Sequence[Reason]) -> Believe:
    """What the heaviest reason makes of a figure."""
    weights = {reason.weight for reason in reasons}
    if "no" in weights:
        return "no"
    return "doubtful" if "doubtful" in weights else "yes"


def worst(found: Iterable[Believe]) -> Believe:
    """The worst of several; `yes` of none."""
    words: tuple[Believe, ...] = ("no", "doubtful")
    seen = set(found)
    return next((word for word in words if word in seen), "yes")


def _weight(code: str, limited_by: LimiterName, device_share: float | None) -> Weight:
    doubt = doubt_of(code)
    if doubt.rule == "device-share" and (
        device_share >= MOSTLY if device_share is not None else code == PAGE_CACHE.code
    ):
        return "doubtful"
    if doubt.rule == "processor" and limited_by not in _NO_CAP:
        return "note"
    return doubt.weight

"""Whether to trust a figure, and why not: pure.

The warnings of a step (fio/warnings.py) and the findings of the verdict become reasons, each with
its own weight (model/doubts.py): the heaviest decides.

A page cache that served less than half of the bytes has a figure taken with care, as does a
suspected one, where the files fit into memory and the device's I/O was not counted. A busy
processor is only a note if the figure is at a cap nevertheless.
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
    from diskbench.model.verdict import LimiterName, Trust

MOSTLY = 0.5
_PROCESSOR_CODES = frozenset(doubt.code for doubt in DOUBTS.values() if doubt.rule == "processor")
_NO_CAP = frozenset(
    {
        "client",
        "other-process",
        "interrupts",
        "steal",
        "queue-depth",
        "network",
        "fixed-limit",
        "unknown",
    }
)


def reasons_of(
    warnings: Iterable[Warning],
    *,
    limited_by: LimiterName,
    device_share: float | None,
    processor: Processor,
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
    for busy_with_ in busy:
        doubt = DOUBT_OF[busy_with_.worker]
        weight = _weight(doubt.code, limited_by, device_share)
        reasons[doubt.code] = doubt.reason("; ".join(busy_with_.words), weight=weight)
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

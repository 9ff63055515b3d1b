"""Whether to believe a figure, and why not: pure.

The warnings of a step (fio/warnings.py) and what the verdict itself finds become reasons, each with
the weight that it alone would give: the heaviest decides. What a weight is, is our choice:

    no        what was measured is not the disk
    doubtful  the figure may be off, or stands for less than it seems to
    note      worth knowing; the figure stands

A page cache that served less than half of the bytes leaves a doubtful figure, as does one that is
only suspected, because the files fit into memory and nobody counted what the device moved. A busy
processor is a note where the figure is at a cap all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from diskbench.model.processor import ADVICE, CODES, busy_with
from diskbench.model.verdict import Believe, Reason

if TYPE_CHECKING:
    from diskbench.model.processor import Processor
    from diskbench.model.result import Warning  # noqa: A004 - the field's word
    from diskbench.model.verdict import LimiterName

Weight = Literal["note", "doubtful", "no"]
WEIGHTS: dict[str, Weight] = {
    "page-cache": "no",
    "unwritten": "no",
    "not-a-disk": "no",
    "no-io": "no",
    "client-bound": "doubtful",
    "machine-busy": "doubtful",
    "interrupts": "doubtful",
    "steal": "doubtful",
    "queue-not-filled": "doubtful",
    "network-filesystem": "doubtful",
    "too-short": "doubtful",
    "fio-error": "doubtful",
    "short-ios": "doubtful",
    "degraded-output": "doubtful",
    "figures-disagree": "doubtful",
    "saturated": "doubtful",
    "cache-kept": "doubtful",
    "disk-shared": "doubtful",
    "other-io": "doubtful",
    "disk-unlocked": "note",
    "filled-once": "doubtful",
    "compressible": "note",
    "clock": "note",
    "runs-disagree": "note",
    "import": "note",
}
"""What a warning weighs; one that is not here is a note."""
MOSTLY = 0.5
_OF_CACHE = frozenset({"page-cache", "unwritten"})
_OF_PROCESSOR = frozenset(CODES.values())
_NO_CAP = frozenset(
    {"client", "other-process", "interrupts", "steal", "queue-depth", "network", "unknown"}
)
_ORDER: tuple[Weight, ...] = ("no", "doubtful", "note")


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
    found: dict[str, Reason] = {}
    busy = busy_with(processor)
    for one in warnings:
        if busy and one.code in _OF_PROCESSOR:
            continue
        weight = _weight(one.code, limited_by, device_share)
        reason = Reason(code=one.code, weight=weight, message=one.message, advice=one.advice)
        found.setdefault(one.code, reason)
    for each in busy:
        code = CODES[each.worker]
        found[code] = Reason(
            code=code,
            weight=_weight(code, limited_by, device_share),
            message="; ".join(each.words),
            advice=ADVICE[each.worker],
        )
    return in_order(found.values())


def in_order(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Heaviest first; of the same weight in the order given."""
    return tuple(sorted(reasons, key=lambda one: _ORDER.index(one.weight)))


def believe(reasons: Sequence[Reason]) -> Believe:
    """What the heaviest reason makes of a figure."""
    weights = {one.weight for one in reasons}
    if "no" in weights:
        return "no"
    return "doubtful" if "doubtful" in weights else "yes"


def worst(found: Iterable[Believe]) -> Believe:
    """The worst of several; `yes` of none."""
    words: tuple[Believe, ...] = ("no", "doubtful")
    seen = set(found)
    return next((word for word in words if word in seen), "yes")


def _weight(code: str, limited_by: LimiterName, device_share: float | None) -> Weight:
    weight = WEIGHTS.get(code, "note")
    if code in _OF_CACHE and (
        device_share >= MOSTLY if device_share is not None else code == "page-cache"
    ):
        return "doubtful"
    if code in _OF_PROCESSOR and limited_by not in _NO_CAP:
        return "note"
    return weight

"""The canary: the same short work before and after a trial, to see a machine that is not itself.

`cpu` is the wall time of a fixed sha256 over zeros (8 MiB; 32 MiB before 2026-11-23), `null` what
fio manages with an engine that does nothing for 0.05 s (MR-13). step.sh runs both; this reads what
it kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from diskbench.model.base import Frozen
from diskbench.model.doubts import NO_CANARY
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Step


class Canary(Frozen):
    """One canary; None where a part could not be run or read."""

    cpu_s: float | None = None
    cpu_mib: int = 32
    """How much `cpu_s` is the checksum of; times of different sizes are not compared."""
    null_iops: float | None = None


_MIB = {"cpu_s": 32, "checksum_8mib_s": 8}
"""The size of the checksum by the word before its time."""


def parse_canary(data: bytes) -> Canary:
    """The canary of a canary-before.txt or canary-after.txt; never fails."""
    head, _, after_head = data.decode(errors="replace").partition("\n")
    word, _, value = head.partition(" ")
    mib = _MIB.get(word)
    if mib is None:
        return Canary(null_iops=_null_iops(after_head))
    return Canary(cpu_s=_positive(value), cpu_mib=mib, null_iops=_null_iops(after_head))


def canary_warning(files: Mapping[str, bytes], step: Step) -> Warning | None:
    """The doubt in a step whose canary took too long and was ended by step.sh; None without one."""
    late = [name for name, data in files.items() if name.startswith("canary") and _is_late(data)]
    if not late:
        return None
    return NO_CANARY.warning(
        f"the canary beside {step.name} was ended because it took too long: {late[0]}",
        step=step.name,
    )


def _is_late(data: bytes) -> bool:
    return data.startswith(b"limit ")


def _null_iops(text: str) -> float | None:
    begin, end = text.find("{"), text.rfind("}")
    try:
        document = json.loads(text[begin : end + 1])
        return _positive(document["jobs"][0]["read"]["iops"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _positive(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if number > 0 and math.isfinite(number) else None

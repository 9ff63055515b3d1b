"""hdparm -t and -T (hdparm.c: time_device, time_cache).

    Timing buffered disk reads: 806 MB in  3.00 seconds = 268.52 MB/sec

hdparm's MB are 2^20 bytes, read in pieces of 2 MiB (TIMING_BUF_MB). The amount and the seconds are
rounded to two decimals, so the rate is taken as printed, and the run time follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from diskbench.errors import InvalidValue
from diskbench.importers.form import (
    MOST_STEPS,
    Format,
    Imported,
    ImportedRun,
    ImportedStep,
    head_of,
    number,
    row,
    step_of,
    text_of,
)
from diskbench.units import MIB

_TIMING = re.compile(
    r"Timing (?P<what>buffered disk|O_DIRECT disk|cached|buffer-cache|O_DIRECT cached) reads: *"
    r"(?P<mb>\d{1,9}) MB in +(?P<seconds>\d{1,6}\.\d{1,4}) seconds += *"
    r"(?P<rate>\d{1,9}(?:\.\d{1,4})?) (?P<unit>[kMG])B/sec"
)
_BUFFER = 2 * MIB
_STEPS = {
    "buffered disk": "buffered-reads", "O_DIRECT disk": "direct-reads",
    "cached": "cached-reads", "buffer-cache": "cached-reads", "O_DIRECT cached": "cached-reads",
}  # fmt: skip
_UNITS = {"k": 1024, "M": MIB, "G": 1024 * MIB}
_ROUNDED = 0.03
"""Most by which amount / seconds may differ from the printed rate: both are rounded."""


def read_hdparm(data: bytes, name: str, run_id_of: Callable[[int], str]) -> Imported:
    """Each timing in the text as a step of one run. Raises InvalidValue."""
    steps = tuple(_steps(text_of(data, name), name, run_id_of(0)))
    if not steps:
        raise InvalidValue(f"{name}: no timing of hdparm in it")
    return Imported("hdparm", "", (ImportedRun(steps),))


def _steps(text: str, where: str, run_id: str) -> Iterator[ImportedStep]:
    used: dict[str, int] = {}
    for index, match in enumerate(_TIMING.finditer(text)):
        if index >= MOST_STEPS:
            raise InvalidValue(f"{where}: it holds more than {MOST_STEPS:,} timings of hdparm")
        base = _STEPS[match["what"]]
        used[base] = used.get(base, 0) + 1
        step = step_of(index, base if used[base] == 1 else f"{base}-{used[base]}")
        size = int(match["mb"]) * MIB
        at = f"{where}: {match['what']} reads"
        rate = number(match["rate"], at) * _UNITS[match["unit"]]
        seconds = number(match["seconds"], at)
        if not rate or not seconds or abs(size / seconds / rate - 1) > _ROUNDED:
            raise InvalidValue(f"{at}: {match[0][-60:]!r}: amount, seconds and rate disagree")
        made = row(
            run_id=run_id,
            step=step,
            direction="read",
            ios=-(-size // _BUFFER),
            size=size,
            seconds=size / rate,
            where=at,
            rw="read",
            block=_BUFFER,
        )
        yield ImportedStep(step, (made,))


def _recognises(data: bytes, _: str) -> bool:
    return b"reads:" in data and _TIMING.search(head_of(data)) is not None


HDPARM = Format("hdparm", "hdparm -tT", _recognises, read_hdparm)

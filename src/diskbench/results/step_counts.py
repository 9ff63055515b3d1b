"""Whether the device counted as many I/Os as fio (MR-12); comparable for direct I/O only.

The kernel splits blocks that are larger than its or the driver's largest request, and may merge
small sequential ones. Both change the number of I/Os that a cloud counts, but no figure of fio's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.doubts import REQUESTS_MERGED, REQUESTS_SPLIT
from diskbench.units import format_bytes

if TYPE_CHECKING:
    from diskbench.model.doubts import Reason
    from diskbench.model.expectation import Load
    from diskbench.results.step_groups import StepGroup

ALIKE = 0.05
"""Largest share by which the counts of device and fio may differ (MR-12)."""


def counted_otherwise(group: StepGroup, load: Load | None) -> tuple[Reason, ...]:
    """A reason where the device's count of I/Os differs from fio's by more than 5 %. Nothing for
    buffered I/O, without samples, or where the device's bytes differ from fio's, too."""
    if load is None or not load.direct:
        return ()
    ios = device = moved = device_bytes = 0
    by_index = {evidence.step.index: evidence.samples for evidence in group.kept}
    for row in (row for rows in group.rounds for row in rows):
        samples = by_index.get(row.step_index)
        if samples is None or row.direction not in ("read", "write"):
            return ()
        if row.ios is None or row.bytes is None:
            return ()
        read = row.direction == "read"
        count = samples.device_read_ios if read else samples.device_write_ios
        size = samples.device_read_bytes if read else samples.device_write_bytes
        if count is None or size is None:
            return ()
        ios, moved = ios + row.ios, moved + row.bytes
        device, device_bytes = device + count, device_bytes + size
    if not ios or not moved or not device or abs(device_bytes / moved - 1) > ALIKE:
        return ()
    per_io = device / ios
    if abs(per_io - 1) <= ALIKE:
        return ()
    doubt, how = (REQUESTS_SPLIT, "split") if per_io > 1 else (REQUESTS_MERGED, "merged")
    return (
        doubt.reason(
            f"blocks of {format_bytes(load.block_bytes)} were {how} into requests of "
            f"{format_bytes(round(device_bytes / device))}: the device counted {per_io:.2g} I/Os a "
            "block, and so may the cloud",
        ),
    )

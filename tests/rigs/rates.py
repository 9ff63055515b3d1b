"""Is a load held at a limit? What two seconds of fio on a loaded machine can show."""

from __future__ import annotations

# IOPS that a machine of two cores reaches beside a full test run. The slowest seen beside four test
# workers was 4,000 of 4 KiB where 6,600 were allowed (2026-11-23).
CERTAIN_IOPS = 1000


def held_at(measured: float, limit: float, *, within: float = 0.34) -> bool:
    """Was `measured` (IOPS) held at `limit` (IOPS), give or take the fraction `within`?

    On any machine no load passes above a throttle. That a load comes near it is asked up to
    `CERTAIN_IOPS` only: a higher bound would test the speed of the machine.
    """
    return min(limit * (1 - within), CERTAIN_IOPS) <= measured <= limit * (1 + within)

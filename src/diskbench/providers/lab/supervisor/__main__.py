"""`python -S -m diskbench.providers.lab.supervisor DIRECTORY PID`: govern until PID is gone. Reads
orders.json in DIRECTORY whenever it changes, writes report.json, limits the devices, and keeps no
other state: after a restart it continues with the reported balances.

At each write of a limit the kernel begins a new slice and admits slightly more than the limit. So
ripples are not written, and a settled limit is written exactly. A request that is larger than what
a second allows (mkfs zeroes up to 4 GiB at once) waits for its slice to grow: a new one every
second would keep it waiting for ever."""

import json
import math
import os
import select
import sys
import time
from dataclasses import astuple, dataclass, field
from pathlib import Path

from diskbench.providers.lab.devices import Counters, ThrottleLimits, read_counters, write_limits
from diskbench.providers.lab.supervisor.governor import Governor
from diskbench.providers.lab.supervisor.rates import Orders, parse_orders, read_report

RIPPLE = 0.08
"""Smaller changes are written only when the limit has settled; our choice."""
JUMP = 0.3
"""Larger changes are written at once, others at most once in PAUSE ticks; our choice."""
PAUSE = 30
AT_REST = 3
"""A limit has settled after this many equal ticks; our choice."""


@dataclass
class Hold:
    """The limits written for each device, and the newest ones with the number of ticks for which
    they have been the same."""

    _written: dict[str, ThrottleLimits] = field(default_factory=dict)
    _since: dict[str, int] = field(default_factory=dict)
    _latest: dict[str, tuple[ThrottleLimits, int]] = field(default_factory=dict)

    def due(self, kernel: str, limits: ThrottleLimits, *, moved: bool = True) -> bool:
        """Whether to write `limits` to the kernel now; call once per tick. `moved` is whether
        the device did any I/O since the last tick."""
        before, ticks = self._latest.get(kernel, (None, 0))
        ticks = ticks + 1 if before == limits else 1
        self._latest[kernel] = (limits, ticks)
        written = self._written.get(kernel)
        if written is None or written == limits:
            return written is None
        since = self._since[kernel] = self._since.get(kernel, 0) + 1
        if not moved and _change(limits, written) <= JUMP:
            return False
        if ticks >= AT_REST or _change(limits, written) > JUMP:
            return True
        return since > PAUSE and _change(limits, written) > RIPPLE

    def note_written(self, kernel: str, limits: ThrottleLimits) -> None:
        self._written[kernel] = limits
        self._since[kernel] = 0


def _change(limits: ThrottleLimits, written: ThrottleLimits) -> float:
    """The largest relative change of any limit; infinite where a limit appears or disappears."""
    pairs = zip(astuple(limits), astuple(written), strict=True)
    return max(_relative(new, old) for new, old in pairs)


def _relative(new: int | None, old: int | None) -> float:
    if new is None or old is None:
        return 0.0 if new is old else math.inf
    return abs(new - old) / old


TICK_S = 0.1
"""How often counters are read; a hundredth of the shortest burst in the tests. Our choice."""
REPORT_S = 1.0


def main(directory: Path, watched_pid: int) -> None:
    """Govern until the process is gone."""
    watched = select.poll()
    watched.register(os.pidfd_open(watched_pid), select.POLLIN)
    orders_file, report_file = directory / "orders.json", directory / "report.json"
    stamp, orders = _read(orders_file)
    before = read_report(report_file)
    governor = Governor(orders, before[1] if before else {})
    hold = Hold()
    start = last = time.monotonic()
    reported = -REPORT_S
    counters: dict[str, Counters] = {}
    while True:
        now, previous, counters = time.monotonic(), counters, {}
        for disk in governor.orders.disks:
            try:
                counters[disk.kernel] = read_counters(disk.kernel)
            except OSError as error:  # detached meanwhile; the next orders will not name it
                _say(error)
        limits = governor.tick(counters, now - last, now - start)
        last = now
        moved = {kernel for kernel, count in counters.items() if count != previous.get(kernel)}
        _apply(governor, limits, hold, moved)
        if now - reported >= REPORT_S:
            _report(report_file, governor)
            reported = now
        if watched.poll(TICK_S * 1000):
            return
        if _stamp(orders_file) != stamp:
            stamp, orders = _read(orders_file)
            governor.follow(orders)
            reported = -REPORT_S


def _apply(
    governor: Governor, limits: dict[str, ThrottleLimits], hold: Hold, moved: set[str]
) -> None:
    orders = governor.orders
    for disk in orders.disks:
        disk_limits, has_moved = limits.get(disk.kernel), disk.kernel in moved
        if disk_limits is None or not hold.due(disk.kernel, disk_limits, moved=has_moved):
            continue
        try:
            write_limits(orders.version, orders.throttle, disk.number, disk_limits)
        except OSError as error:
            _say(error)
        else:
            hold.note_written(disk.kernel, disk_limits)


def _report(path: Path, governor: Governor) -> None:
    new = path.with_suffix(".new")
    report = {"generation": governor.orders.generation, "balances": governor.balances_left()}
    new.touch(mode=0o600)  # no import: it runs without packages
    new.write_text(json.dumps(report), "utf-8")
    new.replace(path)


def _read(path: Path) -> tuple[tuple[int, int], Orders]:
    stamp = _stamp(path)
    return stamp, parse_orders(path.read_text("utf-8"))


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def _say(error: OSError) -> None:
    print(error, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

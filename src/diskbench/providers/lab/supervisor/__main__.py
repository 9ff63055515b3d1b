"""`python -S -m diskbench.providers.lab.supervisor DIRECTORY PID`: govern until PID is gone.

Reads orders.json in DIRECTORY whenever it changes, writes report.json, limits the devices. It
keeps no other state: after a restart it continues with the reported balances.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from pathlib import Path

from diskbench.providers.lab.supervisor.governor import Governor
from diskbench.providers.lab.supervisor.hold import Hold
from diskbench.providers.lab.supervisor.orders import Orders, parse_orders, read_report
from diskbench.providers.lab.throttle import Counters, ThrottleLimits, read_counters, write_limits

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
    governor = Governor(orders, before.balances if before else {})
    hold = Hold()
    start = last = time.monotonic()
    reported = -REPORT_S
    counters: dict[str, Counters] = {}
    while True:
        now, previous = time.monotonic(), counters
        counters = _counters(governor)
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


def _counters(governor: Governor) -> dict[str, Counters]:
    counters = {}
    for disk in governor.orders.disks:
        try:
            counters[disk.kernel] = read_counters(disk.kernel)
        except OSError as error:  # detached meanwhile; the next orders will not name it
            _say(error)
    return counters


def _apply(
    governor: Governor, limits: dict[str, ThrottleLimits], hold: Hold, moved: set[str]
) -> None:
    orders = governor.orders
    for disk in orders.disks:
        disk_limits = limits.get(disk.kernel)
        if disk_limits is None or not hold.due(
            disk.kernel, disk_limits, moved=disk.kernel in moved
        ):
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

"""fio, detached from the connection: start it, follow it, stop it, fetch what it left.

Starting is idempotent: whoever comes second attaches to the unit that is there, running or
finished. The connection may break, hang or be refused any number of times meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import ConnectionLost, MeasurementFailed
from diskbench.fio.live import parse_live, tick
from diskbench.hosts.cleanup import cleanup
from diskbench.hosts.collect import collect
from diskbench.hosts.patience import patiently
from diskbench.hosts.unit import DeviceGuard, Unit, payload, start_script, stop_script
from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.fio.live import LiveTotals
    from diskbench.model.result import Tick
    from diskbench.ports import Host

__all__ = [
    "DeviceGuard",
    "Unit",
    "UnitExit",
    "cleanup",
    "collect",
    "start",
    "start_and_watch",
    "stop",
]

SILENCE_S = 20.0
"""A unit gives a sign of life every second while fio runs; after this the connection is given up
and made anew. Longer than a disk stalls now and then; our choice."""


class UnitExit(Frozen):
    """How a unit ended. `started_unix_s` and `ended_unix_s` are the host's clock around fio."""

    fio_exit: int
    stopped: bool = False
    started_unix_s: float = 0.0
    ended_unix_s: float = 0.0

    @property
    def seconds_in_fio(self) -> float:
        """Wall seconds between fio's start and its end, on the host."""
        return max(0.0, self.ended_unix_s - self.started_unix_s)


class _Follower:
    """What is known of a running unit over all connections to it."""

    def __init__(
        self,
        on_tick: Callable[[Tick], None],
        on_note: Callable[[str], None],
        on_wait: Callable[[], None],
    ) -> None:
        self.lines = 0
        self._on_tick, self._on_note, self._on_wait = on_tick, on_note, on_wait
        self._before: LiveTotals | None = None

    def line(self, line: bytes) -> str | None:
        """Take one line; returns the unit's last word when this is it."""
        if line.startswith((b"= ", b"! ")):
            return line.decode(errors="replace")
        self.lines += 1
        if line.startswith(b"~"):  # lock.sh: another trial measures the same disk
            self._on_wait()
            if words := line[1:].decode(errors="replace").strip():
                self._on_note(words)
            return None
        totals = parse_live(line)
        if totals is not None:
            self._on_tick(tick(self._before, totals))
            self._before = totals
        return None


def start_and_watch(
    host: Host,
    unit: Unit,
    on_tick: Callable[[Tick], None],
    should_stop: Callable[[], bool],
    on_note: Callable[[str], None] = lambda _: None,
    on_wait: Callable[[], None] = lambda: None,
    on_lost: Callable[[str], None] | None = None,
) -> UnitExit:
    """Start `unit` unless it was started, follow it to its end, and say how it ended.

    `on_tick` is called about once a second. When `should_stop` says so, fio is stopped and the unit
    still ends well, with what was measured. Broken connections are made anew for as long as it
    takes, each with a note; only after `should_stop` does ConnectionLost come out, when the host
    stays away. While another trial measures the same disk `on_wait` is called about once a second,
    and a note says who it is; `on_lost` is told of broken connections in place of `on_note`.
    Raises MeasurementFailed when the unit died without a result, could not be started, or found
    another disk than the one allowed.
    """
    follower = _Follower(on_tick, on_note, on_wait)
    last = patiently(
        lambda: _follow(host, unit, follower, should_stop), should_stop, on_lost or on_note
    )
    return _ended(last, unit, host)


def start(host: Host, unit: Unit) -> None:
    """Start `unit` unless it was started, without following it.

    What goes wrong is said by `start_and_watch`, which finds the unit or starts it again.
    """
    host.run(start_script(unit, None), stdin=payload(unit), root=unit.root)


def stop(host: Host, unit: Unit) -> None:
    """Ask `unit` to end fio now; one that has ended or was never started is left as it is."""
    host.run(stop_script(unit), root=unit.root)


def _follow(host: Host, unit: Unit, follower: _Follower, should_stop: Callable[[], bool]) -> str:
    """The unit's last word; ConnectionLost when the connection ends before it."""
    asked = False
    if should_stop() and follower.lines:
        stop(host, unit)
        asked = True
    lines = host.stream(
        start_script(unit, follower.lines + 1),
        stdin=payload(unit),
        timeout_s=SILENCE_S,
        root=unit.root,
    )
    for line in lines:
        if (last := follower.line(line)) is not None:
            return last
        if not asked and should_stop():
            asked = True
            stop(host, unit)
    raise ConnectionLost(f"{host.name} ended the connection before the step ended")


def _ended(last: str, unit: Unit, host: Host) -> UnitExit:
    """The unit's last word as a UnitExit; raises MeasurementFailed where there is none."""
    if last.startswith("! "):
        raise MeasurementFailed(
            f"step {unit.name} could not be started on {host.name}: {last[2:]}",
            advice="look at the free space and the permissions there",
        )
    fields = last.split(maxsplit=5)
    if len(fields) < 5:
        raise MeasurementFailed(
            f"step {unit.name} died on {host.name} without a result",
            advice="was the machine restarted, or short of memory (dmesg)? what it left is kept",
        )
    if len(fields) > 5 and fields[5].startswith("busy: "):
        raise MeasurementFailed(
            f"step {unit.name} was not started on {host.name}: {fields[5].removeprefix('busy: ')}",
            advice="nothing was written; repeat it when that has ended, or with --if-busy wait",
        )
    if len(fields) > 5:
        raise MeasurementFailed(
            f"step {unit.name} was not started on {host.name}, {fields[5]}",
            advice="nothing was written; look at what happened to the disk",
        )
    return UnitExit(
        fio_exit=int(fields[1]),
        stopped=fields[2] == "1",
        started_unix_s=float(fields[3]),
        ended_unix_s=float(fields[4]),
    )

"""fio, detached from the connection: start it, follow it, stop it, fetch its files.

Starting is idempotent: a second start attaches to the unit that exists, running or finished. The
connection may break, hang or be refused any number of times meanwhile: work is repeated until the
user stops.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import tenacity

from diskbench.errors import AgentError, ConnectionLost, MeasurementFailed
from diskbench.fio.samples import LiveTotals, parse_live, tick
from diskbench.hosts.calls import GONE, SIGN_OF_LIFE, heard, is_kept
from diskbench.hosts.shell import whole
from diskbench.hosts.unit import NOT_STARTED, Unit, UnitExit, payload, start_script, stop_script
from diskbench.model.result import Tick
from diskbench.ports import Host

T = TypeVar("T")

LONGEST_WAIT_S = 10.0
"""The longest pause between attempts to reach a host again; our choice."""
ATTEMPTS_AFTER_STOP = 5
"""Attempts to reach a host that does not answer once the user wants to stop; our choice."""
AFTER_STOP_WAIT_S = 1.0
"""The longest pause between these attempts: a connection that returns within seconds still delivers
the stop; our choice."""
_LOOK_S = 0.1


def undelivered(error: ConnectionLost) -> ConnectionLost:
    """The error of a connection that was given up before the stop reached the host."""
    return ConnectionLost(
        f"the host could not be asked to stop: {error.message}",
        advice="a running fio continues there; a fio that waits does not start",
    )


def patiently(
    work: Callable[[], T], should_stop: Callable[[], bool], on_note: Callable[[str], None]
) -> T:
    """The result of `work`, which is repeated after a pause and a note when the connection breaks.

    `work` must be idempotent. ConnectionLost is raised only once `should_stop` returns True. An
    error that `on_note` raises ends the waiting.
    """
    after_stop = 0

    def pause(seconds: float) -> None:
        begin, stopping = time.monotonic(), should_stop()
        while (gone := time.monotonic() - begin) < seconds:
            if should_stop() and (not stopping or gone > AFTER_STOP_WAIT_S):
                return  # at once after a new stop, so that it is sent to the host
            time.sleep(min(_LOOK_S, seconds - gone))

    def given_up(state: tenacity.RetryCallState) -> bool:  # noqa: ARG001 - tenacity's signature
        nonlocal after_stop
        after_stop += should_stop()
        return after_stop > ATTEMPTS_AFTER_STOP

    def note(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if error is not None and state.next_action is not None:
            wait = state.next_action.sleep
            on_note(f"{getattr(error, 'message', error)}; trying again in {wait:.1f} s")

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ConnectionLost),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=LONGEST_WAIT_S),
        stop=given_up,
        before_sleep=note,
        sleep=pause,
        reraise=True,
    )(work)


SILENCE_S = 20.0
"""A unit gives a sign of life each second. After this many seconds without one the connection is
closed and made again; longer than the usual stalls of a disk. Our choice."""

_LOOK_AT_DISK = "nothing was written; look at what happened to the disk"
_LOOK_AT_LOG = "look at the machine's log (journalctl -b -1, dmesg)"
_REPEAT = "nothing was written; repeat it when that has ended, or with --if-busy wait"
_ROOM = "make room there, and see to it that it can be written to; then run again"

_ASKED_BEFORE_S = 2
"""Requests for permission that are older than this when a connection begins to follow are ignored,
because the unit asks again within a second; our choice."""


class _Follower:
    """The state of a running unit over all connections to it."""

    def __init__(
        self,
        on_tick: Callable[[Tick], None],
        on_note: Callable[[str], None],
        on_stage: Callable[[str], None],
    ) -> None:
        self.lines = 0
        self.is_answered = False
        """Whether the unit was found or started by now."""
        self.asked: int | None = None
        """The uptime (s) at which the unit asked to start fio, until it is answered."""
        self.answered: int | None = None
        """The uptime (s) of the request that was answered last: the unit may write it twice."""
        self._since = 0
        """The uptime (s) at which the connection began to follow."""
        self._permitted = False
        """Whether fio was let start then: requests until then are answered."""
        self._on_tick, self._on_note, self._on_stage = on_tick, on_note, on_stage
        self._before: LiveTotals | None = None

    def line(self, line: str) -> str | None:
        """Process one line of the stream; returns it if it is the unit's last line, else None."""
        kind, rest = line[:2], line[2:]
        if kind == "= ":
            return line
        if line == SIGN_OF_LIFE:  # sent while it starts, not part of live.tsv
            self._on_stage("start")
            return None
        if kind == "@ ":  # sent when it is followed, too
            self.is_answered = True
            up, first, permitted, *_ = [*rest.split(), "", "", ""]
            self._since = whole(up) or self._since
            self.lines = (whole(first) or self.lines + 1) - 1  # from 1 on where it was started anew
            self._permitted = permitted == "1"
            return None
        self.lines += 1
        if line.startswith("~"):  # another trial measures the same disk
            if words := line[1:].strip():
                self._on_note(words)
        elif (totals := parse_live(line.encode())) is not None:
            rates = tick(self._before, totals)
            if rates is not None:  # what follows a part of a second counts from before it
                self._before = totals
                self._on_tick(rates)
        elif kind == "? " and (asked := whole(rest)) is not None:
            # live.tsv may hold hours of requests; only a current one is answered.
            since = self._since + 1 if self._permitted else self._since - _ASKED_BEFORE_S
            if asked >= since and asked != self.answered:
                self.asked = asked
            self._on_stage("go")
        elif line.startswith("#"):
            self._on_stage(line[1:].strip())
        return None


def start_and_watch(
    host: Host,
    unit: Unit,
    on_tick: Callable[[Tick], None],
    should_stop: Callable[[], bool],
    on_note: Callable[[str], None] = lambda _: None,
    on_lost: Callable[[str], None] | None = None,
    on_stage: Callable[[str], None] = lambda _: None,
    first: Mapping[str, str] | None = None,
) -> UnitExit:
    """Start `unit` unless it was started, follow it to its end, and return how it ended.

    `first` are the trial's directories where they are to be made before, in the same round trip.

    `on_tick` is called about once a second while fio runs, `on_stage` with the name of the stage
    before and after fio. fio starts only with the permission of this process. When `should_stop`
    returns True, no permission is given; the stop is sent first of all, and the unit ends in order
    and keeps what it measured. Broken connections are made again for as long as it takes, each with
    a call of `on_lost` (or `on_note`). ConnectionLost is raised only after `should_stop`, when the
    host remains unreachable. `on_note` also names another trial that measures the same disk.
    Raises MeasurementFailed where the unit died without a result, could not be started, found
    another disk than the one allowed, or found that the disk changed while fio ran.
    """
    follower = _Follower(on_tick, on_note, on_stage)
    try:
        last = patiently(
            lambda: _follow(host, unit, follower, should_stop, first),
            should_stop,
            on_lost or on_note,
        )
    except ConnectionLost as error:
        raise undelivered(error) from error
    except AgentError as error:
        raise MeasurementFailed(
            f"step {unit.name} could not be started on {host.name}: {error.message}", advice=_ROOM
        ) from error
    if last is None:
        return UnitExit(stopped=True, began=False)
    return _ended(last, unit, host)


def stop(host: Host, unit: Unit) -> bool:
    """Ask `unit` to end fio now, or never to start it. Returns whether the unit exists."""
    return host.run(stop_script(unit), root=unit.root).text.strip() in {"running", "ended"}


def _follow(
    host: Host,
    unit: Unit,
    follower: _Follower,
    should_stop: Callable[[], bool],
    first: Mapping[str, str] | None = None,
) -> str | None:
    """The unit's last line; None where it never began and never will. Raises ConnectionLost where
    the connection ends before that line."""
    asked = should_stop()
    if asked and not stop(host, unit):
        return None
    if follower.is_answered:  # who removed it since is not to find it made again
        first = None
    says: list[Callable[[bytes], None]] = []

    def talk(say: Callable[[bytes], None]) -> None:
        say(payload(unit))
        says.append(say)

    lines = host.stream(
        start_script(unit, follower.lines + 1, go=not asked, first=first),
        stdin=talk,
        timeout_s=SILENCE_S,
        root=unit.root,
    )
    for line in _said(lines, host, unit):
        if (last := follower.line(line)) is not None:
            return last
        if not asked and should_stop():
            asked = True
            if not stop(host, unit):
                return None
        if follower.asked is not None:
            if not asked:
                says[-1](b"%d\n" % follower.asked)
                follower.answered = follower.asked
            follower.asked = None
    raise ConnectionLost(f"{host.name} ended the connection before the step ended")


def _said(lines: Iterable[bytes], host: Host, unit: Unit) -> Iterator[str]:
    """What the program on the host says of the unit. Raises AgentError where it could not be
    started, and ConnectionLost where the program itself is gone there: the next try brings it."""
    try:
        for line, *_ in heard(lines):
            if line.startswith("@ "):
                is_kept(unit.state_dir, line.rpartition(" ")[2])
            yield line
    except AgentError as error:
        if error.message != GONE:
            raise
        is_kept(unit.state_dir, "")
        raise ConnectionLost(f"{host.name} has not kept the program of diskbench") from error


def _ended(last: str, unit: Unit, host: Host) -> UnitExit:
    """The unit's last line as a UnitExit; raises MeasurementFailed where it reports no result."""
    end = UnitExit.of(last)
    step, where, kept = f"step {unit.name}", f"on {host.name}", "its files are kept; "
    kind, _, why = end.reason.partition(": ")
    late, advice = NOT_STARTED.get(end.limit or "", (end.reason, _LOOK_AT_DISK))
    for failed, message, what_to_do in (
        (kind == "broken", f"was ended {where}: {why}", kept + _ROOM),
        (end.is_lost, f"died {where} without a result{end.why_lost}", kept + _LOOK_AT_LOG),
        (kind == "busy", f"was not started {where}: {why}", _REPEAT),
        (
            kind == "changed",
            f"is not trusted: its target changed while fio ran {where}: {why}",
            "its files are kept as evidence; find out who changed it, then run again",
        ),
        (end.reason or end.limit in NOT_STARTED, f"was not started {where}, {late}", advice),
        (
            end.is_garbled,
            f"ended {where} with text that diskbench never writes: {last[:80]!r}",
            f"look at {unit.directory}/exit there",
        ),
    ):
        if failed:
            raise MeasurementFailed(f"{step} {message}", advice=what_to_do)
    return end

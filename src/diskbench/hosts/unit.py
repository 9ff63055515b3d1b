"""The unit of one step on the measured host: its directory, its initial files, and its last line.

The last line says how the unit ended (agent.py).

    = EXIT STOPPED STARTED ENDED KEY=VALUE... REASON
    = lost KEY=VALUE... REASON

Pure: no I/O.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from diskbench.hosts.calls import files, request
from diskbench.hosts.device import DeviceProof
from diskbench.hosts.shell import assignments, whole
from diskbench.model.base import Frozen

PROTOCOL = 1
"""The version of what a unit is told, and of the files by which it is followed. Only a diskbench of
the same one follows it: another may continue the run after an upgrade."""
STOP_PATIENCE_S = 20
"""Seconds that fio may take to end after a stop, before it is killed; our choice."""
SYNC_LIMIT_S = 1800
"""Seconds that writing out older data, and dropping the page cache, may take before fio. After that
the step fails, because fio would share the disk with them. A fifth of 64 GiB at 10 MB/s takes 23
minutes; our choice."""
CANARY_LIMIT_S = 60
"""Seconds that a canary may take (0.25 s on an idle machine). After that the step is measured
without it; our choice."""
GO_LIMIT_S = 60
"""Seconds that a unit waits for the permission to start fio, and keeps its turn on the disk. Then
it ends as if it had never been started, and whoever comes starts it anew. Our choice: far longer
than it takes to notice and replace a broken connection."""
BEGIN_LIMIT_S = 120
"""Seconds that a unit may take from its launch to its first line. Our choice: far longer than the
busiest machine takes to start a shell."""


class Unit(Frozen):
    """One fio process on a host. `name` is unique within its run, such as `003-randread-r2`.

    `work_dir` holds the test files (None for a raw device); `guards` are the allowed disks, none
    for a directory, several are all raw; `sampled` is the number MAJOR:MINOR of each disk whose
    counters are read once a second, separated by blanks. `fio_limit_s` is the number of seconds
    after which fio counts as hung and is ended; None: never. `if_busy` is what to do while another
    trial measures the same disk: `wait`, `fail`, `share`, or the seconds to wait at most.
    `user` is the name that is shown to others who wait for the disk; without one the host is asked.
    """

    trial_id: str
    run_index: int
    name: str
    state_dir: str
    job: str
    work_dir: str | None = None
    guards: tuple[DeviceProof, ...] = ()
    sampled: str | None = None
    drop_caches: bool = True
    drop_every_s: float | None = None
    canary_before: bool = False
    canary_after: bool = False
    fio_limit_s: float | None = None
    if_busy: str = "wait"
    user: str = ""
    root: bool = False

    @property
    def directory(self) -> str:
        """The unit's directory on the host."""
        return f"{self.state_dir}/run-{self.run_index}/step-{self.name.replace('/', '_')}"

    @property
    def system_name(self) -> str:
        """Its name for systemd: letters, digits, dashes, underscores and dots."""
        safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in self.name)
        return f"diskbench-{self.trial_id}-run{self.run_index}-{safe}"


def specification(unit: Unit) -> dict[str, object]:
    """unit.json: what the unit on the host is told (agent.py)."""
    guards = unit.guards
    return {
        "protocol": PROTOCOL,
        "trial": unit.trial_id,
        "if_busy": unit.if_busy,
        "user": "root" if unit.root else unit.user,
        "state": unit.state_dir,
        "work": unit.work_dir or "",
        "disks": [disk.allowed for disk in guards],
        "mount": (guards[0].mount_point or "") if guards else "",
        "holds_data": bool(guards) and all(disk.holds_data for disk in guards),
        "sampled": unit.sampled.split() if unit.sampled else [disk.number for disk in guards],
        "drop": unit.drop_caches,
        "drop_every": unit.drop_every_s,
        "canary_before": unit.canary_before,
        "canary_after": unit.canary_after,
        "limits": {
            "stop_patience": STOP_PATIENCE_S,
            "sync": SYNC_LIMIT_S,
            "canary": CANARY_LIMIT_S,
            "go": GO_LIMIT_S,
            "fio": math.ceil(unit.fio_limit_s) if unit.fio_limit_s else None,
        },
    }


def payload(unit: Unit) -> bytes:
    """The unit's files, by name."""
    spec = json.dumps(specification(unit), indent=1, ensure_ascii=False)
    return files({"job.fio": unit.job, "unit.json": f"{spec}\n"})


def start_script(
    unit: Unit, first_line: int, *, go: bool = False, first: Mapping[str, str] | None = None
) -> str:
    """The script that starts the unit or attaches to it, and follows live.tsv from `first_line` on.
    With `go`, fio may start if the unit has asked by now; else when a line of standard input names
    the host's uptime (s) at its request. `first` are directories that are made before; where that
    fails, nothing is started.
    """
    given = {"protocol": PROTOCOL, "state": unit.state_dir, "dir": unit.directory}
    given |= {"unit": unit.system_name, "begin_limit": BEGIN_LIMIT_S}
    given |= {"go": go, "first": first, "from": first_line}
    return request("start", kept_in=unit.state_dir, **given)


_STOP = """\
umask 077
[ -d "$state" ] || { echo gone; exit 0; }
mkdir -p "$dir"
cd "$dir" || exit 1
true 2>/dev/null >stop # on a disk that is full or read-only the signal alone ends it
[ -e exit ] && { echo ended; exit 0; }
read -r pid started boot 2>/dev/null <pid || { echo new; exit 0; }
echo running
[ "$boot" = "$(cat /proc/sys/kernel/random/boot_id)" ] || exit 0
read -r stat 2>/dev/null <"/proc/$pid/stat" || exit 0
set -- ${stat##*) }
shift 19 # to field 22 of proc_pid_stat(5): start time, which differs from that of a later process
[ "$1" = "$started" ] && kill -TERM "$pid"
exit 0
"""
# This is shell: it comes in a hurry, and a Python takes ten times as long to begin.


def stop_script(unit: Unit) -> str:
    """The script that asks the unit to stop, whether or not it was started. The word is written
    before anything else. Prints `ended`, `running` or `new`: whether a unit was there."""
    return assignments({"state": unit.state_dir, "dir": unit.directory}) + _STOP


_STILL_WRITING = (
    "fio would share the disk with what is still written; wait until Dirty and Writeback in "
    "/proc/meminfo there are small, then run again"
)
NOT_STARTED = {
    "sync": (f"writing out older data (sync) did not end within {SYNC_LIMIT_S} s", _STILL_WRITING),
    "cache-drop": (f"dropping the page cache did not end within {SYNC_LIMIT_S} s", _STILL_WRITING),
    "go": ("no diskbench watched it, and fio starts only while one does", "run it again"),
}
"""Stages before fio, which is not started where one of them takes too long: why, as the end of a
sentence, and what to do."""
_LATEST_UNIX_S = 253_402_300_799.0
"""The end of the year 9999, the last that a date can hold."""
_KEY = re.compile(r"(seconds|moved|limit|signal|boot|oom_kills)=(\S*)")


@dataclass(frozen=True)
class UnitExit:
    """How a unit ended, by its last line. `started_unix_s` is the host's clock when fio began;
    `ended_unix_s` is that plus `seconds_in_fio`, measured by the uptime, so that a change of the
    clock does not matter.

    `stopped` is True only where diskbench stopped it. `signal` came from elsewhere. `limit` names
    the stage that took too long. `began` is False where the stop came before the unit was started:
    then there are no files. `reason` says why fio was not started, where it was not.
    """

    fio_exit: int = 126
    stopped: bool = False
    started_unix_s: float = 0.0
    ended_unix_s: float = 0.0
    seconds_in_fio: float = 0.0
    signal: int | None = None
    limit: str | None = None
    rebooted: bool = False
    oom_kills: int = 0
    reason: str = ""
    is_lost: bool = False
    is_garbled: bool = False
    """Whether the line is of a form that no unit writes, so that something else wrote it."""
    began: bool = True

    @staticmethod
    def of(line: str) -> UnitExit:
        """The contents of a last line; never raises."""
        words = line.removeprefix("= ").split() or ["lost"]
        at = 1 if words[0] == "lost" else 4
        keys: dict[str, str] = {}
        while at < len(words) and (match := _KEY.fullmatch(words[at])):
            keys[match[1]], at = match[2], at + 1
        rebooted, reason = keys.get("boot") == "changed", " ".join(words[at:])
        if words[0] == "lost":
            killed = whole(keys.get("oom_kills")) or 0
            return UnitExit(is_lost=True, rebooted=rebooted, oom_kills=killed, reason=reason)
        status = whole(words[0], 255)
        try:
            started, ended = _moment(words[2]), _moment(words[3])
            seconds = _moment(keys.get("seconds") or str(max(0.0, ended - started)))
        except (IndexError, ValueError):
            status = None
        if status is None:
            return UnitExit(is_garbled=True)
        return UnitExit(
            fio_exit=status,
            stopped=words[1] == "1",
            started_unix_s=started,
            ended_unix_s=started + seconds,
            seconds_in_fio=seconds,
            signal=whole(keys.get("signal")),
            limit=keys.get("limit"),
            rebooted=rebooted,
            reason=reason,
        )

    @property
    def why_lost(self) -> str:
        """Why a unit left no result, as the end of a sentence."""
        if self.rebooted:
            return ": the machine was restarted meanwhile (its boot id changed)"
        if self.oom_kills > 0:
            return f": out of memory; the kernel killed {self.oom_kills} processes meanwhile"
        return ": something killed it (the machine was not restarted, and not short of memory)"


def _moment(text: str) -> float:
    """Unix time or a duration in seconds; ValueError for a number out of range."""
    value = float(text)
    if not 0 <= value <= _LATEST_UNIX_S:
        raise ValueError(text)
    return value

"""The last line of a unit, which says how it ended (scripts/start.sh).

    = EXIT STOPPED STARTED ENDED KEY=VALUE... REASON
    = lost KEY=VALUE... REASON

Units that an older version of diskbench started write no keys. Pure: no I/O.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from diskbench.hosts.unit import SYNC_LIMIT_S
from diskbench.hosts.whole_number import whole

NOT_STARTED = frozenset({"sync", "cache-drop", "go"})
"""Stages before fio; fio is not started where one of them takes too long."""
_LATEST_UNIX_S = 253_402_300_799.0
"""The end of the year 9999, the last that a date can hold."""
_MOST_STATUS = 255
_KEY = re.compile(r"(seconds|moved|limit|signal|boot|oom_kills)=(\S*)")


@dataclass(frozen=True)
class LastWord:
    """The last line of a unit, parsed. `reason` says why fio was not started, where it was not."""

    fio_exit: int = 126
    stopped: bool = False
    started_unix_s: float = 0.0
    ended_unix_s: float = 0.0
    seconds: float = 0.0
    signal: int | None = None
    limit: str | None = None
    rebooted: bool = False
    oom_kills: int = 0
    reason: str = ""
    is_lost: bool = False
    is_garbled: bool = False
    """Whether the line is of a form that no unit writes, so that something else wrote it."""

    @staticmethod
    def of(line: str) -> LastWord:
        """The contents of a last line; never raises."""
        words = line.removeprefix("= ").split()
        if not words or words[0] == "lost":
            keys, rest = _keys(words[1:] if words else [])
            return LastWord(
                is_lost=True,
                rebooted=keys.get("boot") == "changed",
                oom_kills=_whole(keys.get("oom_kills")) or 0,
                reason=" ".join(rest),
            )
        keys, rest = _keys(words[4:])
        try:
            status, started, ended = _status(words[0]), _moment(words[2]), _moment(words[3])
            seconds = _moment(keys.get("seconds") or str(max(0.0, ended - started)))
        except (IndexError, ValueError):
            return LastWord(is_garbled=True)
        return LastWord(
            fio_exit=status,
            stopped=words[1] == "1",
            started_unix_s=started,
            ended_unix_s=started + seconds,
            seconds=seconds,
            signal=_whole(keys.get("signal")),
            limit=keys.get("limit"),
            rebooted=keys.get("boot") == "changed",
            reason=" ".join(rest),
        )

    @property
    def why_lost(self) -> str:
        """Why a unit left no result, as the end of a sentence."""
        if self.rebooted:
            return ": the machine was restarted meanwhile (its boot id changed)"
        if self.oom_kills > 0:
            return f": out of memory; the kernel killed {self.oom_kills} processes meanwhile"
        return ": something killed it (the machine was not restarted, and not short of memory)"

    @property
    def why_not_started(self) -> str:
        """Why fio was not started, as the end of a sentence."""
        match self.limit:
            case "sync":
                return f"writing out older data (sync) did not end within {SYNC_LIMIT_S} s"
            case "cache-drop":
                return f"dropping the page cache did not end within {SYNC_LIMIT_S} s"
            case "go":
                return "no diskbench watched it, and fio starts only while one does"
        return self.reason

    @property
    def advice(self) -> str:
        """What to do where fio was not started."""
        if self.limit in {"sync", "cache-drop"}:
            return (
                "fio would share the disk with what is still written; wait until Dirty and "
                "Writeback in /proc/meminfo there are small, then run again"
            )
        if self.limit == "go":
            return "run it again"
        return "nothing was written; look at what happened to the disk"


def _status(text: str) -> int:
    """An exit status; ValueError for any other text."""
    if (status := whole(text, _MOST_STATUS)) is None:
        raise ValueError(text)
    return status


def _moment(text: str) -> float:
    """Unix time or a duration in seconds; ValueError for a number out of range."""
    value = float(text)
    if not 0 <= value <= _LATEST_UNIX_S:
        raise ValueError(text)
    return value


def _keys(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """The leading KEY=VALUE words, and what follows them."""
    values: dict[str, str] = {}
    for number, word in enumerate(words):
        match = _KEY.fullmatch(word)
        if match is None:
            return values, words[number:]
        values[match[1]] = match[2]
    return values, []


def _whole(text: str | None) -> int | None:
    return whole(text) if text else None

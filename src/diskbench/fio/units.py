"""The units in the JSON of each version of fio.

fio up to 2.21 writes `io_bytes` and `bw` in KiB and `slat`, `clat`, `lat` in µs (stat.c of
2.2.10: `io_bytes >> 10`). fio 3 writes `io_bytes` in bytes beside `io_kbytes`, and latencies in ns
under names that say so: `clat_ns`. 2.99 and builds from git in between may use either: they are
read where the names show the unit, and refused elsewhere.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_VERSION = re.compile(r"(?:fio-)?(\d+)\.(\d+)(.*)")
_LAST_OF_OLD = (2, 21)
_FROM_GIT = re.compile(r"-\d+-g[0-9a-f]+")
_DIRECTIONS = ("read", "write", "trim", "mixed")
_ADVICE = "measure again with fio 3, or import what fio 2.2 to 2.21 wrote"


class UnknownUnits(Exception):  # noqa: N818 - named for what happened, as all of ours are
    """The units of a document are not known; the message names the version that wrote it."""


@dataclass(frozen=True, slots=True)
class Units:
    """Bytes in one unit of `io_bytes`, the suffix of latency names, and ns in their unit."""

    size_bytes: int = 1
    suffix: str = "_ns"
    latency_ns: int = 1


NEW = Units()
OLD = Units(size_bytes=1024, suffix="", latency_ns=1000)


def units_of(root: Mapping[str, Any]) -> Units:
    """The units of a document of fio. Raises UnknownUnits naming its version.

    A version that counts no I/Os (`total_ios` came with 2.2) is refused, too: without it neither
    IOPS nor latencies of a figure can be checked.
    """
    version = str(root.get("fio version", "of an unknown version"))
    directions = list(_directions(root))
    names_ns = any(key in stats for stats in directions for key in ("clat_ns", "lat_ns"))
    names_kb = any("io_kbytes" in stats for stats in directions)
    names_old = any(isinstance(stats.get("clat"), dict) for stats in directions)
    if names_ns or names_kb or not directions:
        return NEW
    number = _VERSION.fullmatch(version.strip())
    if number is None:
        if names_old:
            raise UnknownUnits(
                f"it says no version of fio and has latencies without a unit (clat); {_ADVICE}"
            )
        return NEW
    release = (int(number[1]), int(number[2]))
    if release > _LAST_OF_OLD:
        if release[0] == 2:
            raise UnknownUnits(f"{version} is between fio 2.21 and 3.0: its units are not known")
        return NEW
    if release == _LAST_OF_OLD and _FROM_GIT.match(number[3]):
        raise UnknownUnits(f"{version} is between fio 2.21 and 3.0: its units are not known")
    if any(stats.get("io_bytes") and "total_ios" not in stats for stats in directions):
        raise UnknownUnits(
            f"{version} does not say how many I/Os it did (total_ios came with fio 2.2); {_ADVICE}"
        )
    return OLD


def _directions(root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind in ("jobs", "client_stats"):
        entries = root.get(kind)
        for job in entries if isinstance(entries, list) else ():
            if isinstance(job, dict):
                yield from (job[name] for name in _DIRECTIONS if isinstance(job.get(name), dict))

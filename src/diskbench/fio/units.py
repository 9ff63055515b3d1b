"""The units in the JSON of each version of fio.

fio up to 2.21 writes `slat`, `clat`, `lat` in µs and `io_bytes` in KiB (stat.c of 2.2.10:
`io_bytes >> 10`); the last of these, from some 2.16 on, the same KiB as `io_kbytes`. fio 3 writes
bytes as `io_bytes` beside `io_kbytes`, and latencies in ns under names that say so: `clat_ns`. So
the names decide where they show the unit, and the version elsewhere. 2.99 and builds from git in
between may use either under the old names: these are refused.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

_VERSION = re.compile(r"(?:fio-)?(\d+)\.(\d+)(.*)")
_LAST_OF_OLD = (2, 21)
_FROM_GIT = re.compile(r"-\d+-g[0-9a-f]+")
LATENCIES = ("lat", "clat", "slat")
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
    names_ns = any(f"{kind}_ns" in stats for stats in directions for kind in LATENCIES)
    names_old = any(isinstance(stats.get(k), dict) for stats in directions for k in LATENCIES)
    names_kb = any("io_kbytes" in stats for stats in directions)
    if names_ns and names_old:
        raise UnknownUnits(f"it has latencies with and without a unit in their names; {_ADVICE}")
    if names_ns or not directions:
        return NEW
    number = _VERSION.fullmatch(version.strip())
    release = (int(number[1]), int(number[2])) if number else None
    if number is None or release is None:
        if names_old:
            raise UnknownUnits(
                f"it says no version of fio and has latencies without a unit (clat); {_ADVICE}"
            )
        return NEW
    if release[0] > 2 and names_old:
        raise UnknownUnits(
            f"{version} has latencies without a unit (clat), which fio 3 does not write; {_ADVICE}"
        )
    if release[0] > 2 or (names_kb and not names_old):
        return NEW
    if release > _LAST_OF_OLD or (release == _LAST_OF_OLD and _FROM_GIT.match(number[3])):
        raise UnknownUnits(f"{version} is between fio 2.21 and 3.0: its units are not known")
    if any(
        (stats.get("io_bytes") or stats.get("io_kbytes")) and "total_ios" not in stats
        for stats in directions
    ):
        raise UnknownUnits(
            f"{version} does not say how many I/Os it did (total_ios came with fio 2.2); {_ADVICE}"
        )
    # Beside io_kbytes, io_bytes are bytes.
    return OLD if not names_kb else replace(OLD, size_bytes=1)


def _directions(root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind in ("jobs", "client_stats"):
        entries = root.get(kind)
        for job in entries if isinstance(entries, list) else ():
            if isinstance(job, dict):
                yield from (job[name] for name in _DIRECTIONS if isinstance(job.get(name), dict))

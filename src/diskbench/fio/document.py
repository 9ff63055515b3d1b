"""From a decoded document of fio to its checked jobs, in the units of its version.

fio up to 2.21 writes `slat`, `clat`, `lat` in µs and `io_bytes` in KiB (stat.c of 2.2.10:
`io_bytes >> 10`); the last of these, from some 2.16 on, the same KiB as `io_kbytes`. fio 3 writes
bytes as `io_bytes` beside `io_kbytes`, and latencies in ns under names that say so: `clat_ns`. So
the names decide where they show the unit, and the version elsewhere. 2.99 and builds from git in
between may use either under the old names: these are refused.

A field of another type or range than fio gives it, or of unknown units, raises ValueError, which
says which.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from diskbench.fio import reported
from diskbench.fio.histogram import bucket_middle_ns
from diskbench.limits import COUNTER, JOBS
from diskbench.model.result import Direction

_VERSION = re.compile(r"(?:fio-)?(\d+)\.(\d+)(.*)")
_LAST_OF_OLD = (2, 21)
_FROM_GIT = re.compile(r"-\d+-g[0-9a-f]+")
LATENCIES = ("lat", "clat", "slat")
_TIMED = ("read", "write", "trim", "mixed")
_ADVICE = "measure again with fio 3, or import what fio 2.2 to 2.21 wrote"


def _old_size_unit(root: Mapping[str, Any]) -> int | None:
    """The bytes in one unit of `io_bytes` of a document of fio 2, whose latencies are µs and have
    no unit in their names; None for fio 3 (bytes, ns). Raises ValueError naming the version.

    A version that counts no I/Os (`total_ios` came with 2.2) is refused, too: without it neither
    IOPS nor latencies of a figure can be checked.
    """
    version = str(root.get("fio version", "of an unknown version"))
    directions = list(_directions(root))
    names_ns = any(f"{kind}_ns" in stats for stats in directions for kind in LATENCIES)
    names_old = any(isinstance(stats.get(k), dict) for stats in directions for k in LATENCIES)
    names_kb = any("io_kbytes" in stats for stats in directions)
    if names_ns and names_old:
        raise ValueError(f"it has latencies with and without a unit in their names; {_ADVICE}")
    if names_ns or not directions:
        return None
    number = _VERSION.fullmatch(version.strip())
    release = (int(number[1]), int(number[2])) if number else None
    if number is None or release is None:
        if names_old:
            raise ValueError(
                f"it says no version of fio and has latencies without a unit (clat); {_ADVICE}"
            )
        return None
    if release[0] > 2 and names_old:
        raise ValueError(
            f"{version} has latencies without a unit (clat), which fio 3 does not write; {_ADVICE}"
        )
    if release[0] > 2 or (names_kb and not names_old):
        return None
    if release > _LAST_OF_OLD or (release == _LAST_OF_OLD and _FROM_GIT.match(number[3])):
        raise ValueError(f"{version} is between fio 2.21 and 3.0: its units are unknown")
    if any(
        (stats.get("io_bytes") or stats.get("io_kbytes")) and "total_ios" not in stats
        for stats in directions
    ):
        raise ValueError(
            f"{version} does not say how many I/Os it did (total_ios came with fio 2.2); {_ADVICE}"
        )
    # Beside io_kbytes, io_bytes are bytes.
    return 1 if names_kb else 1024


def _directions(root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind in ("jobs", "client_stats"):
        entries = root.get(kind)
        for job in entries if isinstance(entries, list) else ():
            if isinstance(job, dict):
                yield from (job[name] for name in _TIMED if isinstance(job.get(name), dict))


_SECTOR_BYTES = 512
_DIRECTIONS: tuple[Direction, ...] = ("read", "write", "trim", "mixed", "sync")
_BUCKETS_OF_2 = 1216
"""Buckets of a histogram of fio 2 (stat.h: 19 groups of 64)."""
_SHOWN = 60
"""Characters of a value that a message shows."""
_LARGEST = 1e30
"""No rate or time of a real disk is larger (1e30 ns are 10^13 years); squares stay finite."""


def read_jobs(root: Mapping[str, Any]) -> tuple[reported.FioJob, ...]:
    """The jobs of a document, in fio's order; of `fio --client` those of each client.

    Raises ValueError, also where the units of its version are not known.
    """
    size_unit = _old_size_unit(root)
    entries = _entries(root)
    if len(entries) > JOBS:
        raise ValueError(f"it lists {len(entries):,} jobs; at most {JOBS:,} are read")
    servers = _by_server(root.get("global options"))
    return tuple(_job(entry, index, size_unit, servers) for index, entry in enumerate(entries))


def read_disks(root: Mapping[str, Any]) -> tuple[reported.DiskUse, ...]:
    """The disks of a document; none where fio could not count. Raises ValueError."""
    return tuple(_disk(entry) for entry in _list(root.get("disk_util")))


def read_options(value: object) -> dict[str, str]:
    """Options as fio lists them; an option without a value is the empty string. Of the lists of
    several servers, what all of them have."""
    if isinstance(value, list):
        lists = list(_by_server(value).values())
        return {
            key: option
            for key, option in (lists[0] if lists else {}).items()
            if all(other.get(key) == option for other in lists)
        }
    if not isinstance(value, dict):
        return {}
    return {key: "" if option is None else str(option) for key, option in value.items()}


def _by_server(value: object) -> dict[tuple[str, str], dict[str, str]]:
    """The global options of each server of `fio --client`, by its name and port; newer versions of
    fio list them apart (client.c)."""
    return {
        _server(entry): {
            key: option
            for key, option in read_options(entry).items()
            if key not in ("hostname", "port")
        }
        for entry in (value if isinstance(value, list) else ())
        if isinstance(entry, dict)
    }


def _server(entry: Mapping[str, Any]) -> tuple[str, str]:
    return str(entry.get("hostname")), str(entry.get("port"))


def _entries(root: Mapping[str, Any]) -> list[Any]:
    entries = _list(root.get("jobs")) or _list(root.get("client_stats"))
    # `fio --client` adds the sum of all clients as one more entry; alone it is the result.
    single = [
        e for e in entries if not (isinstance(e, dict) and e.get("jobname") == reported.ALL_CLIENTS)
    ]
    return single or entries


def _job(
    entry: object,
    index: int,
    size_unit: int | None,
    servers: Mapping[tuple[str, str], Mapping[str, str]],
) -> reported.FioJob:
    job = _mapping(entry, f"jobs[{index}]")
    name = str(job.get("jobname", f"job{index}"))
    directions: dict[Direction, reported.DirectionStats] = {}
    for direction in _DIRECTIONS:
        if isinstance(job.get(direction), dict):
            directions[direction] = _direction(job[direction], f"{name}.{direction}", size_unit)
    directions = reported.count_syncs(directions)
    if "mixed" in directions and ("read" in directions or "write" in directions):
        del directions["mixed"]  # unified_rw_reporting=both: the sum of what is there already
    levels = job["iodepth_level"] if isinstance(job.get("iodepth_level"), dict) else {}
    return reported.FioJob(
        name=name, index=index, group=_int(job, "groupid", name), error=_int(job, "error", name),
        options={
            # the sum names the last of its servers
            **({} if name == reported.ALL_CLIENTS else servers.get(_server(job), {})),
            **read_options(job.get("job options")),
        },
        directions=directions, run_ms=_optional_int(job, "job_runtime", name),
        elapsed_s=_optional_int(job, "elapsed", name),
        start_ms=_optional_int(job, "job_start", name) or None,
        usr_cpu=_optional_float(job, "usr_cpu", name),
        sys_cpu=_optional_float(job, "sys_cpu", name),
        context_switches=_optional_int(job, "ctx", name),
        depth_levels={
            int(depth): _optional_float(levels, key, name) or 0.0
            for key in levels
            if (depth := key.removeprefix(">=")).isascii() and depth.isdecimal() and len(depth) < 6
        },
        total_errors=_int(job, "total_err", name), first_error=_int(job, "first_error", name),
        host=job["hostname"] if isinstance(job.get("hostname"), str) else None,
    )  # fmt: skip


def _direction(
    stats: Mapping[str, Any], where: str, size_unit: int | None
) -> reported.DirectionStats:
    ios = _int(stats, "total_ios", where)
    suffix, unit_ns = ("_ns", 1) if size_unit is None else ("", 1000)
    # fio 3.0 and 3.1 have io_kbytes only.
    size = _optional_int(stats, "io_bytes", where)

    def latency(kind: str) -> reported.ReportedLatency | None:
        name = kind + suffix
        for other in (kind, f"{kind}_ns"):
            if other != name and stats.get(other):
                raise ValueError(
                    f"{where}.{other} is not read: its version of fio writes {name} instead"
                )
        return _latency(stats.get(name), ios, f"{where}.{name}", unit_ns)

    return reported.DirectionStats(
        ios=ios,
        bytes=_scaled(stats, "io_kbytes", where, 1024)
        if size is None
        else _scaled(stats, "io_bytes", where, size_unit or 1),
        runtime_ns=_scaled(stats, "runtime", where, 1_000_000),
        short_ios=_int(stats, "short_ios", where), dropped_ios=_int(stats, "drop_ios", where),
        iops=_optional_float(stats, "iops", where),
        bytes_per_s=_optional_float(stats, "bw_bytes", where),
        lat=latency("lat"), clat=latency("clat"), slat=latency("slat"),
    )  # fmt: skip


def _latency(value: object, ios: int, where: str, unit_ns: int) -> reported.ReportedLatency | None:
    if value is None:
        return None
    value = _mapping(value, where)
    bins = _bins(value.get("bins"), where)
    mean = _optional_float(value, "mean", where) or 0.0
    # Before 3.18 fio does not write N. The histogram knows it; without one, an unmeasured latency
    # (gtod_reduce, sync engines' slat) is all zeros.
    samples = _optional_int(value, "N", where)
    if samples is None:
        samples = sum(bins.values()) or (ios if mean > 0 else 0)
    if unit_ns > 1:
        bins = _by_latency(bins, mean)
    if samples == 0 and mean == 0:
        return None
    if samples == 0 and "N" in value:
        raise ValueError(f"{where}.N is 0, but its mean is {mean:.4g}")
    return reported.ReportedLatency(
        samples=samples,
        min_ns=_scaled(value, "min", where, unit_ns),
        max_ns=_scaled(value, "max", where, unit_ns),
        mean_ns=mean * unit_ns,
        stddev_ns=(_optional_float(value, "stddev", where) or 0.0) * unit_ns,
        percentiles={p: v * unit_ns for p, v in _percentiles(value.get("percentile")).items()},
        bins={key * unit_ns: number for key, number in sorted(bins.items())},
    )


def _bins(value: object, where: str) -> Mapping[int, int]:
    if not isinstance(value, dict):
        return {}
    bins: dict[int, int] = {}
    for key, number in value.items():
        # fio 2's json+ has the histogram's constants (FIO_IO_U_PLAT_BITS …) beside its buckets.
        if not (key.isascii() and key.isdecimal() and len(key) < 20):
            continue
        if type(number) is not int or not 0 <= number <= COUNTER:
            raise ValueError(f"{where}.bins[{key}] is {_beginning(number)}, not a count")
        if number:
            bins[int(key)] = number
    return bins


def _by_latency(bins: Mapping[int, int], mean: float) -> Mapping[int, int]:
    """The histogram of fio 2, whose keys are latencies in some versions and the numbers of buckets
    in others: the mean that fio counted says which."""
    total = sum(bins.values())
    if not total or max(bins) >= _BUCKETS_OF_2:
        return bins
    by_number = {bucket_middle_ns(bucket): number for bucket, number in bins.items()}
    of_keys, of_numbers = (
        sum(key * number for key, number in keyed.items()) / total for keyed in (bins, by_number)
    )
    return bins if abs(of_keys - mean) <= abs(of_numbers - mean) else by_number


def _percentiles(value: object) -> dict[float, int]:
    if not isinstance(value, dict):
        return {}
    by_percent: dict[float, int] = {}
    for key, latency in value.items():
        try:
            percent = float(key)
        except ValueError:
            continue
        if 0 < percent <= 100 and type(latency) is int and 0 <= latency <= COUNTER:
            by_percent[percent] = latency
    return by_percent


def _disk(entry: object) -> reported.DiskUse:
    disk = _mapping(entry, "disk_util")
    name = str(disk.get("name", ""))
    read, written = (
        _optional_int(disk, key, f"disk_util {name}") for key in ("read_sectors", "write_sectors")
    )
    return reported.DiskUse(
        name=name, stacked="aggr_read_ios" in disk,
        read_ios=_int(disk, "read_ios", name), write_ios=_int(disk, "write_ios", name),
        read_bytes=None if read is None else read * _SECTOR_BYTES,
        write_bytes=None if written is None else written * _SECTOR_BYTES,
        util=_optional_float(disk, "util", name),
        read_merges=_int(disk, "read_merges", name), write_merges=_int(disk, "write_merges", name),
    )  # fmt: skip


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object, where: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError(f"{where} is {type(value).__name__}, not an object")


def _int(values: Mapping[str, Any], key: str, where: str) -> int:
    return _optional_int(values, key, where) or 0


def _scaled(values: Mapping[str, Any], key: str, where: str, scale: int) -> int:
    """A count in a smaller unit, as long as databases hold it."""
    number = _int(values, key, where) * scale
    if number > COUNTER:
        raise ValueError(f"{where}.{key} is {number // scale}, longer than any disk works")
    return number


def _optional_int(values: Mapping[str, Any], key: str, where: str) -> int | None:
    exact = values.get(key)
    number = exact if type(exact) is int else _optional_float(values, key, where)
    if number is None:
        if exact is not None:
            raise ValueError(f"{where}.{key} is {exact:.4g}, not a count from 0 to {COUNTER}")
        return None
    if not 0 <= number <= COUNTER:
        shown = number if abs(number) <= _LARGEST else "larger than any"
        raise ValueError(f"{where}.{key} is {shown}, not a count from 0 to {COUNTER}")
    return int(number)


def _optional_float(values: Mapping[str, Any], key: str, where: str) -> float | None:
    number = values.get(key)
    if number is None:
        return None
    if type(number) not in (int, float):
        raise ValueError(f"{where}.{key} is {_beginning(number)}, not a number")
    if abs(number) > _LARGEST or not math.isfinite(number):
        return None
    if number < 0:
        raise ValueError(f"{where}.{key} is {number}, and fio counts and times from 0 up")
    return float(number)


def _beginning(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

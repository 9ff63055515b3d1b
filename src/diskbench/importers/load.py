"""A recorded load, as tools and clouds write it: reads and writes of a disk over time.

    iostat -xt       text, or JSON with -o JSON; the first report, since boot, is left out
    sar -d, sadf -d  I/Os together: reads and writes by their bytes
    CSV of metrics   VolumeReadOps, "Data Disk Read Operations/Sec" and alike: sums of a period, or
                     rates where the name says so
    fio's logs       of I/Os; of windows, which know IOPS alone: `block`
    blkparse         its summary: one rate for the whole time

A sample holds from the time of the one before it. After a gap of more than three usual distances it
holds for one such distance: what was not recorded is not made up.
"""

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from operator import attrgetter
from statistics import median
from typing import Any

from diskbench.errors import InvalidValue, check_known
from diskbench.importers.form import as_utf8
from diskbench.units import KIB, MIB

_GAP = 3.0
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Sample:
    """Mean rates a second of `seconds` up to `end_s`, Unix time as if the recorded clock were UTC,
    or seconds from the beginning. While a file is read, endless `seconds` are those since the
    sample before it."""

    end_s: float
    reads: float
    writes: float
    read_bytes: float
    write_bytes: float
    seconds: float = math.inf

    @property
    def at_s(self) -> float:
        return self.end_s - self.seconds

    @property
    def ios(self) -> float:
        """Reads and writes together."""
        return self.reads + self.writes


@dataclass(frozen=True, slots=True)
class Recorded:
    """The load of one disk. `is_dated`: its times are of a calendar. `notes` say what was left out
    or assumed."""

    device: str
    samples: tuple[Sample, ...]
    is_dated: bool
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """How long was recorded, without gaps."""
        return sum(sample.seconds for sample in self.samples)


_Samples = dict[str, list[Sample]]


def read_load(
    data: bytes, name: str, *, device: str | None = None, block: int | None = None
) -> Recorded:
    """Return the load in a file: of its only busy disk, or of `device`. `block` is the block size
    where the file knows I/Os or bytes alone. Raises InvalidValue for a file of another form,
    UnknownName for a device that is not in it."""
    text = as_utf8(data).decode("utf-8", errors="replace").replace("\0", "")
    lines = [line for line in text.splitlines() if line.strip()]
    for fits, read in _FORMS:
        if lines and fits(text.lstrip()[:1], lines):
            try:
                samples, notes, is_dated = read(lines, block)
            except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
                raise InvalidValue(
                    f"{name} cannot be read as a recorded load: {error}", advice=_ADVICE
                ) from error
            return _recorded(samples, notes, name, device, is_dated=is_dated)
    raise InvalidValue(f"{name} is not a recorded load that diskbench knows", advice=_ADVICE)


_ADVICE = (
    "give the output of `iostat -xt 60` (or with `-o JSON`), `sar -d` or `blkparse`, a fio log, "
    "or a CSV of metrics (VolumeReadOps …, Data Disk Read Operations/Sec …)"
)


def _recorded(
    disks: _Samples, notes: list[str], name: str, device: str | None, *, is_dated: bool
) -> Recorded:
    busy = {disk: of for disk, of in disks.items() if any(one.ios > 0 for one in of)}
    check_known("device in the recorded load", device, disks)
    if device is None:
        if len(busy) != 1:
            means = ", ".join(
                f"{disk} ({sum(one.ios for one in of) / len(of):,.0f} IOPS)"
                for disk, of in busy.items()
            )
            raise InvalidValue(
                f"{name} has I/O of {len(busy) or 'no'} devices{': ' if means else ''}{means}",
                advice="name one with --device" if busy else "record while the server is busy",
            )
        (device,) = busy
    if device not in busy:
        raise InvalidValue(
            f"{name} has no I/O of {device}", advice="name a device that was busy, or record longer"
        )
    samples, gaps = _placed(sorted(disks[device], key=attrgetter("end_s")))
    if not samples:
        raise InvalidValue(
            f"{name} has only one report of {device}: the mean since the machine started",
            advice="record with an interval: iostat -xt 60",
        )
    if gaps:
        notes.append(f"{gaps} gaps in the record, which are left out")
    return Recorded(device, tuple(samples), is_dated, tuple(notes))


def _placed(samples: Sequence[Sample]) -> tuple[list[Sample], int]:
    """The samples with their own time, and the number of gaps. A first one of which it is not known
    holds for the usual distance."""
    ends = [sample.end_s for sample in samples]
    steps = [b - a for a, b in pairwise(ends) if b > a]
    usual = median(steps) if steps else 0.0
    placed, gaps, before = list[Sample](), 0, None
    for sample in samples:
        seconds = sample.seconds
        if seconds == math.inf:
            seconds = usual if before is None else sample.end_s - before
            if usual and seconds > _GAP * usual:
                seconds, gaps = usual, gaps + 1
        before = sample.end_s
        if seconds > 0:
            rates = {name: max(0.0, getattr(sample, name)) for name in _FIELDS}
            placed.append(replace(sample, seconds=seconds, **rates))
    return placed, gaps


_Read = tuple[_Samples, list[str], bool]
_FIRST = "the first report, the mean since boot, is left out"


def _iostat_json(lines: Sequence[str], _block: int | None) -> _Read:
    text = "\n".join(lines)
    if not text.rstrip().endswith("}"):  # it was stopped: its last brackets are missing
        text = text[: text.rindex("]") + 1] + "}]}]}}"
    reports = json.loads(text)["sysstat"]["hosts"][0]["statistics"]
    if "timestamp" not in reports[0]:
        raise InvalidValue("iostat recorded no times", advice="record with `iostat -xt 60`")
    ends = _moments([report["timestamp"] for report in reports])
    samples: _Samples = {}
    for (before, end), report in zip(pairwise(ends), reports[1:], strict=True):
        for disk in report["disk"]:
            of = samples.setdefault(disk["disk_device"], [])
            of.append(_of_columns(disk, end, math.inf if of else end - before))
    return samples, [_FIRST], True


def _iostat_text(lines: Sequence[str], _block: int | None) -> _Read:
    stamps, rows = list[str](), list[tuple[int, str, dict[str, str]]]()
    columns: list[str] | None = None
    for line in lines:
        words = line.split()
        if words[0].rstrip(":") == "Device":
            if not stamps:
                raise InvalidValue("iostat recorded no times", advice="record with `iostat -xt 60`")
            columns = words[1:]
        elif words[0].startswith("avg-cpu"):
            columns = None
        elif _is_moment(line):
            stamps.append(line.strip())
            columns = None
        elif columns is not None and len(words) == len(columns) + 1:
            rows.append((len(stamps) - 1, words[0], dict(zip(columns, words[1:], strict=True))))
    ends = _moments(stamps)
    samples: _Samples = {}
    for number, disk, values in rows:
        if number > 0:
            of, end = samples.setdefault(disk, []), ends[number]
            of.append(_of_columns(values, end, math.inf if of else end - ends[number - 1]))
    return samples, [_FIRST], True


def _sar(lines: Sequence[str], _block: int | None) -> _Read:
    """`sar -d`: the date is in its first line, and a time that falls begins another day."""
    found = re.search(r"\d{4}-\d\d-\d\d|\d\d/\d\d/\d{2,4}", lines[0])
    day = _moments([f"{found[0]} 00:00:00"])[0] if found else 0.0
    columns, samples, last = list[str](), _Samples(), -1.0
    for line in lines:
        words = line.split()
        if len(words) > 2 and words[1] in ("AM", "PM"):
            words[:2] = [f"{words[0]} {words[1]}"]
        if "DEV" in words[:3]:
            columns = words[1:]
            continue
        if not columns or len(words) != len(columns) + 1 or words[0].startswith("Average"):
            continue
        form = "%I:%M:%S %p" if words[0].endswith(("AM", "PM")) else "%H:%M:%S"
        clock = datetime.strptime(f"1970 {words[0]}", f"%Y {form}").replace(tzinfo=UTC).timestamp()
        day, last = day + (_DAY_S if clock < last else 0.0), clock
        values = dict(zip(columns, words[1:], strict=True))
        samples.setdefault(values["DEV"], []).append(_of_columns(values, day + clock))
    return samples, [_BY_BYTES], found is not None


def _sadf(lines: Sequence[str], _block: int | None) -> _Read:
    columns, samples = list[str](), _Samples()
    for row in csv.reader(lines, delimiter=";"):
        if row[0].startswith("#"):
            columns = [name.lstrip("# ") for name in row]
            continue
        values = dict(zip(columns, row, strict=False))
        if "DEV" in values and float(values["interval"]) > 0:
            (end,) = _moments([values["timestamp"].removesuffix(" UTC")])
            sample = replace(_of_columns(values, end), seconds=float(values["interval"]))
            samples.setdefault(values["DEV"], []).append(sample)
    return samples, [_BY_BYTES], True


_BY_BYTES = "sar counts reads and writes together: they are split by their shares of the bytes"


def _of_columns(values: Mapping[str, Any], end: float, seconds: float = math.inf) -> Sample:
    """A sample from the columns of sysstat, in whichever unit it wrote them."""
    number = {key: float(str(value).replace(",", ".")) for key, value in values.items()
              if key not in _WORDS}  # fmt: skip

    read, written = (
        next((number[w + name] * unit for name, unit in _MOVED if w + name in number), 0.0)
        for w in "rw"
    )
    if "r/s" in number:
        return Sample(end, number["r/s"], number["w/s"], read, written, seconds)
    ios, whole = number["tps"], read + written
    share = read / whole if whole else 1.0
    return Sample(end, ios * share, ios * (1 - share), read, written, seconds)


_MOVED = (("kB/s", KIB), ("MB/s", MIB), ("sec/s", 512), ("d_sec/s", 512), ("r_sec/s", 512))
_WORDS = frozenset({"DEV", "disk_device", "hostname", "timestamp"})


def _metrics(lines: Sequence[str], block: int | None) -> _Read:
    """A CSV whose first column is a time and whose other columns are metrics of one disk."""
    rows = list(csv.reader(lines, delimiter=_delimiter(lines)))
    head = next(n for n, row in enumerate(rows) if _kinds(row))
    kinds = _kinds(rows[head])
    named = {row[0].strip().lower(): row[1:] for row in rows if row}
    are_sums = any(per_period for *_, per_period in kinds.values())
    for statistic in map(str.strip, named.get("statistic", ())):
        if are_sums and statistic and statistic.lower() != "sum":
            raise InvalidValue(
                f"the metrics are of the statistic {statistic}",
                advice="export them with the statistic Sum",
            )
    timed = [row for row in rows[head + 1 :] if row and _is_moment(row[0])]
    ends = _moments([row[0].strip() for row in timed])
    distances = [b - a for a, b in pairwise(ends) if b > a]
    if not distances:
        raise InvalidValue(
            "the metrics have fewer than two timestamps", advice="export a longer period"
        )
    period = median(distances)
    samples = list[Sample]()
    for begin, row in zip(ends, timed, strict=True):
        sums = dict.fromkeys(_FIELDS, 0.0)
        for place, (field, unit, per_period) in kinds.items():
            text = row[place].strip() if place < len(row) else ""
            value = float(text.replace(",", "")) if text else 0.0
            sums[field] += value * unit / (period if per_period else 1.0)
        samples.append(Sample(begin + period, **sums, seconds=period))
    notes = [f"sums of {period:g} s"] if are_sums else []
    return {"the disk": _with_block(samples, block)}, notes, True


_FIELDS = ("reads", "writes", "read_bytes", "write_bytes")


def _kinds(row: Sequence[str]) -> dict[int, tuple[str, float, bool]]:
    """Which columns of a header are metrics of I/O: the field of a sample, its unit, and whether
    they are sums of a period."""
    kinds = {}
    for place, cell in enumerate(row):
        name = cell.lower()
        way = "read" if "read" in name else "write" if "write" in name else ""
        per_second = bool(re.search(r"/\s?s|per.?sec|iops|bps", name))
        if not way or not (per_second or "volume" in name) or "time" in name:
            continue
        if re.search(r"bytes|[kmg]i?b\b|[kmg]i?b/s|bps|throughput|bandwidth", name):
            prefix = re.search(r"([kmg])(i?)b", name)
            unit = 1.0
            if prefix:
                unit = float((1024 if prefix[2] else 1000) ** ("kmg".index(prefix[1]) + 1))
            kinds[place] = f"{way}_bytes", unit, not per_second
        elif re.search(r"ops|operations|iops|ios", name):
            kinds[place] = f"{way}s", 1.0, not per_second
    return kinds


def _delimiter(lines: Sequence[str]) -> str:
    return max(",;\t", key=lambda mark: sum(line.count(mark) for line in lines[:20]))


def _with_block(samples: Sequence[Sample], block: int | None) -> list[Sample]:
    """Points of which I/Os or bytes alone are known, with the others from the block size."""
    has_ios = any(sample.reads + sample.writes for sample in samples)
    has_bytes = any(sample.read_bytes + sample.write_bytes for sample in samples)
    if has_ios and has_bytes:
        return list(samples)
    if block is None:
        raise InvalidValue(
            f"the record has only {'I/Os' if has_ios else 'bytes'}",
            advice="say how large they are: --block 16k",
        )
    if not has_ios:
        return [
            replace(p, reads=p.read_bytes / block, writes=p.write_bytes / block) for p in samples
        ]
    return [replace(p, read_bytes=p.reads * block, write_bytes=p.writes * block) for p in samples]


def _fio_log(lines: Sequence[str], block: int | None) -> _Read:
    """A log of windows (`log_avg_msec`): IOPS, or KiB a second where the values are too large to be
    any; one of I/Os is counted by the second."""
    rows = [[int(part) for part in line.split(",")[:4]] for line in lines if line[:1].isdecimal()]
    if any(size > 0 for *_, size in rows):
        seconds: dict[int, list[float]] = {}
        for at, _, way, size in rows:
            sums = seconds.setdefault(at // 1000, [0.0] * 4)
            if way < 2:
                sums[way] += 1
                sums[2 + way] += size
        each = range(min(seconds), max(seconds) + 1)
        samples = [Sample(second + 1.0, *seconds.get(second, [0.0] * 4)) for second in each]
        return {"the disk": samples}, [], min(seconds) > 10**8
    if block is None:
        raise InvalidValue(
            "a fio log of windows has either I/Os or bytes",
            advice="say how large its blocks are: --block 16k",
        )
    windows: dict[int, list[float]] = {}
    for at, value, way, _ in rows:
        if way < 2:
            windows.setdefault(at, [0.0, 0.0])[way] += value
    samples = [
        Sample(at / 1000, of[0], of[1], of[0] * block, of[1] * block)
        for at, of in sorted(windows.items())
    ]
    return {"the disk": samples}, ["read as a log of IOPS"], min(windows) > 10**11


def _blkparse(lines: Sequence[str], _block: int | None) -> _Read:
    """The totals of a trace: dispatches, and the time from bytes over throughput."""
    begin = max(
        (n for n, line in enumerate(lines) if line.startswith("Total")),
        default=max((n for n, line in enumerate(lines) if line.startswith("CPU")), default=0),
    )
    text = "\n".join(lines[begin:])
    counts = [
        (int(count.replace(",", "")), int(size.replace(",", "")) * _UNITS[unit])
        for way in ("Read", "Write")
        for count, size, unit in re.findall(
            rf"{way} Dispatches:\s*([\d,]+),\s*([\d,]+)([KMG])iB", text
        )
    ]
    rates = re.search(r"Throughput \(R/W\): ([\d,]+)([KMG])iB/s / ([\d,]+)([KMG])iB/s", text)
    if rates is None or len(counts) != 2:
        raise ValueError("its summary lacks dispatches or throughput")
    (reads, read), (writes, written) = counts
    r, w = (int(rates[n].replace(",", "")) * _UNITS[rates[n + 1]] for n in (1, 3))
    seconds = read / r if r >= w and r else written / w if w else 0.0
    if not seconds:
        raise ValueError("it moved nothing")
    sample = Sample(seconds, reads / seconds, writes / seconds, read / seconds, written / seconds)
    return {"the disk": [replace(sample, seconds=seconds)]}, ["one mean rate for the trace"], False


_UNITS = {"K": KIB, "M": MIB, "G": KIB * MIB}

_DATES = (
    "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f",
    "%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M%z",
    "%m/%d/%y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%m/%d/%y %I:%M:%S %p", "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %H:%M", "%m/%d/%Y %I:%M %p",
    "%d/%m/%y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M:%S",
)  # fmt: skip
"""How times are written; a month comes before its day unless a file has a day above 12 there."""


def _is_moment(text: str) -> bool:
    text = text.strip()
    return bool(re.match(r"\d{4}[-/]\d\d[-/]\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\s", text)) or (
        text.isdecimal() and 9 <= len(text) <= 13
    )


def _moments(texts: Sequence[str]) -> list[float]:
    """Seconds of times that are all written alike. Raises ValueError."""
    if all(text.strip().isdecimal() for text in texts):
        return [int(text) / (1000 if len(text.strip()) > 10 else 1) for text in texts]
    cleaned = [re.sub(r"\s+", " ", text.strip()).replace("Z", "+0000") for text in texts]
    for form in _DATES:
        try:
            # the clock that was recorded, as if it were UTC: a zone changes no distance
            return [datetime.strptime(t, form).replace(tzinfo=UTC).timestamp() for t in cleaned]
        except ValueError:
            continue
    raise ValueError(f"{texts[0]!r} is not a time")


def _any_starts(lines: Iterable[str], *begins: str) -> bool:
    return any(line.lstrip().startswith(begins) for line in lines)


_FORMS: tuple[tuple[Callable[[str, Sequence[str]], object], Callable[..., _Read]], ...] = (
    (lambda first, _: first == "{", _iostat_json),
    (lambda _, lines: _any_starts(lines[-5:], "Throughput (R/W):"), _blkparse),
    (lambda _, lines: lines[0].startswith("# hostname"), _sadf),
    (lambda _, lines: re.match(r"\d+,\s*\d+,\s*[012],\s*\d+", lines[0]), _fio_log),
    (lambda _, lines: any(re.search(r"\sDEV\s", line) for line in lines[:20]), _sar),
    (lambda _, lines: _any_starts(lines[:30], "Device"), _iostat_text),
    (lambda _, lines: any(map(_kinds, csv.reader(lines[:20], delimiter=_delimiter(lines)))),
     _metrics),
)  # fmt: skip

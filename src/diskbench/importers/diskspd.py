"""diskspd's results, as text (ResultParser.cpp) and as XML (diskspd_xml.py).

Bytes and I/Os are whole counts, times in ms, MiB 2^20 bytes. Each timespan is a step with a row for
reads and one for writes. The start is in UTC, as diskspd says. Latencies are there with -L only.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

from diskbench.errors import InvalidValue
from diskbench.importers.diskspd_xml import MS_NS, Timespan, from_xml, whole_count
from diskbench.importers.form import (
    MOST_STEPS,
    Format,
    Imported,
    ImportedRun,
    ImportedStep,
    head_of,
    number,
    row,
    step_of,
    text_of,
)
from diskbench.limits import JOBS
from diskbench.model.result import Direction, Measurement
from diskbench.units import KIB, MIB

_DIRECTIONS: Final[tuple[tuple[str, Direction], ...]] = (("Read", "read"), ("Write", "write"))
_SPAN = re.compile(r"^Results for timespan (\d{1,6}):", re.MULTILINE)
_SECONDS = re.compile(r"^actual test time:[ \t]+(?P<s>\d{1,9}(?:\.\d{1,6})?)s", re.MULTILINE)
_KIND = re.compile(r"(?P<kind>Read|Write|Total) IO$")
_PERCENTILE = re.compile(
    r"^ *(?P<which>min|max|\d{1,2}th|\d-nines) \| +(?P<read>[\d.]+|N/A) "
    r"\| +(?P<write>[\d.]+|N/A) \|",
    re.MULTILINE,
)
_TABLE = re.compile(r"^ *%-ile \|", re.MULTILINE)
_STARTED = re.compile(
    r"^[ \t]*start time: (?P<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) UTC", re.MULTILINE
)


def read_diskspd(data: bytes, name: str, run_id_of: Callable[[int], str]) -> Imported:
    """One run of a step for each timespan. Raises InvalidValue."""
    text = text_of(data, name)
    xml = "<Results" in text
    spans, system = from_xml(text, name) if xml else _from_text(text, name)
    if not 0 < len(spans) <= MOST_STEPS:
        raise InvalidValue(f"{name}: no timespan of diskspd with results in it")
    steps = []
    for index, span in enumerate(spans):
        at = f"{name}: timespan {index + 1}"
        rows = tuple(_rows(span, index, at, run_id_of(0)))
        if not rows:
            raise InvalidValue(f"{at}: diskspd counts no I/O")
        step = step_of(index, f"timespan-{index + 1}")
        steps.append(ImportedStep(step, rows, compared=rows[0].block_bytes is not None))
    facts = {"hosts": system["host"]} if system.get("host") else {}
    run = ImportedRun(tuple(steps), started_at=_utc(system.get("time", "")))
    return Imported("diskspd", system.get("version", ""), (run,), facts)


def _rows(span: Timespan, index: int, where: str, run_id: str) -> Iterator[Measurement]:
    seconds = number(span.seconds, where)
    block = _block(span.profile.get("block", ""))
    for kind, direction in _DIRECTIONS:
        ios, size = span.counts.get(f"{kind}Count", 0), span.counts.get(f"{kind}Bytes", 0)
        if not ios:
            continue
        if block and size != ios * block:
            raise InvalidValue(
                f"{where}: {size:,} bytes of {direction} are not {ios:,} I/Os of {block:,} bytes"
            )
        prefix = "rand" if span.profile.get("random") else ""
        yield row(
            run_id=run_id,
            step=step_of(index, f"timespan-{index + 1}"),
            direction=direction,
            ios=ios,
            size=size,
            seconds=seconds,
            where=where,
            rw=f"{prefix}{direction}" if span.profile else None,
            block=block,
            jobs=_named(span.profile.get("threads", "")) or 1,
            depth=_named(span.profile.get("depth", "")),
            latency=span.latency.get(kind),
            percentiles=span.percentiles.get(kind),
        )


def _named(text: str) -> int | None:
    """A number of threads or requests in the parameters; None for none that can be."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) and 0 < int(text) <= JOBS else None


def _block(text: str) -> int | None:
    match = re.fullmatch(r"(\d{1,12})(KiB|MiB|GiB|[KMG])?", text.strip())
    if not match:
        return None
    return int(match[1]) * {"": 1, "K": KIB, "M": MIB, "G": KIB * MIB}[(match[2] or "")[:1]] or None


def _from_text(text: str, where: str) -> tuple[list[Timespan], dict[str, str]]:
    system = {}
    if match := _STARTED.search(text):
        system["time"] = match["time"]
    if match := re.search(r"^[ \t]*computer name: (\S{1,80})", text, re.MULTILINE):
        system["host"] = match[1]
    starts = list(_SPAN.finditer(text))
    head = text[: starts[0].start()] if starts else ""
    profiles = re.split(r"^[ \t]*timespan: +\d+[ \t]*$", head, flags=re.MULTILINE)[1:]
    spans = []
    for at, start in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(text)
        part = text[start.start() : end]
        profile = _text_profile(profiles[at]) if at < len(profiles) else {}
        spans.append(_text_span(part, f"{where}: timespan {at + 1}", profile))
    return spans, system


def _text_profile(text: str) -> dict[str, str]:
    """What the parameters say where the timespan has one target, for several may differ."""
    if len(re.findall(r"^[ \t]*path: ", text, re.MULTILINE)) != 1:
        return {}
    profile = {}
    for key, sign in (
        ("block", r"block size: (\S+)"),
        ("depth", r"number of outstanding I/O operations(?: per thread)?: (\d+)"),
        ("threads", r"threads per file: (\d+)"),
        ("random", r"using (random) I/O"),
    ):
        if match := re.search(sign, text):
            profile[key] = match[1]
    return profile


def _text_span(text: str, where: str, profile: dict[str, str]) -> Timespan:
    span = Timespan(profile=profile)
    if match := _SECONDS.search(text):
        span.seconds = match["s"]
    for kind, values in _totals(text):
        if f"{kind}Bytes" in span.counts:
            continue  # of a part: what is of all comes first
        span.counts[f"{kind}Bytes"] = whole_count(values.get("bytes", ""), where)
        span.counts[f"{kind}Count"] = whole_count(values.get("I/Os", ""), where)
        if "AvgLat" in values and span.counts[f"{kind}Count"]:
            latency = {"lat_mean_ns": number(values["AvgLat"], where) * MS_NS}
            if values.get("LatStdDev", "N/A") != "N/A":
                latency["lat_stddev_ns"] = number(values["LatStdDev"], where) * MS_NS
            span.latency.setdefault(kind, {}).update(latency)
    for match in _PERCENTILE.finditer(_table_of_all(text)):
        for kind, cell in (("Read", match["read"]), ("Write", match["write"])):
            if cell != "N/A":
                _percentile(span, kind, match["which"], number(cell, where) * MS_NS)
    return span


def _table_of_all(text: str) -> str:
    """The table of percentiles of all targets: tables of single targets may follow it, under their
    paths. Empty where several tables have only such headings."""
    starts = [match.start() for match in _TABLE.finditer(text)]
    tables = [text[a:b] for a, b in itertools.pairwise([*starts, len(text)])]
    for start, table in zip(starts, tables, strict=True):
        heading = text[:start].rstrip().rpartition("\n")[2].strip()
        if heading.startswith("total") or len(tables) == 1:
            return table
    return ""


def _totals(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The line `total:` of the tables of reads and of writes, by the names of its columns."""
    kind = ""
    names: list[str] = []
    for line in text.splitlines():
        line = line[:512]
        if match := _KIND.match(line.strip()):
            kind, names = match["kind"], []
        elif line.startswith("thread |"):
            names = [cell.strip() for cell in line.split("|")][1:]
        elif line.startswith("total:") and "|" in line and names:
            cells = [cell.strip() for cell in line.removeprefix("total:").split("|")]
            if kind != "Total":
                yield kind, dict(zip(names, cells, strict=False))
            names = []


def _percentile(span: Timespan, kind: str, which: str, ns: float) -> None:
    if which in ("min", "max"):
        span.latency.setdefault(kind, {})[f"lat_{which}_ns"] = ns
    else:
        nines = which.endswith("-nines")
        fraction = 1 - 10.0 ** -int(which[0]) if nines else int(which.removesuffix("th")) / 100
        span.percentiles.setdefault(kind, {})[fraction] = ns


def _utc(text: str) -> str | None:
    try:
        moment = datetime.strptime(text.strip(), "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return moment.isoformat(timespec="microseconds")


def _recognises(data: bytes, _: str) -> bool:
    text = head_of(data)
    return _SPAN.search(text) is not None or ("<Results>" in text and "<TestTimeSeconds>" in text)


DISKSPD = Format("diskspd", "diskspd's text or XML", _recognises, read_diskspd)

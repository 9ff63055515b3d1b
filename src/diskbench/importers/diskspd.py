"""diskspd's results, as text (ResultParser.cpp) and as XML (-Rxml; XmlResultParser.cpp).

Bytes and I/Os are whole counts, times in ms, MiB 2^20 bytes. Each timespan is a step with a row for
reads and one for writes. The start is in UTC, as diskspd says. Latencies are there with -L only.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from xml.parsers import expat

from diskbench.errors import InvalidValue
from diskbench.importers import form
from diskbench.limits import COUNTER, JOBS
from diskbench.model.result import Direction, Measurement
from diskbench.model.spec import Step
from diskbench.units import KIB, MIB

_DIRECTIONS: Final[tuple[tuple[str, Direction], ...]] = (("Read", "read"), ("Write", "write"))
_SPAN = re.compile(r"^Results for timespan (\d{1,6}):", re.M)
_SECONDS = re.compile(r"^actual test time:[ \t]+(?P<s>\d{1,9}(?:\.\d{1,6})?)s", re.M)
_KIND = re.compile(r"(?P<kind>Read|Write|Total) IO$")
_PERCENTILE = re.compile(
    r"^ *(?P<which>min|max|\d{1,2}th|\d-nines) \| +(?P<read>[\d.]+|N/A) "
    r"\| +(?P<write>[\d.]+|N/A) \|",
    re.M,
)
_TABLE = re.compile(r"^ *%-ile \|", re.M)
_STARTED = re.compile(r"^[ \t]*start time: (?P<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) UTC", re.M)


def read_diskspd(data: bytes, name: str) -> form.Imported:
    """One run of a step for each timespan. Raises InvalidValue."""
    text = form.text_of(data, name)
    xml = "<Results" in text
    spans, system = from_xml(text, name) if xml else _from_text(text, name)
    steps = []
    for index, span in enumerate(form.some(spans, name, "timespan of diskspd with results")):
        at = f"{name}: timespan {index + 1}"
        step = form.step_of(index, f"timespan-{index + 1}")
        rows = tuple(_rows(span, step, at))
        if not rows:
            raise InvalidValue(f"{at}: diskspd counts no I/O")
        steps.append(form.ImportedStep(step, rows, compared=rows[0].block_bytes is not None))
    facts = {"hosts": system["host"]} if system.get("host") else {}
    run = form.ImportedRun(tuple(steps), started_at=_utc(system.get("time", "")))
    return form.Imported("diskspd", system.get("version", ""), (run,), facts)


def _rows(span: Timespan, step: Step, where: str) -> Iterator[Measurement]:
    seconds = form.number(span.seconds, where)
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
        yield form.row(
            step=step, direction=direction, where=where,
            ios=ios, size=size, seconds=seconds, block=block,
            rw=f"{prefix}{direction}" if span.profile else None,
            jobs=_count_in(span.profile.get("threads", "")) or 1,
            depth=_count_in(span.profile.get("depth", "")),
            latency=span.latency.get(kind), percentiles=span.percentiles.get(kind),
        )  # fmt: skip


def _count_in(text: str) -> int | None:
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
    if match := re.search(r"^[ \t]*computer name: (\S{1,80})", text, re.M):
        system["host"] = match[1]
    starts = list(_SPAN.finditer(text))
    head = text[: starts[0].start()] if starts else ""
    profiles = re.split(r"^[ \t]*timespan: +\d+[ \t]*$", head, flags=re.M)[1:]
    spans = []
    for at, start in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(text)
        part = text[start.start() : end]
        profile = _text_profile(profiles[at]) if at < len(profiles) else {}
        spans.append(_text_span(part, f"{where}: timespan {at + 1}", profile))
    return spans, system


def _text_profile(text: str) -> dict[str, str]:
    """What the parameters say where the timespan has one target, for several may differ."""
    if len(re.findall(r"^[ \t]*path: ", text, re.M)) != 1:
        return {}
    signs = {
        "block": r"block size: (\S+)",
        "depth": r"number of outstanding I/O operations(?: per thread)?: (\d+)",
        "threads": r"threads per file: (\d+)",
        "random": r"using (random) I/O",
    }
    return {key: match[1] for key, sign in signs.items() if (match := re.search(sign, text))}


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
            latency = {"lat_mean_ns": form.number(values["AvgLat"], where) * MS_NS}
            if values.get("LatStdDev", "N/A") != "N/A":
                latency["lat_stddev_ns"] = form.number(values["LatStdDev"], where) * MS_NS
            span.latency.setdefault(kind, {}).update(latency)
    for match in _PERCENTILE.finditer(_table_of_all(text)):
        for kind, cell in (("Read", match["read"]), ("Write", match["write"])):
            if cell != "N/A":
                which, ns = match["which"], form.number(cell, where) * MS_NS
                if which in ("min", "max"):
                    span.latency.setdefault(kind, {})[f"lat_{which}_ns"] = ns
                    continue
                percent = int(which[0]) if which.endswith("-nines") else int(which[:-2])
                fraction = 1 - 10.0**-percent if which.endswith("-nines") else percent / 100
                span.percentiles.setdefault(kind, {})[fraction] = ns
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


def _utc(text: str) -> str | None:
    try:
        moment = datetime.strptime(text.strip(), "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return moment.isoformat(timespec="microseconds")


def _recognises(data: bytes, _: str) -> bool:
    text = form.head_of(data)
    return _SPAN.search(text) is not None or ("<Results>" in text and "<TestTimeSeconds>" in text)


DISKSPD = form.Format("diskspd", "diskspd's text or XML", _recognises, read_diskspd)


_XML_BYTES: Final = 16 * MIB
"""A result of 800 threads with a latency histogram takes 2 MB."""
_DEEPEST: Final = 32
"""Levels of elements; diskspd writes eight."""


MS_NS: Final = 1e6
"""Nanoseconds of a millisecond: diskspd prints times in ms."""


@dataclass
class Timespan:
    """One timespan: counts of each direction, and latencies in ns."""

    seconds: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    latency: dict[str, dict[str, float]] = field(default_factory=dict)
    percentiles: dict[str, dict[float, float]] = field(default_factory=dict)
    profile: dict[str, str] = field(default_factory=dict)


def whole_count(text: str, where: str) -> int:
    """A count of I/Os or bytes. Raises InvalidValue for what is no whole number, or too large."""
    if not text.isascii() or not text.isdecimal() or len(text) > 19 or int(text) > COUNTER:
        raise InvalidValue(f"{where}: {text[:40]!r} is not a count")
    return int(text)


def from_xml(text: str, where: str) -> tuple[list[Timespan], dict[str, str]]:
    """The timespans of a result, and what it says of the machine: `host`, `time` and `version`.
    Raises InvalidValue for what is not diskspd's XML."""
    spans: list[Timespan] = []
    system: dict[str, str] = {}
    bucket: dict[str, str] = {}
    targets: list[dict[str, str]] = []
    for path, content in _elements(text, where):
        match path:
            case ("Results", "System", *_, "ComputerName"):
                system["host"] = content[:80]
            case ("Results", "System", *_, "RunTime") if content.endswith(" UTC"):
                system["time"] = content.removesuffix(" UTC")
            case ("Results", "System", *_, "Tool", "Version"):
                system["version"] = content[:40]
            case ("Results", "Profile", *_, "Targets", "Target", _):
                if path[-1] == "Path" or not targets:
                    targets.append({})
                targets[-1][path[-1]] = content
            case ("Results", "TimeSpan", "begin"):
                spans.append(Timespan())
            case ("Results", "TimeSpan", "Latency", "Bucket", key):
                bucket[key] = content
            case ("Results", "TimeSpan", "Latency", "Bucket"):
                _bucket(spans[-1], bucket, where)
                bucket = {}
            case ("Results", "TimeSpan", *_):
                _figure(spans[-1], path[2:], content, where)
    if len(spans) == 1 and len(targets) == 1:
        spans[0].profile = {key: targets[0].get(tag, "") for key, tag in _TAGS.items()}
    return spans, system


def _figure(span: Timespan, path: tuple[str, ...], content: str, where: str) -> None:
    """Add one figure of a timespan; others are left out."""
    if path == ("TestTimeSeconds",):
        span.seconds = content
    elif path[:2] == ("Thread", "Target") and path[2:] in _COUNTS:
        span.counts[path[-1]] = span.counts.get(path[-1], 0) + whole_count(content, where)
    elif path[:1] == ("Latency",) and path[-1] in _LATENCIES and len(path) == 2:
        kind, name = _LATENCIES[path[-1]]
        span.latency.setdefault(kind, {})[name] = form.number(content, where) * MS_NS


_TAGS: Final = {
    "block": "BlockSize", "depth": "RequestCount", "threads": "ThreadsPerFile", "random": "Random",
}  # fmt: skip
"""What a profile says → its tag; the last one has the distance of what is at random."""
_COUNTS: Final = (("ReadBytes",), ("ReadCount",), ("WriteBytes",), ("WriteCount",))
_LATENCIES: Final[Mapping[str, tuple[str, str]]] = {
    "AverageReadMilliseconds": ("Read", "lat_mean_ns"),
    "AverageWriteMilliseconds": ("Write", "lat_mean_ns"),
    "ReadLatencyStdev": ("Read", "lat_stddev_ns"),
    "WriteLatencyStdev": ("Write", "lat_stddev_ns"),
}


def _bucket(span: Timespan, bucket: Mapping[str, str], where: str) -> None:
    """One row of the table of percentiles: 0 is the shortest latency, 100 the longest."""
    percent = form.number(bucket.get("Percentile", "nan"), where)
    for kind in ("Read", "Write"):
        content = bucket.get(f"{kind}Milliseconds")
        if content is None or percent > 100:
            continue
        ns = form.number(content, where) * MS_NS
        if percent in (0.0, 100.0):
            which = "min" if percent == 0 else "max"
            span.latency.setdefault(kind, {})[f"lat_{which}_ns"] = ns
        else:
            span.percentiles.setdefault(kind, {})[percent / 100] = ns


def _elements(text: str, where: str) -> list[tuple[tuple[str, ...], str]]:
    """The elements in the order in which they end, each with its path and text; a TimeSpan also
    where it begins. Raises InvalidValue for what is not XML, and for XML that declares entities."""
    if len(text) > _XML_BYTES:
        raise InvalidValue(f"{where}: XML of more than {_XML_BYTES // MIB} MiB is not read")
    elements: list[tuple[tuple[str, ...], str]] = []
    path: list[str] = []
    content: list[str] = []

    def start(tag: str, _: dict[str, str]) -> None:
        path.append(tag)
        content.clear()
        if len(path) > _DEEPEST:
            raise InvalidValue(f"{where}: its elements are nested deeper than {_DEEPEST} levels")
        if path == ["Results", "TimeSpan"]:
            elements.append((("Results", "TimeSpan", "begin"), ""))

    def end(_: str) -> None:
        elements.append((tuple(path), "".join(content).strip()))
        path.pop()
        content.clear()

    def refused(*_: Any) -> None:  # noqa: ANN401 - expat's signature
        raise InvalidValue(f"{where}: it declares a document type, which diskspd never writes")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = content.append
    parser.StartDoctypeDeclHandler = refused
    parser.EntityDeclHandler = refused
    try:
        body = text[text.index("<Results") :]
        parser.Parse(body[: body.rindex("</Results>") + len("</Results>")], True)  # noqa: FBT003
    except (expat.ExpatError, ValueError) as error:
        raise InvalidValue(f"{where}: not readable as XML of diskspd: {error}") from error
    return elements

"""diskspd's results as XML (-Rxml) (XmlResultParser.cpp), and what both of its forms report of one
timespan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from xml.parsers import expat

from diskbench.errors import InvalidValue
from diskbench.importers.form import number
from diskbench.limits import COUNTER
from diskbench.units import MIB

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
    if not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) > COUNTER:
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
            case ("Results", "System", *_):
                _system(system, path, content)
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
        spans[0].profile = _xml_profile(targets[0])
    return spans, system


def _system(system: dict[str, str], path: tuple[str, ...], content: str) -> None:
    if path[-1] == "ComputerName":
        system["host"] = content[:80]
    elif path[-1] == "RunTime" and content.endswith(" UTC"):
        system["time"] = content.removesuffix(" UTC")
    elif path[-2:] == ("Tool", "Version"):
        system["version"] = content[:40]


def _figure(span: Timespan, path: tuple[str, ...], content: str, where: str) -> None:
    """Add one figure of a timespan; others are left out."""
    if path == ("TestTimeSeconds",):
        span.seconds = content
    elif path[:2] == ("Thread", "Target") and path[2:] in _COUNTS:
        span.counts[path[-1]] = span.counts.get(path[-1], 0) + whole_count(content, where)
    elif path[:1] == ("Latency",) and path[-1] in _LATENCIES and len(path) == 2:
        kind, name = _LATENCIES[path[-1]]
        span.latency.setdefault(kind, {})[name] = number(content, where) * MS_NS


_COUNTS: Final = (("ReadBytes",), ("ReadCount",), ("WriteBytes",), ("WriteCount",))
_LATENCIES: Final[Mapping[str, tuple[str, str]]] = {
    "AverageReadMilliseconds": ("Read", "lat_mean_ns"),
    "AverageWriteMilliseconds": ("Write", "lat_mean_ns"),
    "ReadLatencyStdev": ("Read", "lat_stddev_ns"),
    "WriteLatencyStdev": ("Write", "lat_stddev_ns"),
}


def _bucket(span: Timespan, bucket: Mapping[str, str], where: str) -> None:
    """One row of the table of percentiles: 0 is the shortest latency, 100 the longest."""
    percent = number(bucket.get("Percentile", "nan"), where)
    for kind in ("Read", "Write"):
        content = bucket.get(f"{kind}Milliseconds")
        if content is None or percent > 100:
            continue
        ns = number(content, where) * MS_NS
        if percent in (0.0, 100.0):
            which = "min" if percent == 0 else "max"
            span.latency.setdefault(kind, {})[f"lat_{which}_ns"] = ns
        else:
            span.percentiles.setdefault(kind, {})[percent / 100] = ns


def _xml_profile(target: Mapping[str, str]) -> dict[str, str]:
    profile = {
        "block": target.get("BlockSize", ""),
        "depth": target.get("RequestCount", ""),
        "threads": target.get("ThreadsPerFile", ""),
    }
    if target.get("Random"):
        profile["random"] = "random"
    return profile


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

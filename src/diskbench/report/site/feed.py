"""The Atom feed of a site's regressions (RFC 4287): an entry for each level that became worse.

Ids are name-based UUIDs (RFC 4122, version 5) of the site's address, or of its title where no
address is known, and of what changed: a site that is made anew in another folder keeps them, and a
reader sees no entry twice. Links are relative to the feed where no address is known, as RFC 4287
allows.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, UUID, uuid5
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from diskbench.report.assemble.words import figure_text
from diskbench.report.charts.history import change_text
from diskbench.report.site.in_site import run_href
from diskbench.report.site.table import moment
from diskbench.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.history import ConfigurationLine, NewLevel
    from diskbench.report.site.index import Site

FEED = "feed.xml"
MOST_ENTRIES = 100
"""The newest of them: readers of feeds ask for the whole file each time. Our choice."""
_ATOM = "http://www.w3.org/2005/Atom"
_NEVER = "1970-01-01T00:00:00Z"
"""When a feed without any measurement was updated: RFC 4287 demands a time."""


def regressions_feed(site: Site, lines: Sequence[ConfigurationLine]) -> bytes:
    """The feed: levels of IOPS that became worse, the newest first, as UTF-8."""
    own = uuid5(NAMESPACE_URL, site.url or f"diskbench site {site.title}")
    worse = sorted(
        ((level, line) for line in lines for level in line.levels if level.worse),
        key=lambda pair: (pair[0].at, pair[1].key),
        reverse=True,
    )[:MOST_ENTRIES]
    newest = [level.at for level, _ in worse] or [line.last for line in lines if line.last]
    feed = Element("feed", {"xmlns": _ATOM})
    _text(feed, "id", own.urn)
    _text(feed, "title", f"{site.title}: regressions")
    _text(feed, "updated", _time(max(newest, default="")))
    _text(SubElement(feed, "author"), "name", site.title)
    _text(feed, "generator", "diskbench")
    SubElement(feed, "link", {"rel": "alternate", "href": f"{site.url}index.html"})
    if site.url:
        SubElement(feed, "link", {"rel": "self", "href": f"{site.url}{FEED}"})
    for level, line in worse:
        _entry(feed, site, own, level, line)
    indent(feed)
    text = tostring(feed, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def _entry(feed: Element, site: Site, own: UUID, level: NewLevel, line: ConfigurationLine) -> None:
    show = figure_text(level.metric)
    marks = f" [{', '.join(line.marks)}]" if line.marks else ""
    change = f"{show(level.before)} → {show(level.after)} ({change_text(level.change)})"
    entry = SubElement(feed, "entry")
    of = (line.key, level.step, level.direction, level.metric, level.run_id)
    _text(entry, "id", uuid5(own, " ".join(of)).urn)
    _text(entry, "title", f"{line.words}{marks}, {level.words}: {change}")
    _text(entry, "updated", _time(level.at))
    page = f"{site.url}configurations/{line.key}.html"
    SubElement(entry, "link", {"rel": "alternate", "type": "text/html", "href": page})
    run = f"{site.url}{run_href(level.trial_id, level.run_id)}"
    SubElement(entry, "link", {"rel": "related", "type": "text/html", "href": run})
    _text(
        entry,
        "summary",
        f"{level.words} of {line.words} is worse since {moment(level.at)} UTC: {change}.",
    )


def _text(parent: Element, name: str, text: str) -> None:
    """An element with text; control characters, which XML forbids, are made visible."""
    SubElement(parent, name).text = visible(text)


def _time(utc: str) -> str:
    """A time as RFC 3339 writes it."""
    if not utc:
        return _NEVER
    at = datetime.fromisoformat(utc).astimezone(UTC).isoformat(timespec="seconds")
    return at.replace("+00:00", "Z")

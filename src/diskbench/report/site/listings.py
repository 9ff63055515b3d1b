"""The listings of a published site: its index, its newest runs, and the Atom feed of its
regressions (RFC 4287). The feed's ids are name-based UUIDs (RFC 4122, version 5) of the site's
address, or of its title where none is known, and of what changed: a site that is made anew in
another folder keeps them. Its links are relative to the feed where no address is known."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from diskbench.model.history import ConfigurationLine, NewLevel, SiteRunLine
from diskbench.report.assemble.words import NO_DATE, change_text, figure_text
from diskbench.report.site import frame
from diskbench.report.site.frame import Site
from diskbench.report.site.table import configurations_table, runs_table
from diskbench.report.templates import environment
from diskbench.units import counted

CHANGES_SHOWN = 10
FEED = "feed.xml"
MOST_ENTRIES = 100
"""The newest of them: readers of feeds ask for the whole file each time. Our choice."""
_NEVER = "1970-01-01T00:00:00Z"
"""When a feed without any measurement was updated: RFC 4287 demands a time."""


def index_page(site: Site, lines: Sequence[ConfigurationLine], *, runs: int) -> bytes:
    """The start page: every configuration, and the newest changes of level."""
    all_levels = ((level, line) for line in lines for level in line.levels)
    changed = sorted(all_levels, key=lambda pair: pair[0].at, reverse=True)
    changes = [
        {
            "key": line.key,
            "words": line.words,
            "step": level.words,
            "worse": level.worse,
            "at": frame.day(level.at),
            "before": figure_text(level.metric)(level.before),
            "after": figure_text(level.metric)(level.after),
            "change": change_text(level.change),
        }
        for level, line in changed[:CHANGES_SHOWN]
    ]
    summary = "Nothing was measured yet."
    if lines:
        count = f"{counted(runs, 'run')} of {counted(len(lines), 'configuration')}"
        summary = f"{count}, {_between(at for line in lines for at in (line.first, line.last))}"
    return frame.render(
        "site_index.html.j2",
        site,
        here="index",
        heading=site.title,
        summary=summary,
        changes=changes,
        more_changes=max(0, len(changed) - CHANGES_SHOWN),
        table=configurations_table(lines),
        foot=(
            "IOPS are sustained rates: medians over n machines since the level last changed, of "
            "the step with the most IOPS in that direction. Burst: the run ended before the credit "
            "did, so the lasting rate was not measured. The price is that of a month of the disk "
            "when it was last measured; per 1,000 IOPS it uses the higher of read and write IOPS."
        ),
    )


def runs_page(site: Site, lines: Sequence[SiteRunLine], *, runs: int) -> bytes:
    """The page of the newest runs, newest first, of all `runs` of the site."""
    summary = _between(line.at for line in lines)
    foot = "IOPS are those of the step with the most IOPS in that direction."
    if runs > len(lines):
        summary = f"the newest {len(lines):,} of {runs:,} runs, {summary}"
        foot += " Older runs are on the pages of their configurations."
    return frame.render(
        "site_index.html.j2",
        site,
        here="runs",
        heading="All runs" if runs == len(lines) else "The newest runs",
        summary=summary,
        changes=(),
        more_changes=0,
        table=runs_table(lines),
        foot=foot,
    )


def _between(moments: Iterable[str]) -> str:
    ordered = sorted(filter(None, moments))
    if not ordered:
        return NO_DATE
    span = frame.days(ordered[0], ordered[-1])
    return f"{span}, the newest at {frame.moment(ordered[-1])[11:]}" if " to " in span else span


def regressions_feed(site: Site, lines: Sequence[ConfigurationLine]) -> bytes:
    """The feed: levels of IOPS that became worse, the newest first, as UTF-8."""
    own = uuid5(NAMESPACE_URL, site.url or f"diskbench site {site.title}")
    all_worse = ((level, line) for line in lines for level in line.levels if level.worse)
    worse = sorted(all_worse, key=lambda pair: (pair[0].at, pair[1].key), reverse=True)
    worse = worse[:MOST_ENTRIES]
    newest = [level.at for level, _ in worse] or [line.last for line in lines if line.last]
    feed = environment().get_template("site_feed.xml.j2")
    entries = [_entry(own, level, line) for level, line in worse]
    updated = _time(max(newest, default=""))
    return feed.render(site=site, id=own.urn, updated=updated, entries=entries).encode() + b"\n"


def _entry(own: UUID, level: NewLevel, line: ConfigurationLine) -> dict[str, str]:
    show = figure_text(level.metric)
    of = (line.key, level.step, level.direction, level.metric, level.run_id)
    return {
        "id": uuid5(own, " ".join(of)).urn,
        "of": line.words,
        "marks": f" [{', '.join(line.marks)}]" if line.marks else "",
        "step": level.words,
        "change": f"{show(level.before)} → {show(level.after)} ({change_text(level.change)})",
        "updated": _time(level.at),
        "since": frame.moment(level.at),
        "page": frame.configuration_name(line.key),
        "run": frame.run_href(level.trial_id, level.run_id),
    }


def _time(utc: str) -> str:
    """A time as RFC 3339 writes it."""
    at = datetime.fromisoformat(utc or _NEVER).astimezone(UTC).isoformat(timespec="seconds")
    return at.replace("+00:00", "Z")

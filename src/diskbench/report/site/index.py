"""The index of a published site: all configurations, all runs, and the newest changes.

Pure: lines in, HTML out. A page contains its style and script, both shipped with diskbench, and
its policy forbids all network requests: it works from a file as well as from any host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from markupsafe import Markup

from diskbench.report.assemble.words import NO_DATE, figure_text
from diskbench.report.charts.history import change_text
from diskbench.report.site.table import (
    configurations_table,
    day,
    moment,
    runs_table,
)
from diskbench.report.templates import asset, environment, policy, styled

if TYPE_CHECKING:
    from diskbench.model.history import ConfigurationLine, SiteRunLine

CHANGES_SHOWN = 10
METRIC_TITLES = {
    "iops": "IOPS",
    "bytes_per_s": "MB/s",
    "lat_mean_ns": "mean latency",
    "p50_ns": "p50 latency",
    "p99_ns": "p99 latency",
    "p99_9_ns": "p99.9 latency",
}


@dataclass(frozen=True)
class Site:
    """The values that all pages of a site share. `url` is its public address, with a `/` at its
    end; empty where it is not known."""

    title: str
    version: str
    url: str = ""


def index_page(site: Site, lines: Sequence[ConfigurationLine], *, runs: int) -> bytes:
    """The start page: every configuration, and the newest changes of level."""
    changed = sorted(
        ((level, line) for line in lines for level in line.levels),
        key=lambda pair: pair[0].at,
        reverse=True,
    )
    changes = [
        {
            "key": line.key,
            "words": line.words,
            "step": level.words,
            "worse": level.worse,
            "at": day(level.at),
            "before": figure_text(level.metric)(level.before),
            "after": figure_text(level.metric)(level.after),
            "change": change_text(level.change),
        }
        for level, line in changed[:CHANGES_SHOWN]
    ]
    return render(
        "site_index.html.j2",
        site,
        here="index",
        heading=site.title,
        summary=_summary(lines, runs),
        changes=changes,
        more_changes=max(0, len(changed) - CHANGES_SHOWN),
        table=configurations_table(lines),
        foot=(
            "IOPS are those that last: medians over n machines since the level last changed, of "
            "the step with the most IOPS in that direction. Burst: the run ended before the credit "
            "did, so the lasting rate was not measured. The price is that of a month of the disk "
            "when it was last measured; per 1,000 IOPS it is over the higher of both figures."
        ),
    )


def runs_page(site: Site, lines: Iterable[SiteRunLine], *, runs: int) -> bytes:
    """The page of the newest runs, newest first, of all `runs` of the site. Each line is let go
    when its cells are made: 10,000 lines are 35 MB."""
    times: list[str] = []

    def timed() -> Iterator[SiteRunLine]:
        for line in lines:
            times.append(line.at)
            yield line

    table = runs_table(timed())
    summary = _between(times)
    foot = "IOPS are those of the step with the most of them in that direction."
    if runs > len(times):
        summary = f"the newest {len(times):,} of {runs:,} runs, {summary}"
        foot += " Older runs are on the pages of their configurations."
    return render(
        "site_index.html.j2",
        site,
        here="runs",
        heading="All runs" if runs == len(times) else "The newest runs",
        summary=summary,
        changes=(),
        more_changes=0,
        table=table,
        foot=foot,
    )


def render(
    template: str,
    site: Site,
    *,
    here: str = "",
    up: str = "",
    charts: bool = False,
    **values: object,
) -> bytes:
    """A page of the site in UTF-8; `charts`: it contains charts.

    All text from users and machines is escaped. It is encoded piece by piece: as one text a page of
    10,000 runs takes four times its 6 MB, because a text with one arrow has two bytes a letter.
    """
    scripts = [asset("site.js"), *([asset("page.js")] if charts else [])]
    frame = styled("site.css", "") | {"policy": policy(*scripts)}
    pieces = (
        environment()
        .get_template(template)
        .generate(
            site_title=site.title,
            version=site.version,
            here=here,
            up=up,
            scripts=[Markup(script) for script in scripts],  # noqa: S704 - shipped with the program
            **frame,
            **values,
        )
    )
    data = BytesIO()
    for piece in pieces:
        data.write(piece.encode())
    return data.getvalue()


def _summary(lines: Sequence[ConfigurationLine], runs: int) -> str:
    if not lines:
        return "Nothing was measured yet."
    count = (
        f"{runs:,} run{'s'[: runs != 1]} of {len(lines):,} configuration{'s'[: len(lines) != 1]}"
    )
    return f"{count}, {_between([at for line in lines for at in (line.first, line.last)])}"


def _between(moments: Iterable[str]) -> str:
    ordered = sorted(filter(None, moments))
    if not ordered:
        return NO_DATE
    first, last = day(ordered[0]), day(ordered[-1])
    return (
        first if first == last else f"{first} to {last}, the newest at {moment(ordered[-1])[11:]}"
    )

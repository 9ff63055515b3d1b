"""Tables of the published site: cell texts, sort keys and filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from diskbench.analysis.drift import LEAST_HISTORY
from diskbench.model.history import Best, ConfigurationLine, SiteRunLine
from diskbench.model.ids import short
from diskbench.model.verdict import Trust
from diskbench.report.assemble.words import change_text
from diskbench.report.site.frame import configuration_name, day, moment, run_href
from diskbench.units import format_iops, format_usd

SHOWN_FIRST = 100
"""Rows that are shown at first; the others are in the page too, and a script shows them."""
SHOWN_OF_SUBJECT = 20
_EXAMPLE = ("10,000 read IOPS, the cheapest first", "#least-read=10000&sort=thousand")


@dataclass(frozen=True)
class Column:
    """A column. `facet`: readers can filter by its values; `number`: sorted as numbers; `minor`:
    hidden on a phone; `named`: a phone shows its title before the cell, as for numbers; `long`:
    its text may wrap; `least`: readers can ask for a least value."""

    key: str
    title: str
    facet: bool = False
    number: bool = False
    minor: bool = False
    long: bool = False
    named: bool = False
    least: bool = False

    @property
    def classes(self) -> str:
        """The CSS classes of its cells."""
        named = (("number", self.number), ("minor", self.minor), ("wrap", self.long))
        return " ".join(name for name, holds in named if holds)


@dataclass(frozen=True, slots=True)
class SiteCell:
    """Text, and the sort key if that differs from the text; `small` is shown below the text."""

    text: str
    sort: str | float | None = None
    href: str = ""
    small: str = ""
    tone: str = ""


@dataclass(frozen=True)
class SiteTable:
    """Rows of cells in the order of `columns`; `what` names them. `sorted_by` is a column's key,
    with − for descending order; `step` rows are shown at once. `example` is a view worth trying:
    its words, and its address within the page."""

    what: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[SiteCell, ...], ...]
    sorted_by: str
    step: int = SHOWN_FIRST
    example: tuple[str, str] | None = None

    @property
    def leasts(self) -> list[tuple[int, Column]]:
        """The columns of which readers can ask for a least value: index and column."""
        return [(place, column) for place, column in enumerate(self.columns) if column.least]

    @property
    def facets(self) -> list[tuple[int, Column, list[tuple[str, int]]]]:
        """The columns to filter by: index, column, and its values with their row counts; without
        columns whose value is the same in all rows."""
        facets = []
        for place, column in enumerate(self.columns):
            values = Counter(row[place].text for row in self.rows) if column.facet else Counter()
            if len(values) > 1:
                facets.append((place, column, sorted(values.items())))
        return facets


def runs_table(
    lines: Iterable[SiteRunLine], *, up: str = "", one_subject: bool = False
) -> SiteTable:
    """Runs, newest first. `up` is the relative path from the page to the site's root. With
    `one_subject`, the columns that are equal in all rows are left out."""
    columns = (
        Column("when", "when (UTC)"),
        Column("provider", "provider", facet=True),
        Column("disk", "disk", facet=True),
        Column("region", "region", facet=True),
        Column("machine", "machine", facet=True, minor=True),
        Column("profile", "profile", facet=True),
        Column("state", "state", facet=True, minor=True),
        Column("trust", "trust", facet=True, named=True),
        Column("limit", "limited by", facet=True, minor=True),
        Column("read", "read IOPS", number=True),
        Column("write", "write IOPS", number=True),
        Column("labels", "labels", minor=True, long=True),
        Column("run", "run", minor=True),
    )
    same = {"provider", "disk", "region", "machine", "profile"} if one_subject else set()
    return _table(
        "runs",
        columns,
        [_run_cells(line, up) for line in lines],
        sorted_by="-when",
        step=SHOWN_OF_SUBJECT if one_subject else SHOWN_FIRST,
        without=same,
    )


def _run_cells(line: SiteRunLine, up: str) -> tuple[SiteCell, ...]:
    labels = ", ".join(f"{key}={value}" for key, value in line.labels)
    return (
        SiteCell(moment(line.at), line.at, href=f"{up}{run_href(line.trial_id, line.run_id)}"),
        SiteCell(line.provider, small=", ".join(line.marks)),
        SiteCell(line.disk, href=f"{up}{configuration_name(line.key)}" if line.disk else ""),
        SiteCell(line.region),
        SiteCell(line.machine),
        SiteCell(line.profile),
        SiteCell(line.state, tone="" if line.state == "done" else "bad"),
        trust_cell(line.trust),
        SiteCell(line.limiter),
        best_cell(line.read),
        best_cell(line.write),
        SiteCell(labels),
        SiteCell(short(line.run_id), line.run_id),
    )


def configurations_table(lines: Sequence[ConfigurationLine]) -> SiteTable:
    """Configurations, the cheapest a month first, as `advise` ranks disks: whoever asks for a least
    rate sees on top what carries it. Those without a price stand below, by provider and disk."""
    columns = (
        Column("provider", "provider", facet=True),
        Column("region", "region", facet=True),
        Column("disk", "disk", facet=True),
        Column("machine", "machine", facet=True, minor=True),
        Column("profile", "profile", facet=True),
        Column("read", "read IOPS", number=True, least=True),
        Column("write", "write IOPS", number=True, least=True),
        Column("month", "price a month", number=True),
        Column("thousand", "price per 1,000 IOPS", number=True),
        Column("last", "measured (UTC)", named=True),
        Column("trust", "trust", facet=True, named=True),
        Column("level", "over time", facet=True, named=True),
        Column("change", "last change", number=True),
        Column("machines", "n", number=True, minor=True),
        Column("runs", "runs", number=True, minor=True),
    )
    ordered = sorted(lines, key=_rank)
    telling = _telling(ordered)
    rows = [_configuration_cells(line, telling[line.key]) for line in ordered]
    is_priced = any(line.usd_a_month is not None for line in lines)
    by = "month" if is_priced else "provider"
    table = _table("configurations", columns, rows, sorted_by=by)
    priced = any(line.usd_per_1000_iops is not None for line in lines)
    return replace(table, example=_EXAMPLE) if priced else table


def _rank(line: ConfigurationLine) -> tuple[bool, float, str, str, str, str]:
    price = line.usd_a_month
    named = (line.provider, line.region, line.disk, line.machine)
    return (price is None, price or 0.0, *named)


def _telling(lines: Sequence[ConfigurationLine]) -> dict[str, str]:
    """For each configuration the fields that distinguish it from others with the same columns."""
    alike: dict[tuple[str, ...], list[ConfigurationLine]] = {}
    for line in lines:
        shown = (line.provider, line.disk, line.region, line.machine, line.profile, line.target)
        alike.setdefault(shown, []).append(line)
    telling = {}
    for group in alike.values():
        known = [dict(line.rest) for line in group]
        names = {name for line in known for name in line}
        apart = {name for name in names if len({line.get(name) for line in known}) > 1}
        for line in group:
            words = [f"{name} {value}" for name, value in line.rest if name in apart]
            telling[line.key] = ", ".join(
                [*([line.target] if line.disk and line.target else []), *words]
            )
    return telling


def _configuration_cells(line: ConfigurationLine, telling: str) -> tuple[SiteCell, ...]:
    change = line.levels[-1] if line.levels else None
    some = 0 < line.doubted < line.runs
    of = f"{line.doubted:,} of {line.runs:,} runs" if some else ""
    level = "steady" if line.followed else f"under {LEAST_HISTORY} times"
    if change is not None:
        level = "worse" if change.worse else "better"
    elif line.times == 1:
        level = "measured once"
    return (
        SiteCell(line.provider, small=", ".join(line.marks)),
        SiteCell(line.region),
        SiteCell(
            line.disk or line.target or "not named",
            href=configuration_name(line.key),
            small=telling,
        ),
        SiteCell(line.machine),
        SiteCell(line.profile),
        best_cell(line.read),
        best_cell(line.write),
        usd_cell(line.usd_a_month),
        usd_cell(line.usd_per_1000_iops, of=line.most[0] if line.most else ""),
        SiteCell(day(line.last), line.last),
        trust_cell(line.trust, of),
        SiteCell(level, tone="bad" if level == "worse" else ""),
        SiteCell(change_text(change.change), change.change, small=day(change.at))
        if change
        else SiteCell(""),
        SiteCell(f"{line.machines:,}", line.machines),
        SiteCell(f"{line.runs:,}", line.runs),
    )


def trust_cell(trust: Trust | None, small: str = "") -> SiteCell:
    """Whether to trust the figures; empty without a verdict."""
    tones = {"no": "bad", "with care": "doubt"}
    return SiteCell(trust or "", small=small, tone=tones.get(trust or "", ""))


def usd_cell(usd: float | None, of: str = "") -> SiteCell:
    """A price, and below it the direction of the IOPS that it is `of`; empty where not known."""
    return SiteCell("") if usd is None else SiteCell(format_usd(usd), usd, small=of)


def best_cell(best: Best | None) -> SiteCell:
    """The highest figure of a direction, with its step. A figure on burst credit is below all that
    last, for who sorts and for who asks for a least value."""
    if best is None:
        return SiteCell("")
    if best.on_credit:
        return SiteCell(format_iops(best.value), -1, small=f"burst, {best.step}", tone="doubt")
    return SiteCell(format_iops(best.value), best.value, small=best.step)


def _table(
    what: str,
    columns: Sequence[Column],
    rows: Sequence[tuple[SiteCell, ...]],
    *,
    sorted_by: str,
    step: int = SHOWN_FIRST,
    without: Collection[str] = (),
) -> SiteTable:
    """A table without its empty columns."""
    filled = [
        place
        for place, column in enumerate(columns)
        if column.key not in without and (not rows or any(row[place].text for row in rows))
    ]
    return SiteTable(
        what=what,
        columns=tuple(columns[place] for place in filled),
        rows=tuple(tuple(row[place] for place in filled) for row in rows),
        sorted_by=sorted_by,
        step=step,
    )

"""Tables of the published site: cell texts, sort keys and filters."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeVar

from diskbench.analysis.drift import LEAST_HISTORY
from diskbench.model.history import Best, ConfigurationLine, SiteRunLine
from diskbench.model.ids import short
from diskbench.model.verdict import Trust
from diskbench.parallel import grouped
from diskbench.report.assemble.lines import TableCell
from diskbench.report.assemble.words import change_text
from diskbench.report.site.frame import configuration_name, day, moment, run_href
from diskbench.units import format_iops, format_usd

Line = TypeVar("Line", SiteRunLine, ConfigurationLine)
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


@dataclass(frozen=True)
class SiteTable:
    """Rows of cells in the order of `columns`; `what` names them. `sorted_by` is a column's key,
    with − for descending order; `step` rows are shown at once. `example` is a view worth trying:
    its words, and its address within the page."""

    what: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[TableCell, ...], ...]
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


_Cells = tuple[tuple[Column, Callable[[Line], TableCell]], ...]
"""The columns of a table, each with what makes its cells."""


def runs_table(
    lines: Sequence[SiteRunLine], *, up: str = "", one_subject: bool = False
) -> SiteTable:
    """Runs, newest first. `up` is the relative path from the page to the site's root. With
    `one_subject`, the columns that are equal in all rows are left out."""
    cells: _Cells[SiteRunLine] = (
        (Column("when", "when (UTC)"), lambda of: TableCell(
            moment(of.at), of.at, href=f"{up}{run_href(of.trial_id, of.run_id)}")),
        (Column("provider", "provider", facet=True), _provider),
        (Column("disk", "disk", facet=True), lambda of: TableCell(
            of.disk, href=f"{up}{configuration_name(of.key)}" if of.disk else "")),
        (Column("region", "region", facet=True), lambda of: TableCell(of.region)),
        (Column("machine", "machine", facet=True, minor=True), lambda of: TableCell(of.machine)),
        (Column("profile", "profile", facet=True), lambda of: TableCell(of.profile)),
        (Column("state", "state", facet=True, minor=True), lambda of: TableCell(
            of.state, tone="" if of.state == "done" else "bad")),
        (Column("trust", "trust", facet=True, named=True), lambda of: trust_cell(of.trust)),
        (Column("limit", "limited by", facet=True, minor=True), lambda of: TableCell(of.limiter)),
        (Column("read", "read IOPS", number=True), lambda of: best_cell(of.read)),
        (Column("write", "write IOPS", number=True), lambda of: best_cell(of.write)),
        (Column("labels", "labels", minor=True, long=True), lambda of: TableCell(
            ", ".join(f"{key}={value}" for key, value in of.labels))),
        (Column("run", "run", minor=True), lambda of: TableCell(short(of.run_id), of.run_id)),
    )  # fmt: skip
    same = ("provider", "disk", "region", "machine", "profile") if one_subject else ()
    table = _table("runs", cells, lines, sorted_by="-when", without=same)
    return replace(table, step=SHOWN_OF_SUBJECT) if one_subject else table


def configurations_table(lines: Sequence[ConfigurationLine]) -> SiteTable:
    """Configurations, the cheapest a month first, as `advise` ranks disks: whoever asks for a least
    rate sees on top what carries it. Those without a price stand below, by provider and disk."""
    named = attrgetter("provider", "region", "disk", "machine")
    ordered = sorted(
        lines, key=lambda of: (of.usd_a_month is None, of.usd_a_month or 0.0, named(of))
    )
    telling = _telling(ordered)
    cells: _Cells[ConfigurationLine] = (
        (Column("provider", "provider", facet=True), _provider),
        (Column("region", "region", facet=True), lambda of: TableCell(of.region)),
        (Column("disk", "disk", facet=True), lambda of: TableCell(
            of.disk or of.target or "not named", href=configuration_name(of.key),
            small=telling[of.key])),
        (Column("machine", "machine", facet=True, minor=True), lambda of: TableCell(of.machine)),
        (Column("profile", "profile", facet=True), lambda of: TableCell(of.profile)),
        (Column("read", "read IOPS", number=True, least=True), lambda of: best_cell(of.read)),
        (Column("write", "write IOPS", number=True, least=True), lambda of: best_cell(of.write)),
        (Column("month", "price a month", number=True), lambda of: usd_cell(of.usd_a_month)),
        (Column("thousand", "price per 1,000 IOPS", number=True), lambda of: usd_cell(
            of.usd_per_1000_iops, of=of.most[0] if of.most else "")),
        (Column("last", "measured (UTC)", named=True), lambda of: TableCell(day(of.last), of.last)),
        (Column("trust", "trust", facet=True, named=True), lambda of: trust_cell(
            of.trust,
            f"{of.doubted:,} of {of.runs:,} runs" if 0 < of.doubted < of.runs else "")),
        (Column("level", "over time", facet=True, named=True), _level_cell),
        (Column("change", "last change", number=True), lambda of: TableCell(
            change_text(of.levels[-1].change), of.levels[-1].change, small=day(of.levels[-1].at),
        ) if of.levels else TableCell("")),
        (Column("machines", "n", number=True, minor=True), lambda of: TableCell(
            f"{of.machines:,}", of.machines)),
        (Column("runs", "runs", number=True, minor=True), lambda of: TableCell(
            f"{of.runs:,}", of.runs)),
    )  # fmt: skip
    by = "month" if any(line.usd_a_month is not None for line in lines) else "provider"
    table = _table("configurations", cells, ordered, sorted_by=by)
    priced = any(line.usd_per_1000_iops is not None for line in lines)
    return replace(table, example=_EXAMPLE) if priced else table


def _provider(line: SiteRunLine | ConfigurationLine) -> TableCell:
    return TableCell(line.provider, small=", ".join(line.marks))


def _level_cell(line: ConfigurationLine) -> TableCell:
    if line.levels:
        worse = line.levels[-1].worse
        return TableCell("worse" if worse else "better", tone="bad" if worse else "")
    unknown = "measured once" if line.times == 1 else f"under {LEAST_HISTORY} times"
    return TableCell("steady" if line.followed and line.times != 1 else unknown)


def _telling(lines: Sequence[ConfigurationLine]) -> dict[str, str]:
    """For each configuration the fields that distinguish it from others with the same columns."""
    columns = attrgetter("provider", "disk", "region", "machine", "profile", "target")
    telling = {}
    for group in grouped(lines, columns).values():
        known = [dict(line.rest) for line in group]
        names = {name for line in known for name in line}
        apart = {name for name in names if len({line.get(name) for line in known}) > 1}
        for line in group:
            words = [line.target] if line.disk and line.target else []
            words += [f"{name} {value}" for name, value in line.rest if name in apart]
            telling[line.key] = ", ".join(words)
    return telling


def trust_cell(trust: Trust | None, small: str = "") -> TableCell:
    """Whether to trust the figures; empty without a verdict."""
    tones = {"no": "bad", "with care": "doubt"}
    return TableCell(trust or "", small=small, tone=tones.get(trust or "", ""))


def usd_cell(usd: float | None, of: str = "") -> TableCell:
    """A price, and below it the direction of the IOPS that it is `of`; empty where not known."""
    return TableCell("") if usd is None else TableCell(format_usd(usd), usd, small=of)


def best_cell(best: Best | None) -> TableCell:
    """The highest figure of a direction, with its step. A figure on burst credit is below all that
    last, for who sorts and for who asks for a least value."""
    if best is None:
        return TableCell("")
    if best.on_credit:
        return TableCell(format_iops(best.value), -1, small=f"burst, {best.step}", tone="doubt")
    return TableCell(format_iops(best.value), best.value, small=best.step)


def _table(
    what: str,
    cells: _Cells[Line],
    lines: Sequence[Line],
    *,
    sorted_by: str,
    without: Sequence[str] = (),
) -> SiteTable:
    """A table without its empty columns."""
    columns = {
        column: [cell(line) for line in lines]
        for column, cell in cells
        if column.key not in without
    }
    filled = {
        column: of for column, of in columns.items() if not of or any(cell.text for cell in of)
    }
    return SiteTable(what, tuple(filled), tuple(zip(*filled.values(), strict=True)), sorted_by)

"""Which charts of many runs second by second a report has: all of them as one picture a step, and
the few that tell most in full.

Runs are read one after the other and only what the picture needs is kept, so that 500 runs of an
hour take some 10 MB.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.cli.report_gather import Gathered
    from diskbench.model.run import Run
    from diskbench.report.charts.figure import Figure
    from diskbench.report.course import Course
    from diskbench.report.overview import Band

MOST_STEPS = 3
"""Steps with a picture of all their runs: those that most runs have."""
MOST_TELLING = 6
LEAST_S = 10
LEAST_RUNS = 3


def read_ahead(gathered: Gathered, rows: Sequence[Run]) -> None:
    """Make the series of runs that have none yet, as imported ones: all at once is faster than each
    when it is asked for."""
    from diskbench.store.frames import read_series_ahead

    by_store: dict[str, list[Run]] = {}
    for row in rows if len(rows) >= LEAST_RUNS else ():
        by_store.setdefault(row.evidence_url or "", []).append(row)
    for found in by_store.values():
        store = gathered.store(found[0])
        if store is not None:
            read_series_ahead(store, [row.run_id for row in found])


def charts_of_many(gathered: Gathered, rows: Sequence[Run]) -> tuple[Figure, ...]:
    """The charts of the seconds of many runs; none for fewer than three, or where the evidence is
    gone, which costs a page only these."""
    if len(rows) < LEAST_RUNS:
        return ()
    return tuple(_figures(gathered, rows))


def _figures(gathered: Gathered, rows: Sequence[Run]) -> Iterator[Figure]:
    from diskbench.report.charts.overview import overview_chart
    from diskbench.report.charts.palette import PAGE
    from diskbench.report.overview import band, by_step
    from diskbench.report.row_ids import row_href

    bands = [band(one) for row in rows for one in _courses(gathered, row)]
    groups = [group for group in by_step(bands) if len(group) >= LEAST_RUNS][:MOST_STEPS]
    hrefs = {row.run_id: row_href(row.run_id) for row in rows}
    for number, group in enumerate(groups):
        yield overview_chart(group, PAGE, name=f"seconds-{number}", hrefs=hrefs)
    if groups:
        yield from _telling(gathered, rows, groups[0])


def _telling(gathered: Gathered, rows: Sequence[Run], group: Sequence[Band]) -> Iterator[Figure]:
    """The most telling runs of the commonest step, in full."""
    from diskbench.report.charts.course import course_chart
    from diskbench.report.charts.palette import PAGE
    from diskbench.report.overview import telling
    from diskbench.report.row_ids import row_href

    by_id = {row.run_id: row for row in rows}
    for one in telling(group, MOST_TELLING):
        for course in _courses(gathered, by_id[one.run_id]):
            if course.step != group[0].step:
                continue
            figure = course_chart(course, PAGE, rate=group[0].figure)
            yield replace(
                figure,
                title=f"{course.step}: {one.why}",
                subtitle=f"run {one.run_id}\n{figure.subtitle}",
                rows_href=row_href(one.run_id),
            )


def _courses(gathered: Gathered, row: Run) -> tuple[Course, ...]:
    store = gathered.store(row)
    if store is None:
        return ()
    try:
        found = gathered.courses(store, row)
    except DiskbenchError as error:
        message = "no series of run %s in the page: %s"
        logging.getLogger(__name__).info(message, row.run_id, error.message)
        return ()
    return tuple(one for one in found if one.seconds >= LEAST_S)

"""`diskbench regressions`: since when a disk is slower or faster than it was."""

import sys
from collections.abc import Iterator
from itertools import chain, islice
from typing import Annotated

from diskbench.cli.selecting import Pool, selecting
from diskbench.cli.stores import DatabaseUrl, database
from diskbench.cli.terminal import TableOrJson, option, terminal_width
from diskbench.model.comparison import Metric
from diskbench.model.history import History, regressions_json
from diskbench.providers.networks import check_webhook, post_json
from diskbench.report.terminal.compare_text import notice, regression_lines
from diskbench.results.history import histories
from diskbench.results.pool import facts_to_pool
from diskbench.results.selection import Selection, chosen
from diskbench.visible import json_escaped


@selecting
def regressions(
    asked: Selection,
    metric: Annotated[Metric, option("The figure to follow.")] = "iops",
    pool: Pool = None,
    notify: Annotated[
        str | None,
        option(
            "URL",
            "Post changes for the worse that the newest measurement showed to this webhook "
            "(Slack, Mattermost). Set the variable to keep the URL out of the process list.",
            envvar="DISKBENCH_NOTIFY_URL",
        ),
    ] = None,
    output: TableOrJson = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """Find when the figures of a repeated measurement changed, and by how much.

    Each matrix of a schedule, and each single run, is one point in time. A change counts if it
    is at least 5 % and three points have the new level.
    """
    engine = database(database_url)
    filters = chosen(engine, asked)
    undated: dict[str, None] = {}
    of_series = histories(engine, filters, undated, metric=metric, pool=facts_to_pool(pool or ()))
    changed: list[History] = []
    if notify:
        check_webhook(notify)
        of_series = _kept_if_changed(of_series, changed)
    if output == "json":
        sys.stdout.writelines(map(json_escaped, regressions_json(of_series, undated)))
        print()
    else:
        first = list(islice(of_series, 1))
        if not first:
            print("no matching configuration was measured twice", file=sys.stderr)
        printed = chain(first, of_series)
        for line in regression_lines(printed, undated, width=terminal_width()):
            print(line)
    if notify and (text := notice(changed)):
        post_json(notify, {"text": text})


def _kept_if_changed(found: Iterator[History], changed: list[History]) -> Iterator[History]:
    """`found`; those with changes are added to `changed` as they pass."""
    for history in found:
        if history.changes:
            changed.append(history)
        yield history

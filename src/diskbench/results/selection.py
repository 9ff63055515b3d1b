"""Selections as typed by the user: runs, trials, matrices, `KEY=VALUE` and dates.

One language for every command that takes a selection or `--filter`; its keys are those of
model/selection_keys.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.ids import LAST, beginning, last_number, meant
from diskbench.model.selection_keys import FORMS
from diskbench.store.campaigns import list_campaigns
from diskbench.store.figures import ids_that_begin, known_labels
from diskbench.store.query import Filter, find_run, find_runs, parse_filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import Run

_RANGE = ".."
_DATE = len("2026-11-21")
_FIELDS = {"matrix": "campaign_id", "trial": "trial_id", "run": "run_id"}


def selected(database: Engine, text: str) -> list[Filter]:
    """The filters that the selection `text` means.

    `KEY=VALUE` is a condition, see `conditions`; `2026-11-01..2026-11-07` is a range of days in
    UTC, both ends included; anything else is the id of a run, a trial or a matrix, the beginning of
    an id or its short form, `last`, `last~N`, or the name of a matrix, which means the newest
    matrix of that name. Raises UnknownName or InvalidValue.
    """
    text = text.strip()
    if last_number(text) is not None:
        return [Filter("trial_id", "=", find_run(database, text).trial_id)]
    if "=" in text or "~" in text or "<" in text or ">" in text:
        return conditions(database, [text])
    if _RANGE in text:
        return _between(text)
    if len(text) == _DATE and text.count("-") == 2:
        return _between(f"{text}{_RANGE}{text}")
    return [_by_id(database, text)]


def conditions(
    database: Engine,
    texts: Iterable[str] = (),
    *,
    since: str | None = None,
    until: str | None = None,
) -> list[Filter]:
    """The filters of `KEY=VALUE` texts, and of the first and last time of measurement as typed.

    A name that is not a key is taken as a label's where some run has that label. Raises
    InvalidValue, and UnknownName with the nearest keys and labels.
    """
    bounds = [f"measured_at>={since}"] if since is not None else []
    bounds += [f"measured_at<={until}"] if until is not None else []
    return [_condition(database, text) for text in [*texts, *bounds]]


def runs_named(database: Engine, texts: Iterable[str]) -> list[str]:
    """The ids of all runs that any of `texts` selects, newest first. Raises UnknownName for a text
    that selects none, InvalidValue."""
    run_ids: dict[str, None] = {}
    for text in texts:
        runs = find_runs(database, selected(database, text))
        if not runs:
            advice = "'diskbench results list' shows what there is"
            raise UnknownName("run", text.strip(), (), advice=advice)
        run_ids |= dict.fromkeys(run.run_id for run in runs)
    return list(run_ids)


def runs_of(database: Engine, asked: Sequence[str], filters: Sequence[str]) -> list[Run]:
    """The rows, oldest first, of the runs that any text in `asked` selects and that meet all
    `filters`; a run selects its whole trial. Without `asked`: all runs that meet the filters, and
    without filters those of the newest trial.

    Raises UnknownName, and InvalidValue also where no run is left.
    """
    met = conditions(database, filters)
    by_id: dict[str, Run] = {}
    for text in asked or ([] if filters else [LAST]):
        wanted = selected(database, text)
        trials = [condition for condition in wanted if condition.field == "run_id"]
        for row in find_runs(database, [*wanted, *met]):
            if trials:  # the other runs of its trial belong to it
                whole = [Filter("trial_id", "=", row.trial_id), *met]
                by_id |= {run.run_id: run for run in find_runs(database, whole)}
            by_id[row.run_id] = row
    if not asked and filters:
        by_id = {row.run_id: row for row in find_runs(database, met)}
    if not by_id:
        typed = " ".join([*asked, *filters])
        raise InvalidValue(
            f"{typed!r} names no run", advice="'diskbench results list' shows what there is"
        )
    return sorted(by_id.values(), key=_by_time)


def run_or_set(database: Engine, text: str) -> tuple[Run, list[Filter]]:
    """The newest run that `text` means, and the filters of all that it means where that is more
    than one trial; empty for a run or a trial.

    `text` is the id of a run, a trial or a matrix, the beginning of one, `last`, a matrix's name, a
    label or dates. Raises UnknownName, InvalidValue.
    """
    filters = selected(database, text)
    runs = find_runs(database, filters)
    if not runs:
        advice = "'diskbench results list' shows what there is"
        raise UnknownName("run", text, (), advice=advice)
    trials = {run.trial_id for run in runs}
    typed = [run for run in runs if run.run_id == text.strip().lower()]
    return (typed or runs)[0], filters if len(trials) > 1 else []


def _by_time(row: Run) -> tuple[bool, str, str]:
    """Oldest first, and those without a date last."""
    return row.measured_at is None, row.measured_at or "", row.run_id


def _condition(database: Engine, text: str) -> Filter:
    try:
        return parse_filter(text)
    except UnknownName:
        return parse_filter(text, labels=known_labels(database))


def _between(text: str) -> list[Filter]:
    start, _, end = (part.strip() for part in text.partition(_RANGE))
    if not start and not end:
        raise InvalidValue(f"{text!r} names no time", advice="write 2026-11-01..2026-11-07")
    bounds = []
    if start:
        bounds.append(parse_filter(f"measured_at>={start}"))
    if end:
        bounds.append(parse_filter(f"measured_at<={end}"))
    return bounds


def _by_id(database: Engine, text: str) -> Filter:
    named = [campaign for campaign in list_campaigns(database) if campaign.name == text]
    if named:
        return Filter("campaign_id", "=", named[-1].campaign_id)
    kind = "run, trial or matrix"
    ids = ids_that_begin(database, beginning(text, kind))
    chosen = meant(text, ids, kind, advice=f"name {FORMS}")
    return Filter(_FIELDS[chosen.kind], "=", chosen.id)

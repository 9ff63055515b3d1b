"""What a person names to be compared: runs, trials, matrices, labels, dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.ids import beginning, meant
from diskbench.store.figures import ids_that_begin, known_labels
from diskbench.store.query import LAST, Filter, find_run, parse_filter

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

_RANGE = ".."
_DATE = len("2026-11-21")
_FIELDS = {"matrix": "campaign_id", "trial": "trial_id", "run": "run_id"}
FORMS = "a run, trial or matrix; KEY=VALUE of a label; or dates: 2026-11-01..2026-11-07"


def selected(database: Engine, text: str) -> list[Filter]:
    """The filters that `text` stands for.

    `KEY=VALUE` is a label where some run has such a key, else a field of runs as in `results list
    --filter`; `2026-11-01..2026-11-07` are days, both included, in UTC; anything else is the id of
    a run, a trial or a matrix, the beginning of one, `last`, or a matrix's name: the newest of it.
    Raises UnknownName or InvalidValue.
    """
    text = text.strip()
    if "=" in text or "~" in text or "<" in text or ">" in text:
        return [_field(database, text)]
    if _RANGE in text:
        return _between(text)
    if len(text) == _DATE and text.count("-") == 2:
        return _between(f"{text}{_RANGE}{text}")
    if text.lower() == LAST:
        return [Filter("trial_id", "=", find_run(database, LAST)["trial_id"])]
    return [_by_id(database, text)]


def _field(database: Engine, text: str) -> Filter:
    key, is_label, value = text.partition("=")
    if is_label and key.strip() in known_labels(database):
        return Filter(f"label.{key.strip()}", "=", value.strip())
    try:
        return parse_filter(text)
    except UnknownName as unknown:
        labels = sorted(known_labels(database))
        raise UnknownName("label or field", key.strip(), [*labels, *unknown.known]) from None


def _between(text: str) -> list[Filter]:
    start, _, end = (part.strip() for part in text.partition(_RANGE))
    if not start and not end:
        raise InvalidValue(f"{text!r} names no time", advice="write 2026-11-01..2026-11-07")
    found = []
    if start:
        found.append(parse_filter(f"created_at>={start}"))
    if end:
        found.append(parse_filter(f"created_at<={end}"))
    return found


def _by_id(database: Engine, text: str) -> Filter:
    from diskbench.store.campaigns import list_campaigns

    named = [one for one in list_campaigns(database) if one.name == text]
    if named:
        return Filter("campaign_id", "=", named[-1].campaign_id)
    kind = "run, trial or matrix"
    found = ids_that_begin(database, beginning(text, kind))
    one = meant(text, found, kind, advice=f"name {FORMS}")
    return Filter(_FIELDS[one.kind], "=", one.id)

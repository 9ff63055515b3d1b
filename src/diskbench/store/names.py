"""The names by which stored runs can be selected: labels, ids and names of matrices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from diskbench.model.ids import Known, fits
from diskbench.store.query import id_fits, place_words
from diskbench.store.reader import reader_of
from diskbench.store.where import RUN_TABLE

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.store.reader import Reader

_IDS = ("campaign_id", "trial_id", "run_id")


def newest_matrix_named(database: Engine | Reader, name: str) -> str | None:
    """The id of the newest matrix of that name; None where no matrix has it."""
    rows = reader_of(database).rows(
        "SELECT campaign_id FROM diskbench_matrix WHERE name = ? AND kind IS NULL "
        "ORDER BY campaign_id DESC LIMIT 1",
        (name,),
    )
    return rows[0][0] if rows else None


def known_labels(database: Engine | Reader, *, newest: int | None = None) -> set[str]:
    """The label keys of all runs, or of the `newest` ones by their ids."""
    runs = f"SELECT labels FROM {RUN_TABLE}"  # noqa: S608 - our own names
    if newest is not None:
        runs += f" ORDER BY run_id DESC LIMIT {newest}"
    rows = reader_of(database).rows(
        f"SELECT DISTINCT CAST(labels AS TEXT) FROM ({runs}) AS labelled",  # noqa: S608
        (),
    )
    return {key for (labels,) in rows for key in json.loads(labels)}


def ids_that_begin(database: Engine | Reader, text: str) -> list[Known]:
    """The runs, trials and campaigns whose ids begin with `text`, or end with it where it is
    as long as a short id, each with its parents. `text` is in lower case and not empty."""
    begins = [id_fits(f"{RUN_TABLE}.{name}", text) for name in _IDS]
    condition = " OR ".join(f"({fits.text})" for fits in begins)
    query = (
        f"SELECT {', '.join(_IDS)}, profile, provider, address, hostname "  # noqa: S608
        f"FROM {RUN_TABLE} WHERE {condition} ORDER BY run_id"
    )
    rows = reader_of(database).rows(query, [value for fits in begins for value in fits.values])
    by_kind: dict[tuple[str, str], Known] = {}
    for campaign, trial, name, profile, provider, address, hostname in rows:
        where = place_words(profile, provider, address or hostname)
        for known in (
            Known(campaign, "matrix", where=where),
            Known(trial, "trial", where=where, part_of=(campaign,)),
            Known(name, "run", where=where, part_of=(campaign, trial)),
        ):
            if known.id is not None:
                by_kind.setdefault((known.kind, known.id), known)
    return [known for known in by_kind.values() if fits(known.id, text)]

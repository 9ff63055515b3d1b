"""The names by which stored runs can be selected: labels, ids and names of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from diskbench.model.ids import Known, fits
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.query import id_fits, place_words

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine


def newest_matrix_named(database: Engine, name: str) -> str | None:
    """The id of the newest matrix of that name; None where no matrix has it."""
    matrix = schema.matrix
    query = (
        sa.select(matrix.c.campaign_id)
        .where(matrix.c.name == name, matrix.c.kind.is_(None))
        .order_by(matrix.c.campaign_id.desc())
        .limit(1)
    )
    with transaction(database) as connection:
        found: str | None = connection.execute(query).scalar_one_or_none()
    return found


def known_labels(database: Engine) -> set[str]:
    """The label keys of all runs."""
    with transaction(database) as connection:
        all_labels = connection.execute(sa.select(schema.run.c.labels)).scalars()
        return {key for labels in all_labels for key in labels}


def ids_that_begin(database: Engine, text: str) -> list[Known]:
    """The runs, trials and campaigns whose ids begin with `text`, or end with it where it is
    as long as a short id, each with its parents. `text` is in lower case and not empty."""
    run = schema.run
    columns = (run.c.campaign_id, run.c.trial_id, run.c.run_id)
    begins = sa.or_(*(id_fits(column, text) for column in columns))
    of_place = (run.c.profile, run.c.provider, run.c.address, run.c.hostname)
    query = sa.select(*columns, *of_place).where(begins).order_by(run.c.run_id)
    by_kind: dict[tuple[str, str], Known] = {}
    with transaction(database) as connection:
        for campaign, trial, name, profile, provider, address, hostname in connection.execute(
            query
        ):
            where = place_words(profile, provider, address or hostname)
            for known in (
                Known(campaign, "matrix", where=where),
                Known(trial, "trial", where=where, part_of=(campaign,)),
                Known(name, "run", where=where, part_of=(campaign, trial)),
            ):
                if known.id is not None:
                    by_kind.setdefault((known.kind, known.id), known)
    return [known for known in by_kind.values() if fits(known.id, text)]

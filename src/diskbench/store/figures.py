"""One figure of many runs, without all else that their rows hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from diskbench.model.ids import Known
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.query import conditions, oldest_first, run_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.comparison import Metric
    from diskbench.store.query import Filter

_OF_RUN = (
    "run_id", "trial_id", "campaign_id", "run_index", "replicate", "measured_at", "labels",
    "provider", "address", "hostname", "profile", "profile_digest", "parameters", "target_path",
    "filesystem", "size_bytes", "cloud", "instance_type", "zone", "cpu_model", "cpu_count",
    "memory_bytes", "kernel", "distribution", "fio_version", "disk_model", "disk_driver",
    "disk_size_bytes", "emulated", "imported", "diskbench_version", "machine_lease",
    "parser_version", "evidence_url",
)  # fmt: skip
_OF_ROW = (
    "step_index", "step", "role", "direction", "round", "rw", "block_bytes", "iodepth", "ios",
    "bytes", "runtime_ns", "iops", "bytes_per_s",
)  # fmt: skip
_MEASURED = ("measure", "offered")


def load_figures(
    database: Engine, filters: Sequence[Filter], metric: Metric
) -> list[dict[str, Any]]:
    """One row a step, round and direction of each finished run that meets `filters`, in order.

    `value` is the figure of all jobs of the step together, `rent` what was to be rented as typed
    (None: the machine was there, or nothing of it is known). Fills and canaries are left out, and
    so are steps without I/O and those that lack the figure.
    """
    run, trial, row = schema.run, schema.trial, schema.measurement
    value = row.c[metric].label("value")
    query = (
        sa.select(
            *(run.c[name] for name in _OF_RUN),
            *(row.c[name] for name in _OF_ROW),
            trial.c.plan["cell"]["rent"].label("rent"),
            value,
        )
        .join_from(run, row, run.c.run_id == row.c.run_id)
        .join(trial, trial.c.trial_id == run.c.trial_id)
        .where(
            *conditions(filters),
            run.c.state == "done",
            row.c.scope == "step",
            row.c.role.in_(_MEASURED),
            row.c.ios > 0,
            row.c[metric] > 0,
        )
        .order_by(*oldest_first(), row.c.step_index, row.c.position)
    )
    with transaction(database) as connection:
        return [dict(found) for found in connection.execute(query).mappings()]


def count_trials(database: Engine, campaign_id: str) -> int:
    """How many trials of a campaign have a finished run."""
    run = schema.run
    query = sa.select(sa.func.count(run.c.trial_id.distinct())).where(
        run.c.campaign_id == campaign_id, run.c.state == "done"
    )
    with transaction(database) as connection:
        return int(connection.execute(query).scalar_one())


def known_labels(database: Engine) -> set[str]:
    """Every key that some run is labelled with."""
    with transaction(database) as connection:
        found = connection.execute(sa.select(schema.run.c.labels)).scalars()
        return {key for labels in found for key in labels}


def ids_that_begin(database: Engine, text: str) -> list[Known]:
    """The runs, their trials and campaigns whose ids begin with `text`, each with what it is part
    of. `text` is in lower case and not empty."""
    run = schema.run
    columns = (run.c.campaign_id, run.c.trial_id, run.c.run_id)
    begins = sa.or_(*(column.startswith(text, autoescape=True) for column in columns))
    of_place = (run.c.profile, run.c.provider, run.c.address, run.c.hostname)
    query = sa.select(*columns, *of_place).where(begins).order_by(run.c.run_id)
    found: dict[tuple[str, str], Known] = {}
    with transaction(database) as connection:
        for row in connection.execute(query).mappings():
            campaign, trial, name = row["campaign_id"], row["trial_id"], row["run_id"]
            where = run_place(dict(row))
            for one in (
                Known(campaign, "matrix", where=where),
                Known(trial, "trial", where=where, part_of=(campaign,)),
                Known(name, "run", where=where, part_of=(campaign, trial)),
            ):
                if one.id is not None:
                    found.setdefault((one.kind, one.id), one)
    return [one for one in found.values() if one.id.startswith(text)]

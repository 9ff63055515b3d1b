"""What was bought for a run, and when it was measured, as columns of its row.

Both are filled for the runs that are there: from the plan of their trial, from what was said of an
imported disk, and from the zone of a machine that was there. An imported run whose file told no
time got that of the file: it has no date now. Of JSON of fio 2 the row does not tell which of both
it was; 'diskbench results rebuild' reads it from the file again.
"""

import json
import re
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_COLUMNS: tuple[sa.Column[Any], ...] = (
    sa.Column("measured_at", sa.Text()),
    sa.Column("region", sa.Text()),
    sa.Column("disk_cloud", sa.Text()),
    sa.Column("disk_type", sa.Text()),
    sa.Column("disk_gib", sa.BigInteger()),
    sa.Column("disk_count", sa.Integer()),
    sa.Column("provisioned_iops", sa.BigInteger()),
    sa.Column("provisioned_bytes_per_s", sa.Double()),
    sa.Column("host_cache", sa.Text()),
)
_RUN = sa.table(
    "diskbench_run",
    *(
        sa.column(name, sa.Text)
        for name in (
            "run_id", "trial_id", "created_at", "started_at", "finished_at", "provider", "cloud",
            "zone", "instance_type", "fio_version",
        )
    ),
    sa.column("labels", sa.JSON),
    sa.column("imported", sa.Boolean),
    *(sa.column(one.name, one.type) for one in _COLUMNS),
)  # fmt: skip
_TRIAL = sa.table("diskbench_trial", sa.column("trial_id", sa.Text), sa.column("plan", sa.JSON))
_STEP = sa.table(
    "diskbench_step", *(sa.column(n, sa.Text) for n in ("run_id", "started_at", "finished_at"))
)
_REGIONS = {
    "aws": re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d+)[a-z]"),
    "gcp": re.compile(r"([a-z]+-[a-z]+\d+)-[a-z]"),
}


def upgrade() -> None:
    """From 0005 to 0006."""
    for column in _COLUMNS:
        op.add_column("diskbench_run", column)
    op.create_index(
        "ix_diskbench_run_measured_at_created_at_run_id",
        "diskbench_run",
        ["measured_at", "created_at", "run_id"],
    )
    op.drop_index("ix_diskbench_run_created_at_run_id", table_name="diskbench_run")
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        _step_anew()
    else:
        op.alter_column("diskbench_step", "started_at", existing_type=sa.Text(), nullable=True)
        op.alter_column("diskbench_step", "finished_at", existing_type=sa.Text(), nullable=True)
    _dates(bind)
    _rented(bind)
    _said(bind)
    _places(bind)


def _step_anew() -> None:
    """SQLite cannot take NOT NULL from a column: steps are copied into a table that lacks it."""
    names = (
        "run_id, step_index, step, role, round, started_at, finished_at, fio_exit, fio_version, "
        "seconds_in_fio"
    )
    op.rename_table("diskbench_step", "diskbench_step_of_0004")
    op.create_table(
        "diskbench_step",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer()),
        sa.Column("started_at", sa.Text()),
        sa.Column("finished_at", sa.Text()),
        sa.Column("fio_exit", sa.Integer(), nullable=False),
        sa.Column("fio_version", sa.Text(), nullable=False),
        sa.Column("seconds_in_fio", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["diskbench_run.run_id"],
            name="fk_diskbench_step_run_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", "step_index", name="pk_diskbench_step"),
    )
    op.execute(
        f"INSERT INTO diskbench_step ({names}) SELECT {names} FROM diskbench_step_of_0004"  # noqa: S608 - our own names
    )
    op.drop_table("diskbench_step_of_0004")


def _dates(bind: sa.Connection) -> None:
    """A start was only ever kept where the file told it; JSON of fio 3 always tells its end."""
    told = sa.or_(
        sa.not_(_RUN.c.imported),
        _RUN.c.started_at.is_not(None),
        sa.and_(_RUN.c.provider == "import/fio-json", _RUN.c.fio_version.like("fio-3.%")),
    )
    bind.execute(sa.update(_RUN).where(told).values(measured_at=_RUN.c.created_at))
    undated = _RUN.c.measured_at.is_(None)
    bind.execute(sa.update(_RUN).where(undated).values(finished_at=None))
    of_them = sa.select(_RUN.c.run_id).where(undated)
    bind.execute(
        sa.update(_STEP)
        .where(_STEP.c.run_id.in_(of_them))
        .values(started_at=None, finished_at=None)
    )


def _rented(bind: sa.Connection) -> None:
    # The rental alone: a plan of a long job has megabytes.
    rental = sa.cast(_TRIAL.c.plan["rental"], sa.Text).label("rental")
    rows = bind.execute(
        sa.select(_TRIAL.c.trial_id, rental, _TRIAL.c.plan["cell"]["provider"].as_string()).where(
            _TRIAL.c.plan["rental"]["offer"].as_string().is_not(None)
        )
    ).all()
    for trial_id, text, provider in rows:
        values = _of_rental(json.loads(text), provider)
        bind.execute(sa.update(_RUN).where(_RUN.c.trial_id == trial_id).values(**values))


def _of_rental(rental: dict[str, Any], provider: str) -> dict[str, Any]:
    spec, cloud = rental.get("spec") or {}, rental.get("cloud") or provider
    disk = rental.get("disk") or spec | {"type": spec.get("disk")}
    cache = (spec.get("azure") or {}).get("cache") or ("none" if cloud == "azure" else None)
    return {
        "region": (rental.get("scope") or {}).get("region") or spec.get("region"),
        "disk_cloud": cloud,
        "disk_type": disk.get("type"),
        "disk_gib": disk.get("size_gib"),
        "disk_count": disk.get("count", 1),
        "provisioned_iops": disk.get("iops"),
        "provisioned_bytes_per_s": _bytes_per_s(disk.get("throughput_mib_per_s"), cloud),
        "host_cache": cache.lower() if cache else None,
    }


def _said(bind: sa.Connection) -> None:
    """Of imported runs: `aws:gp2:20:iops=…`, and the machine, as they were typed."""
    query = sa.select(_RUN.c.run_id, _RUN.c.labels).where(_RUN.c.imported)
    for run_id, labels in bind.execute(query).all():
        values: dict[str, Any] = {}
        if (labels or {}).get("as_machine"):
            values["instance_type"] = labels["as_machine"]
        if (labels or {}).get("as_disk"):
            values |= _of_words(labels["as_disk"])
        if values:
            bind.execute(sa.update(_RUN).where(_RUN.c.run_id == run_id).values(**values))


def _of_words(words: str) -> dict[str, Any]:
    parts = [part.strip() for part in words.split(":")]
    try:
        cloud, disk_type, size, *more = parts
        pairs = dict(part.partition("=")[::2] for part in more)
        cloud = cloud.lower()
        cache = pairs.get("cache", "none" if cloud == "azure" else None)
        throughput = float(pairs["throughput"]) if "throughput" in pairs else None
        return {
            "disk_cloud": cloud,
            "disk_type": disk_type,
            "disk_gib": round(float(size)),
            "disk_count": 1,
            "provisioned_iops": round(float(pairs["iops"])) if "iops" in pairs else None,
            "provisioned_bytes_per_s": _bytes_per_s(throughput, cloud),
            "host_cache": cache.lower().replace("-", "") if cache else None,
        }
    except (ValueError, OverflowError):  # a label of another form says nothing of a disk
        return {}


def _places(bind: sa.Connection) -> None:
    """The region of machines that were there, on clouds whose zones are named after it."""
    pairs = sa.select(_RUN.c.cloud, _RUN.c.zone).where(_RUN.c.region.is_(None)).distinct()
    for cloud, zone in bind.execute(pairs).all():
        form = _REGIONS.get(cloud or "")
        found = form.fullmatch(zone or "") if form else None
        if found:
            bind.execute(
                sa.update(_RUN)
                .where(_RUN.c.cloud == cloud, _RUN.c.zone == zone, _RUN.c.region.is_(None))
                .values(region=found[1])
            )


def _bytes_per_s(sold: float | None, cloud: str) -> float | None:
    """Azure sells MB/s, all others MiB/s."""
    return None if sold is None else float(sold) * (1_000_000 if cloud == "azure" else 2**20)

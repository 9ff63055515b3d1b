"""What stored runs found of the disks of the catalogue: the highest rate of a load that kept to a
latency target, beside which `diskbench advise` puts what is documented. Of each trial the fastest
step of such blocks counts, of all directions together; of the trials the median. Where runs are
trusted, others do not count. The mean of a step that is a burst is no rate that lasts, so a trial
whose headline is a burst is left out."""

from collections.abc import Callable
from operator import itemgetter
from statistics import median

from sqlalchemy.engine import Engine

from diskbench.catalog.terms import Sold
from diskbench.model.run import MeasuredRow
from diskbench.model.spec import EMULATED_PROVIDERS
from diskbench.model.verdict import Trust
from diskbench.parallel import grouped
from diskbench.plan.advise import Measured
from diskbench.plan.demand import Demand
from diskbench.store.figures import load_headlines
from diskbench.store.query import find_measurements
from diskbench.store.where import Filter
from diskbench.units import GIB

_TRUSTS: tuple[Trust, ...] = ("no", "with care", "yes")


def measured_disks(
    database: Engine, demand: Demand, *, emulated: bool = False
) -> Callable[[Sold, str | None], Measured | None]:
    """Return what says of a disk, on a machine, what was measured of it; None of one that was not.
    Runs on emulated disks say nothing of a cloud, and count only with `emulated`."""
    block = demand.loads[0].block_bytes
    rows = [
        row
        for row in find_measurements(
            database, [Filter("state", "=", "done"), Filter("block_bytes", "=", str(block))]
        )
        if row.scope == "step" and row.role in ("measure", "offered") and row.direction != "sync"
        and (emulated or not row.run.emulated)
    ]  # fmt: skip

    def disk_of(row: MeasuredRow) -> tuple[str | None, float, float | None]:
        size_gib = round((row.run.disk_size_bytes or 0) / GIB)
        return row.run.disk_type, size_gib, row.run.provisioned_iops

    of_disk = grouped(rows, disk_of)
    headlines = load_headlines(database, {row.run_id for row in rows})
    bursts = {name for name, headline in headlines.items() if headline.kind == "burst"}

    def trust_of(row: MeasuredRow) -> Trust:
        headline = headlines.get(row.run_id)
        return (headline.trust if headline else None) or "no"

    def measured(sold: Sold, machine: str | None) -> Measured | None:
        found = [
            row
            for row in of_disk.get((sold.disk_type, sold.size_gib, sold.iops), ())
            if row.run.provider in {sold.cloud, *EMULATED_PROVIDERS}
            and machine in (None, row.run.instance_type or machine)
        ]
        lasting = [row for row in found if row.run_id not in bursts]
        trust = max(map(trust_of, lasting), key=_TRUSTS.index, default="no")
        lasting = [row for row in lasting if trust_of(row) == trust]
        best = [
            _best([*grouped(of_trial, lambda row: (row.run_id, row.step)).values()], demand)
            for of_trial in grouped(lasting, lambda row: row.run.trial_id).values()
        ]
        if not best:
            return None
        p99 = [ms for _, ms in best if ms is not None]
        return Measured(
            iops=median(iops for iops, _ in best),
            p99_ms=median(p99) if len(p99) == len(best) else None,
            n=len(best),
            date=max((row.run.measured_at or "")[:10] for row in lasting),
            trust=trust,
        )

    return measured


def _best(steps: list[list[MeasuredRow]], demand: Demand) -> tuple[float, float | None]:
    """The rate and the p99 in ms of the fastest step that kept to the target, else of the one with
    the lowest latency."""
    figures = []
    for rows in steps:
        slowest = [row.p99_ns for row in rows if row.ios]
        known = [ns for ns in slowest if ns is not None]
        p99 = max(known) / 1e6 if known and len(known) == len(slowest) else None
        figures.append((sum(row.iops or 0.0 for row in rows), p99))
    target, never = demand.p99_ms, float("inf")
    kept = figures
    if target is not None:
        kept = [(iops, p99) for iops, p99 in figures if p99 is not None and p99 <= target]
    if kept:
        return max(kept, key=itemgetter(0))
    return min(figures, key=lambda figure: figure[1] if figure[1] is not None else never)

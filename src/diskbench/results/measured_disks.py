"""What stored runs found of the disks of the catalogue: the highest rate of a load that kept to a
latency target, beside which `diskbench advise` puts what is documented.

Of each trial the fastest step of such blocks counts, of all directions together, that kept to the
target; of the trials the median. The mean of a step that is a burst is no rate that lasts, so a
trial whose headline is a burst is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from statistics import median

from sqlalchemy.engine import Engine

from diskbench.model.run import MeasuredRow
from diskbench.model.spec import EMULATED_PROVIDERS
from diskbench.plan.advise import Measured
from diskbench.plan.cheapest_disk import Sold
from diskbench.plan.demand import Demand
from diskbench.store.figures import load_headlines
from diskbench.store.query import find_measurements
from diskbench.store.where import Filter
from diskbench.units import GIB

_SEEN = ("measure", "offered")
_TRUSTS = ("no", "with care", "yes")


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
        if row.scope == "step" and row.role in _SEEN and row.direction != "sync"
        and (emulated or not row.run.emulated)
    ]  # fmt: skip
    of_disk: dict[tuple[object, ...], list[MeasuredRow]] = defaultdict(list)
    for row in rows:
        run = row.run
        size = round((run.disk_size_bytes or 0) / GIB)
        of_disk[(run.disk_type, size, run.provisioned_iops)].append(row)
    trusts = load_headlines(database, {row.run_id for row in rows})

    def measured(sold: Sold, machine: str | None) -> Measured | None:
        found = [
            row
            for row in of_disk.get((sold.disk_type, sold.size_gib, sold.iops), ())
            if row.run.provider in {sold.cloud, *EMULATED_PROVIDERS}
            and machine in (None, row.run.instance_type or machine)
        ]
        trials: dict[str, dict[tuple[str, str], list[MeasuredRow]]] = defaultdict(dict)
        for row in found:
            headline = trusts.get(row.run_id)
            if headline is None or headline.kind != "burst":
                steps = trials[row.run.trial_id]
                steps.setdefault((row.run_id, row.step), []).append(row)
        best = [_best(list(steps.values()), demand) for steps in trials.values() if steps]
        if not best:
            return None
        kept = {row.run_id for row in found}
        trust = min(
            (head.trust or "no" for id_, head in trusts.items() if id_ in kept),
            key=_TRUSTS.index,
            default="no",
        )
        p99 = [ms for _, ms in best if ms is not None]
        return Measured(
            iops=median(iops for iops, _ in best),
            p99_ms=median(p99) if len(p99) == len(best) else None,
            n=len(best),
            date=max((row.run.measured_at or "")[:10] for row in found),
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
    target = demand.p99_ms
    if target is None:
        return max(figures, key=lambda figure: figure[0])
    kept = [figure for figure in figures if figure[1] is not None and figure[1] <= target]
    if kept:
        return max(kept, key=lambda figure: figure[0])
    return min(figures, key=lambda figure: figure[1] if figure[1] is not None else float("inf"))

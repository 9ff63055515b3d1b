"""What Azure Monitor counted of a machine and its measured disks.

Names and meanings: "Disk performance metrics" (disks-metrics.md, 2022-10-12) and the supported
metrics of Microsoft.Compute/virtualMachines (2023-11-09): one value a minute, of credits one in
five, and only for machines that take premium storage. Azure answers for another metric where it
does not know a name (cloud-custodian 2792), so that names are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from diskbench.model.expectation import LimitName
from diskbench.model.metrics import CloudMetric
from diskbench.model.rental import Acquired, Rental
from diskbench.providers.azure.client import AzureClient
from diskbench.providers.azure.disk_request import AzureResolved

_REACHED = 99.0
""""If this value reaches 100%, your application is I/O capped" (disks-metrics.md); the average of a
minute at the limit may be a little less: our choice."""
_OF_DISK: dict[str, LimitName | None] = {
    "IOPS Consumed Percentage": "disk-iops",
    "Bandwidth Consumed Percentage": "disk-throughput",
    "Used Burst IO Credits Percentage": None,
    "Used Burst BPS Credits Percentage": None,
}
_OF_MACHINE = tuple(
    f"VM {path} {quantity} Consumed Percentage"
    for path in ("Uncached", "Cached")
    for quantity in ("IOPS", "Bandwidth")
) + tuple(
    f"VM {path} Used Burst {unit} Credits Percentage"
    for path in ("Remote", "Local")
    for unit in ("IO", "BPS")
)
"""Kept as evidence only: whether 100 % is a machine's lasting limit or that of its bursts, which
most sizes have, is not documented."""


def metrics(
    edge: AzureClient, rental: Rental, acquired: Acquired, since: datetime, until: datetime
) -> list[CloudMetric]:
    """As ports.Monitors. A disk that bursts passes 100 % of its baseline without being held back,
    so that a limit is named for a disk without bursts only."""
    details = AzureResolved.model_validate(rental.details)
    requested, facts = details.requested, acquired.facts
    if requested.kind == "local":
        return []
    disk_limits = requested.limits(details.size_gib)
    pools = disk_limits.pools if disk_limits else ()
    rates = [rate for pool in pools for rate in (pool.iops, pool.bytes_per_s) if rate]
    has_bursts = any(rate.ceiling > rate.baseline for rate in rates)
    prefix = "OS Disk" if requested.kind == "root" else "Data Disk"
    names = {f"{prefix} {name}": None if has_bursts else limit for name, limit in _OF_DISK.items()}
    # A machine has one OS disk, whose series is that of the whole machine.
    disks = {
        "" if requested.kind == "root" else str(volume["lun"]): str(volume["id"])
        for volume in facts["volumes"]
    }
    machine = str(facts["resource_id"])
    ask = _Ask(edge, machine, since, until)
    return [*ask.series(names, disks), *ask.series(dict.fromkeys(_OF_MACHINE), {"": machine})]


class _Ask:
    """One machine, and the time that its series are asked for."""

    def __init__(self, edge: AzureClient, machine: str, since: datetime, until: datetime) -> None:
        self.edge, self.machine = edge, machine
        first = since.astimezone(UTC).replace(second=0, microsecond=0)
        last = until.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        self.timespan = f"{first:%Y-%m-%dT%H:%M:%SZ}/{last:%Y-%m-%dT%H:%M:%SZ}"

    def series(
        self, names: Mapping[str, LimitName | None], resources: Mapping[str, str]
    ) -> Iterator[CloudMetric]:
        """The series of these metrics, of resources by LUN ("": without that dimension)."""
        asked = {
            "metricnamespace": "Microsoft.Compute/virtualMachines",
            "metricnames": ",".join(names),
            "timespan": self.timespan,
            "interval": "PT1M",
            "aggregation": "Average",
            **({} if "" in resources else {"$filter": "LUN eq '*'"}),
        }
        path = f"{self.machine}/providers/Microsoft.Insights/metrics"
        for metric in self.edge.listed(path, asked):
            name = str(metric["name"]["value"])
            for series in metric["timeseries"] if name in names else ():
                where = {
                    str(part["name"]["value"]).lower(): str(part["value"])
                    for part in series.get("metadatavalues") or []
                }
                resource = resources.get(where.get("lun", ""))
                if resource is None:  # a disk that is not measured
                    continue
                yield CloudMetric(
                    name=name,
                    of=resource,
                    statistic="Average",
                    period_s=300 if "Credits" in name else 60,
                    limit=names[name],
                    reached_at=None if names[name] is None else _REACHED,
                    points=tuple(
                        (int(datetime.fromisoformat(one["timeStamp"]).timestamp()), one["average"])
                        for one in series["data"]
                        if one.get("average") is not None
                    ),
                )

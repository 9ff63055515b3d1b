"""CloudWatch's metrics of the measured volumes and of their machine, a value a minute.

Names and dimensions: EBS User Guide, "Amazon CloudWatch metrics for Amazon EBS", and CloudWatch
User Guide, "Supported AWS infrastructure metrics" (2026): the checks of a volume have the instance
as a second dimension, without which they have no points. A check is 1 in a minute in which more was
asked than the volume, or all volumes of the instance together, may do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from diskbench.model.expectation import LimitName
from diskbench.model.metrics import CloudMetric
from diskbench.providers.aws.client import AwsClient


@dataclass(frozen=True)
class _Metric:
    name: str
    statistic: str
    dimensions: tuple[str, ...]
    limit: LimitName | None = None


_VOLUME, _INSTANCE = "VolumeId", "InstanceId"
_METRICS = {
    "AWS/EBS": (
        _Metric("VolumeIOPSExceededCheck", "Maximum", (_VOLUME, _INSTANCE), "disk-iops"),
        _Metric(
            "VolumeThroughputExceededCheck", "Maximum", (_VOLUME, _INSTANCE), "disk-throughput"
        ),
        _Metric("VolumeReadOps", "Sum", (_VOLUME,)),
        _Metric("VolumeWriteOps", "Sum", (_VOLUME,)),
        _Metric("VolumeReadBytes", "Sum", (_VOLUME,)),
        _Metric("VolumeWriteBytes", "Sum", (_VOLUME,)),
        _Metric("BurstBalance", "Minimum", (_VOLUME,)),
    ),
    "AWS/EC2": (
        _Metric("InstanceEBSIOPSExceededCheck", "Maximum", (_INSTANCE,), "vm-iops"),
        _Metric("InstanceEBSThroughputExceededCheck", "Maximum", (_INSTANCE,), "vm-throughput"),
        _Metric("EBSIOBalance%", "Minimum", (_INSTANCE,)),
        _Metric("EBSByteBalance%", "Minimum", (_INSTANCE,)),
    ),
}


def metrics(
    cloudwatch: AwsClient, facts: Mapping[str, Any], since: datetime, until: datetime
) -> Sequence[CloudMetric]:
    """What CloudWatch has of the machine and volumes in `facts` (of the handover) so far; nothing
    for disks of the machine's own. Raises diskbench's errors."""
    volumes = [str(volume["id"]) for volume in facts.get("volumes", ())]
    if not volumes:
        return ()
    period_s = int(cloudwatch.timing.metric_s)
    asked = {f"m{number}": one for number, one in enumerate(_asked(facts, volumes))}
    found = cloudwatch.listed(
        "get_metric_data",
        "MetricDataResults",
        {
            "MetricDataQueries": [
                {
                    "Id": key,
                    "MetricStat": {
                        "Metric": {
                            "Namespace": namespace,
                            "MetricName": metric.name,
                            "Dimensions": [
                                {"Name": name, "Value": value} for name, value in values.items()
                            ],
                        },
                        "Period": period_s,
                        "Stat": metric.statistic,
                    },
                }
                for key, (namespace, metric, values) in asked.items()
            ],
            "StartTime": _on_period(since, period_s, later=False),
            "EndTime": _on_period(until, period_s, later=True),
            "ScanBy": "TimestampAscending",
        },
    )
    points: dict[str, list[tuple[int, float]]] = {key: [] for key in asked}
    for one in found:
        pairs = zip(one.get("Timestamps", ()), one.get("Values", ()), strict=True)
        points[one["Id"]] += [(int(begin.timestamp()), float(value)) for begin, value in pairs]
    return [
        CloudMetric(
            name=metric.name,
            of=next(iter(values.values())),
            statistic=metric.statistic,
            period_s=period_s,
            limit=metric.limit,
            reached_at=1.0 if metric.limit else None,
            points=tuple(points[key]),
        )
        for key, (_, metric, values) in asked.items()
    ]


def _asked(
    facts: Mapping[str, Any], volumes: Sequence[str]
) -> Iterator[tuple[str, _Metric, dict[str, str]]]:
    """Namespace, metric and dimensions of each series."""
    for namespace, known in _METRICS.items():
        for volume in volumes if namespace == "AWS/EBS" else volumes[:1]:
            ids = {_VOLUME: volume, _INSTANCE: str(facts["instance_id"])}
            for metric in known:
                yield namespace, metric, {name: ids[name] for name in metric.dimensions}


def _on_period(moment: datetime, period_s: int, *, later: bool) -> datetime:
    """The begin of the period that `moment` is in, or with `later` its end."""
    number = moment.timestamp() // period_s + (1 if later else 0)
    return datetime.fromtimestamp(number * period_s, UTC)

"""CloudWatch's GetMetricData, of what the emulator counted of its volumes.

moto keeps only what is put there. Series have points under their own dimensions only; a period is
exceeded when most of its seconds were.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from emulators.aws.cloud import Cloud
from emulators.monitoring import Second

_VOLUME = ("VolumeId",)
_OF_CHECK = ("InstanceId", "VolumeId")


def _mostly(exceeded: Callable[[Second], bool]) -> Callable[[list[Second]], float]:
    return lambda seconds: float(2 * sum(map(exceeded, seconds)) > len(seconds))


_SERIES: Mapping[str, tuple[tuple[str, ...], str, Callable[[list[Second]], float]]] = {
    "VolumeReadOps": (_VOLUME, "Sum", lambda seconds: sum(s.read_ops for s in seconds)),
    "VolumeWriteOps": (_VOLUME, "Sum", lambda seconds: sum(s.write_ops for s in seconds)),
    "VolumeReadBytes": (_VOLUME, "Sum", lambda seconds: sum(s.read_bytes for s in seconds)),
    "VolumeWriteBytes": (_VOLUME, "Sum", lambda seconds: sum(s.write_bytes for s in seconds)),
    "VolumeIOPSExceededCheck": (_OF_CHECK, "Maximum", _mostly(lambda s: s.at_iops)),
    "VolumeThroughputExceededCheck": (_OF_CHECK, "Maximum", _mostly(lambda s: s.at_bytes)),
}
"""Of AWS/EBS: dimensions, statistic, and the value of a period."""


def results(cloud: Cloud, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The series that a request asks for."""
    since, until = (float(asked[name]) for name in ("StartTime", "EndTime"))
    return [
        {
            "Id": query["Id"],
            "Label": query["MetricStat"]["Metric"]["MetricName"],
            "StatusCode": "Complete",
            "Timestamps": [begin for begin, _ in points],
            "Values": [value for _, value in points],
        }
        for query in asked["MetricDataQueries"]
        for points in [_points(cloud, query["MetricStat"], since, until)]
    ]


def _points(
    cloud: Cloud, asked: Mapping[str, Any], since: float, until: float
) -> list[tuple[int, float]]:
    metric, period = asked["Metric"], int(asked["Period"])
    named = {one["Name"]: one["Value"] for one in metric.get("Dimensions", [])}
    known = _SERIES.get(metric["MetricName"])
    if known is None or metric["Namespace"] != "AWS/EBS":
        return []
    dimensions, statistic, value = known
    if tuple(sorted(named)) != dimensions or asked["Stat"] != statistic:
        return []
    periods: dict[int, list[Second]] = {}
    for begin, second in sorted(cloud.monitoring.seconds.get(named["VolumeId"], {}).items()):
        of = begin - begin % period
        if since <= of < until and of + period + cloud.metrics_after_s <= time.time():
            periods.setdefault(of, []).append(second)
    return [(begin, value(seconds)) for begin, seconds in periods.items()]

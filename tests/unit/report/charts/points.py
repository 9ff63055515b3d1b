"""Points as the tests of charts need them."""

from diskbench.report.charts.point import ChartPoint


def point(label="gp2", value=3000.0, **changes) -> ChartPoint:
    values = {"source": "published", "provider": "aws", "n": 10, "words": f"published: {label}"}
    return ChartPoint(label, **{"metric": "iops", "value": value} | values | changes)


def own(label="gp2", value=2500.0, run="01aaa", **changes) -> ChartPoint:
    values = {"source": "measured", "run_ids": (run,), "n": 3, "words": "", "machine": run}
    return point(label, value, **values | changes)

"""Price against the rate that lasts: every disk that carries a demand, and the cheaper ones that do
not, with the demand as a line."""

from dataclasses import replace

from diskbench.errors import InvalidValue
from diskbench.plan.advise import Advice, Answer, Measured, Refused
from diskbench.plan.demand import Demand
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.price import price_chart


def advice_points(answer: Answer, demand: Demand) -> list[ChartPoint]:
    """The disks of known price as points: measured ones, else documented ones."""
    metric, per = ("bytes_per_s", demand.bytes_each) if demand.in_mb_per_s else ("iops", 1.0)
    priced: list[tuple[Advice | Refused, Measured | None, str]] = [
        *((row, row.measured, "") for row in answer.rows if row.disk_usd),
        *((one, None, one.why) for one in answer.refused if one.disk_usd and one.headroom),
    ]
    return [
        ChartPoint(
            label=f"{row.disk.disk_type} {row.disk.size_gib:,}",
            metric=metric,
            value=(measured.iops if measured else row.headroom * demand.most_iops) * per,
            source="measured" if measured else "published",
            provider=row.disk.cloud,
            n=measured.n if measured else None,
            statistic="documented",
            usd=row.disk_usd,
            doubt=doubt,
        )
        for row, measured, doubt in priced
    ]


def advice_chart(answer: Answer, demand: Demand) -> ChartFigure:
    """The chart. Raises InvalidValue where no price is known."""
    points = advice_points(answer, demand)
    if not points:
        raise InvalidValue(
            "no price is known for any of these disks, so there is nothing to draw",
            advice="ask for prices: diskbench catalog prices --refresh --region NAME",
        )
    base = price_chart(
        points,
        name="advice",
        heading="Which disk carries the load",
        prices_of="disk alone",
        asked=demand.most_iops * (demand.bytes_each if demand.in_mb_per_s else 1.0),
    )
    words = "line: the rate required; hollow: does not carry it; documented, as of the sources"
    unit = base.subtitle.partition(";")[0]
    return replace(base, subtitle=f"{answer.asked}: {unit}; {words}")

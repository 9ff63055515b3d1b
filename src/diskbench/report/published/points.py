"""Published figures as points of charts: a short name for each disk, and its doubts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.plugins import known_plugin
from diskbench.report.charts.point import ChartPoint, provider_label

if TYPE_CHECKING:
    from diskbench.catalog.post_file import Published

_SAID_OF_MODEL = re.compile(r" \(\D[^)]*\)")
_CACHES = {"readonly": ", read cache", "readwrite": ", rw cache"}


def published_point(figure: Published, *, label: str | None = None) -> ChartPoint:
    """One published figure as a point; it has no link, because it belongs to no run of ours."""
    samples = figure.samples
    return ChartPoint(
        label=label if label is not None else short(figure),
        metric=figure.metric,
        value=figure.value,
        source="published",
        direction=figure.direction,
        key=figure.id,
        provider=figure.provider,
        region=figure.region or "",
        instance=figure.instance_type or "",
        disk=figure.disk_type,
        profile=figure.profile,
        step=figure.step,
        values=samples,
        low=min(samples) if samples else None,
        high=max(samples) if samples else None,
        n=figure.n,
        counted="samples" if samples else "I/Os" if figure.metric.endswith("_ns") else "runs",
        statistic=figure.statistic,
        when=figure.post.date or "",
        doubt=figure.doubt.words if figure.doubt else "",
        words=f"published {figure.post.date or '(undated)'}: {figure.id}",
        machine=f"{figure.seed}:{figure.machine}:{figure.disk}",
    )


def short(figure: Published) -> str:
    """`LABEL gp2`, `LABEL Standard 20 GiB, rw cache`: the provider and the disk."""
    words = _SAID_OF_MODEL.sub("", figure.disk.split(":")[0].split(", ")[0])
    is_sold = (plugin := known_plugin(figure.provider)) is not None and plugin.rents
    whose = provider_label(figure.provider) or "" if is_sold else ""
    return f"{whose} {words}".strip() + _CACHES.get(figure.cache or "", "")


def with_extremes(points: Iterable[ChartPoint]) -> tuple[ChartPoint, ...]:
    """Mean, lowest and highest latency of a disk and direction as one point: the mean with its
    extremes as `low` and `high`. Disks without a mean are left out."""
    by_disk: dict[tuple[str, ...], dict[str, ChartPoint]] = {}
    for point in points:
        whose = (point.label, point.direction, point.step, point.source, *point.run_ids)
        by_disk.setdefault(whose, {})[point.metric] = point
    return tuple(
        replace(
            of["lat_mean_ns"],
            low=of["lat_min_ns"].value if "lat_min_ns" in of else None,
            high=of["lat_max_ns"].value if "lat_max_ns" in of else None,
        )
        for of in by_disk.values()
        if "lat_mean_ns" in of
    )

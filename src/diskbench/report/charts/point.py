"""One figure of one disk for the charts over many runs, published or measured, and the rows of such
a chart: one per label, and below it one for own runs of that disk."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from diskbench.analysis.repeats import Sample, by_machine, median_interval
from diskbench.parallel import grouped
from diskbench.plugin import known_plugin, plugins
from diskbench.report.charts.measure import Spec, bare_labels, named, span, with_unit
from diskbench.report.charts.palette import SERIES

Source = Literal["published", "measured", "predicted"]

OTHER = "other"
"""The legend entry of providers without a label (Plugin.label)."""
_MOST_IDS = 4


def provider_label(provider: str) -> str | None:
    """The label of a provider in legends; None if it has none."""
    plugin = known_plugin(provider)
    return plugin.label or None if plugin else None


@dataclass(frozen=True)
class ChartPoint:
    """One figure. `value` is in the unit of `metric`: IOPS, bytes a second or nanoseconds.

    `label` names the disk; points that share a `key` lie over each other (for a published figure
    its id). `values` are those of its runs, in their order, beside `run_ids` and their `numbers` in
    a series where we measured them; `low` and `high` are the least and the largest. `n` counts
    `counted` (runs, I/Os, samples), all on one machine: only machines make an interval (MR-5).
    `marks` are what a reader must know first (emulated, imported), `doubt` why the figure does not
    say how fast the disk is. `promised` is a value and its plausible range, lowest and highest
    (empty: nothing), `promised_by` who promised it, with a date; `burst` is promised while credit
    lasts (None: the disk does not burst). `on_credit`: it was measured during the burst, and is
    compared with it. `usd` is the price of its disk a month. `href` leads to its row.
    """

    label: str
    metric: str
    value: float
    source: Source = "measured"
    direction: str = "total"
    key: str = ""
    provider: str = ""
    region: str = ""
    instance: str = ""
    step: str = ""
    values: tuple[float, ...] = ()
    run_ids: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    n: int | None = None
    counted: str = "runs"
    statistic: str = "mean"
    when: str = ""
    href: str | None = None
    marks: tuple[str, ...] = ()
    doubt: str = ""
    words: str = ""
    promised: tuple[float, ...] = ()
    promised_by: str = ""
    burst: float | None = None
    on_credit: bool = False
    usd: float | None = None
    machine: str = ""
    """The same for points that depend on each other; empty: a machine of its own."""

    @property
    def where(self) -> str:
        """`LABEL us-east-1 c4.xlarge`."""
        name = provider_label(self.provider) or self.provider
        return " ".join(word for word in (name, self.region, self.instance) if word)

    @property
    def against(self) -> float:
        """The promised value that it is compared with; something must be promised."""
        return self.burst if self.on_credit and self.burst is not None else self.promised[0]

    @property
    def runs(self) -> str:
        """The ids of its runs; for more than four the first, the last, and the number."""
        if len(self.run_ids) <= _MOST_IDS:
            return ", ".join(self.run_ids)
        return f"{self.run_ids[0]} to {self.run_ids[-1]} ({len(self.run_ids)} runs)"

    @property
    def sample(self) -> str:
        """`mean of n = 10 runs`, `stated, n not stated`."""
        if self.n is None:
            return f"{self.statistic}, n not stated"
        counted = self.counted[:-1] if self.n == 1 else self.counted
        return f"{self.statistic} of n = {self.n} {counted}" if self.n > 1 else f"n = 1 {counted}"

    @property
    def description(self) -> str:
        """The text at its mark: run, subject, values, n and doubts."""
        origin = f"run {self.runs}" if self.run_ids else self.words or self.source
        parts = [origin, self.label, self.where, self.step, with_unit(self.metric, self.value)]
        if self.low is not None and self.high is not None:
            low, high = with_unit(self.metric, self.low), with_unit(self.metric, self.high)
            parts.append(f"{low} to {high}")
        parts += [self.sample, *self.marks, f"doubted: {self.doubt}" if self.doubt else ""]
        return " · ".join(part for part in parts if part)


def machine_values(points: Sequence[ChartPoint]) -> list[float]:
    """One value per machine: the median of the points that share it (MR-5)."""
    samples = (Sample("", one.value, one.machine or n) for n, one in enumerate(points))
    return by_machine(samples)


def subtitle(points: Sequence[ChartPoint], unit: str) -> str:
    """The unit, n and the interval of each source, and the meaning of doubted marks."""
    words = [unit, sample_words(points)]
    if any(point.doubt for point in points):
        words.append("hollow: doubted")
    marks = dict.fromkeys(mark for point in points for mark in point.marks)
    yours = "yours: " if any(point.source == "published" for point in points) else ""
    return "; ".join([*words, *([f"{yours}{', '.join(marks)}"] if marks else [])])


def sample_words(points: Sequence[ChartPoint]) -> str:
    """n and its interval in a chart, in one clause for each source: `published: means of n = 10
    runs, no interval (n = 1 machine each); yours: …`."""
    of_sources = grouped(points, lambda point: point.source)
    published, own = of_sources.get("published"), of_sources.get("measured")
    clauses = [f"published: {_counts(published)}, {_intervals(published)}"] if published else []
    if own:
        clauses.append(f"{'yours: ' if published else ''}{_counts(own)}, {_intervals(own)}")
    return "; ".join(clauses)


def _counts(points: Sequence[ChartPoint]) -> str:
    parts = []
    alike = grouped(points, lambda point: (point.statistic, point.counted))
    for (statistic, counted), of_kind in alike.items():
        known = {point.n for point in of_kind if point.n is not None}
        if not known:
            parts.append(f"{statistic}, n not stated")
        elif known == {1}:
            parts.append(f"n = 1 {counted[:-1]}")
        else:
            parts.append(f"{statistic} of n = {span(known)} {counted}")
    return " or ".join(parts)


def _intervals(points: Sequence[ChartPoint]) -> str:
    by_label = grouped(points, lambda point: (point.label, point.instance))
    of_labels = list(map(machine_values, by_label.values()))
    machines = set(map(len, of_labels))
    counted = f"n = {span(machines)} {'machine' if machines == {1} else 'machines'}"
    if any(map(median_interval, of_labels)):
        return f"bracket: 95 % interval of the median over {counted}"
    return f"no interval ({counted} each)" if len(of_labels) > 1 else f"no interval ({counted})"


Row = dict[str, Any]


def row(point: ChartPoint) -> Row:
    """The fields of a point's mark, with unscaled values."""
    fields: Row = {
        "label": point.label,
        "key": point.key or point.label,
        "value": point.value,
        "low": point.low,
        "high": point.high,
        "source": point.source,
        "provider": provider_label(point.provider) or OTHER,
        "doubted": bool(point.doubt),
        "description": point.description,
    }
    return fields | ({"href": point.href} if point.href else {})


def provider_colour(points: Iterable[ChartPoint], *, legend: bool) -> Spec:
    """A fixed colour for each provider, renting providers first; labels name the provider as well.
    If no disk is of a cloud, all have the first colour: there is nothing to distinguish."""
    in_order = sorted(plugins(), key=lambda plugin: (not plugin.rents, plugin.name))
    domain = [*(plugin.label for plugin in in_order if plugin.label), OTHER]
    present = {provider_label(point.provider) or OTHER for point in points}
    if present == {OTHER}:
        return {"value": SERIES[0]}
    names = [name for name in domain if name in present]
    shown = {"title": None, "values": names, "symbolType": "square"}
    scale = {"domain": domain, "range": list(SERIES)}
    return named("provider", scale=scale, legend=shown if legend and len(present) > 1 else None)


OWN_MARK = "\u200b"
"""A zero-width space at the end of a name marks the row of own runs."""
_YOURS = "yours"
Lanes = dict[str, list[ChartPoint]]
"""The names of rows from top to bottom, each with its points."""


def lanes_of(points: Sequence[ChartPoint], *, ranked: bool) -> Lanes:
    """The rows for these points: the published ones by value, the largest first, or in their order;
    and below each those of own runs of that disk."""
    beside = len({point.source for point in points}) > 1
    ordered = sorted(points, key=lambda point: point.source == "measured")
    by_label = grouped(ordered, lambda point: point.label)
    labels = sorted(by_label, key=lambda name: -by_label[name][0].value) if ranked else by_label
    return grouped(
        (point for label in labels for point in by_label[label]),
        lambda point: (
            point.label.replace(OWN_MARK, "")
            + (OWN_MARK if beside and point.source == "measured" else "")
        ),
    )


def lane_axis(lanes: Mapping[str, object], *, labelled: bool = True) -> Spec:
    """The vertical axis: labels, and `yours` for a row of own runs. Not `labelled`: the same rows
    without labels, because a panel further left has them."""
    labels = bare_labels(lanes, lambda name: _YOURS if is_own(name) else name)
    return named("row", scale={"domain": list(lanes)}, axis=labels if labelled else None)


def is_own(name: str) -> bool:
    """Whether a row holds own runs below a published figure."""
    return name.endswith(OWN_MARK)


def lane_rows(lanes: Lanes) -> list[Row]:
    """The fields of each point's mark, with the name of its row."""
    return [row(point) | {"row": name} for name, of_lane in lanes.items() for point in of_lane]

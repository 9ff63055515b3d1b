"""The page of one configuration: the history of each step, its levels, changes and runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from diskbench.analysis.time_share import share_of_runs
from diskbench.model.comparison import Difference, Metric
from diskbench.model.history import Configuration, MetricHistory, SiteRunLine
from diskbench.model.ids import short
from diskbench.parallel import grouped
from diskbench.report.assemble import words
from diskbench.report.assemble.lines import Spread, StepLine
from diskbench.report.charts.history import history_chart
from diskbench.report.charts.summary import rate_charts
from diskbench.report.page.page import drawn
from diskbench.report.site.frame import METRIC_TITLES, Site, day, days, moment, render, run_href
from diskbench.report.site.lines import field_words
from diskbench.report.site.table import runs_table
from diskbench.units import counted, format_bytes, times

DRAWN = ("iops", "lat_mean_ns", "p99_ns")
"""Metrics with charts: MB/s follows from IOPS, other quantiles move with these. Tables show all."""
_UP = "../"
_MOST_VALUES = 5
_FOLLOWS = "bytes_per_s"
"""This metric changes together with IOPS, so its changes are not listed again."""
_JOB, _PARSER = "job", "parser version"


def configuration_page(
    site: Site, configuration: Configuration, runs: Sequence[SiteRunLine]
) -> bytes:
    """The page of a configuration; `runs` are its runs, newest first."""
    marks = _marks(configuration.fact_changes)
    by_metric = grouped(configuration.tracks, lambda track: track.metric)
    metrics = [_metric(name, by_metric[name], marks) for name in METRIC_TITLES if name in by_metric]
    over_time = any(metric["charts"] for metric in metrics)
    if metrics and not over_time:
        metrics[0]["charts"] = _bars(by_metric)
    found = {_fact(name): _values(values) for name, values in configuration.facts}
    digests = [field_words(*field)[1] for field in configuration.fields if field[0] == _JOB]
    provenance = [("job digest", digest) for digest in digests]
    if _PARSER in found:
        provenance.append((_PARSER, found.pop(_PARSER)))
    tracks = [track for track in configuration.tracks if track.metric != _FOLLOWS]
    return render(
        "site_configuration.html.j2",
        site,
        up=_UP,
        one=configuration,
        summary=_summary(configuration),
        kept=kept_words(runs),
        fields=shown_fields(configuration.fields),
        changes=[change for track in tracks for change in _changes(track)],
        metrics=metrics,
        charts=over_time,
        facts=[(moment(at), mark) for at, mark in marks],
        found=list(found.items()),
        provenance=provenance,
        table=runs_table(runs, up=_UP, one_subject=True),
    )


def kept_words(runs: Sequence[SiteRunLine]) -> str:
    """For how many of the runs (newest first) every step kept its promise; empty for few runs."""
    judged = [run for run in reversed(runs) if run.ratio is not None]
    designed = next((run.designed for run in judged if run.designed is not None), None)
    share = share_of_runs([run.ratio or 0.0 for run in judged], designed)
    return "" if share is None else share.words()


def _metric(
    name: str, tracks: Sequence[MetricHistory], marks: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """One metric: a row per step, and charts for steps with a history."""
    numbered = [(at, str(number)) for number, (at, _) in enumerate(marks, 1)]
    lines = [_line(track, place) for place, track in enumerate(tracks)]
    charts = [
        _drawn(track, line, numbered)
        for track, line in zip(tracks, lines, strict=True)
        if name in DRAWN and len(track.history.points) > 1
    ]
    return {"key": name, "title": METRIC_TITLES[name], "lines": lines, "charts": charts}


def _bars(by_metric: Mapping[Metric, Sequence[MetricHistory]]) -> list[dict[str, Any]]:
    """The rates of all steps of a configuration that was measured once: it has no course."""

    def spread(track: MetricHistory) -> Spread:
        return Spread((track.now.low, track.now.median, track.now.high))

    rates = {track.name: spread(track) for track in by_metric.get("bytes_per_s", ())}
    tracks = [track for track in by_metric.get("iops", ()) if track.history.direction != "sync"]
    steps = [
        StepLine(
            track.history.step, track.history.direction, "", spread(track), rates.get(track.name)
        )
        for track in tracks
    ]
    machines = max((track.now.machines for track in tracks), default=1)
    n = f"bar: median of n = {machines} machines" if machines > 1 else words.NO_INTERVAL.format(n=1)
    bars = rate_charts(steps)
    return drawn([replace(one, subtitle=f"{one.subtitle.partition(';')[0]}; {n}") for one in bars])


def _line(track: MetricHistory, place: int) -> dict[str, Any]:
    """A row of the table of a metric, as text; `value` is the number."""
    show = words.figure_text(track.metric)
    now, changes = track.now, track.history.changes
    block = format_bytes(track.block_bytes) if track.block_bytes else None
    depth = f"depth {track.iodepth}" if track.iodepth else None
    interval = words.NO_INTERVAL.format(n=now.machines)
    if now.interval is not None:
        interval = f"{show(now.interval.low)} to {show(now.interval.high)} (n = {now.machines})"
    since = f"since {day(changes[-1].at)}, " if changes else ""
    out = counted(track.left_out, "trial")
    left_out = f"; {out} left out: their facts differ" if track.left_out else ""
    once = len(track.history.points) <= 1
    history = "measured once" if once else f"{since}{track.history.nothing_words()}"
    return {
        "id": f"{track.metric}-{place}",
        "step": track.history.step,
        "direction": track.history.direction,
        "job": ", ".join(filter(None, (track.rw, block, depth))),
        "value": now.median,
        "median": show(now.median),
        "interval": interval,
        "range": f"{show(now.low)}–{show(now.high)}" if now.low != now.high else "",
        "variation": "" if now.variation is None else f"{now.variation * 100:.1f} %",
        "history": f"{history}{left_out}",
    }


def _drawn(
    track: MetricHistory, line: dict[str, Any], marks: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    show = words.figure_text(track.metric)
    measured, trials = len(track.history.points), len(track.sampled)
    dots = {
        trial.run_id: {
            "at": trial.at,
            "value": trial.value,
            "description": f"{show(trial.value)}, {moment(trial.at)}, run {short(trial.run_id)}",
            "href": f"{_UP}{run_href(trial.trial_id, trial.run_id)}",
        }
        for trial in track.sampled
    }
    firsts = {trial.campaign_id: trial.run_id for trial in reversed(track.sampled)}
    medians = []
    for point in track.history.points:
        median = dots[firsts[point.campaign_id]] | {"at": point.at, "value": point.value}
        if trials > measured:
            of_time = f"median of {point.trials} trials, {moment(point.at)}"
            median["description"] = f"{show(point.value)}, {of_time}"
        medians.append(median)
    of_trials = f" in {trials} trials" if trials != measured else ""
    between = line["interval"] if track.now.interval is None else f"median {line['interval']}"
    first, last = track.history.points[0], track.history.points[-1]
    span = days(first.at, last.at)
    unit = "operations per second" if track.metric == "iops" else "time of one operation"
    subtitle = f"{unit}; measured {times(measured)}{of_trials}, {span}; {between}"
    figure = history_chart(
        track,
        id_=f"chart-{line['id']}",
        subtitle=subtitle,
        alt_text=(f"{METRIC_TITLES[track.metric]} of {track.name}, {span}: {line['history']}"),
        trials=list(dots.values()) if trials > measured else (),
        times=medians,
        facts=[{"at": at, "text": number} for at, number in marks if first.at <= at <= last.at],
    )
    return drawn([replace(figure, rows_href=line["id"])])[0]


def _changes(track: MetricHistory) -> list[dict[str, object]]:
    show = words.figure_text(track.metric)
    hrefs = {of.at: f"{_UP}{run_href(of.trial_id, of.run_id)}" for of in track.sampled}
    return [
        {
            "track": track.name,
            "metric": METRIC_TITLES[track.metric],
            "worse": change.regression,
            "at": moment(change.at),
            "href": hrefs[change.at],
            "last": moment(change.before),
            "before": show(change.median_before),
            "after": show(change.median_after),
            "change": words.change_text(change.change),
            "since": times(change.since),
            "differences": "; ".join(map(words.difference_text, change.differences)),
        }
        for change in track.history.changes
    ]


def _marks(changes: Sequence[tuple[str, Difference]]) -> list[tuple[str, str]]:
    """Times at which facts changed, each with its changes as text."""
    texts = [(at, f"{_fact(of.fact)} {_values(of.a)} → {_values(of.b)}") for at, of in changes]
    by_time = groupby(texts, key=itemgetter(0))
    return [(at, "; ".join(text for _, text in group)) for at, group in by_time]


def _fact(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ")


def _values(values: Sequence[str]) -> str:
    return _some(values[-_MOST_VALUES:], len(values))


def shown_fields(fields: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The fields for display: parameters of the job together, sizes as `64 MiB`. The digest of the
    job, which is equal for equal work, is provenance."""
    shown, parameters = [], []
    for name, value in fields:
        if name.startswith("set."):
            parameters.append(" ".join(field_words(name, value)))
        elif name != _JOB:
            shown.append((name.replace("_", " "), value))
    return shown + ([("parameters", ", ".join(parameters))] if parameters else [])


def _some(shown: Sequence[str], of: int) -> str:
    return ", ".join(shown) + (f" and {of - len(shown)} more" if of > len(shown) else "")


def _summary(configuration: Configuration) -> str:
    runs, machines = len(configuration.runs), configuration.machines
    on = f"{counted(runs, 'run')} on {counted(machines, 'machine')}"
    span = days(configuration.first, configuration.last)
    told = f"measured {times(configuration.times)}: {on}, {span}"
    if not configuration.undated:
        return told
    undated = _some(configuration.undated[:_MOST_VALUES], len(configuration.undated))
    return f"{told}, not drawn over time, because they have no date: {undated}"

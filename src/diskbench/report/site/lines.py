"""Rows of the site's tables: one line per run and per configuration."""

from collections.abc import Collection, Mapping, Sequence

from diskbench.analysis.trust import over_runs
from diskbench.model.history import (
    Best,
    Configuration,
    ConfigurationLine,
    Configured,
    NewLevel,
    SiteRunLine,
)
from diskbench.model.run import Run
from diskbench.model.verdict import Trust
from diskbench.report.assemble.lines import StepLine
from diskbench.report.assemble.view import View
from diskbench.report.terminal.lists import disk as disk_bought
from diskbench.results.verdicts import asks_all
from diskbench.units import format_bytes

_SHOWN = frozenset(
    {"provider", "region", "disk", "size", "instance_type", "machine", "profile", "target"}
)
_DIGEST = 12
_DOUBT: tuple[Trust, ...] = ("yes", "with care", "no")


def run_line(
    row: Run, asked: Mapping[str, str], key: str, view: View, lines: Sequence[StepLine]
) -> SiteRunLine:
    """The line of a run (a database row); `asked` are the fields of its subject, `view` is the
    result of its trial, `lines` are the figures of this run alone."""
    verdicts = [verdict for verdict in view.verdicts if verdict.run_id == row.run_id]
    asked_all = [verdict for verdict in verdicts if asks_all(verdict)]
    kinds = [(verdict.step, verdict.stands_for.kind) for verdict in verdicts]
    on_credit = {step for step, kind in kinds if kind == "burst"}
    lasting = {step for step, kind in kinds if kind is not None} - on_credit
    sizes = " ".join(filter(None, (asked.get("disk"), asked.get("size"))))
    # What was not rented, as far as it is known: `virtio_blk 256 GiB`.
    size = format_bytes(row.disk_size_bytes) if row.disk_size_bytes else None
    found = " ".join(filter(None, (row.disk_model or row.disk_driver, size)))
    machines = asked.get("instance_type"), asked.get("machine"), row.instance_type, row.hostname
    figures = [
        (line.direction, Best(value=line.iops.median, step=line.step))
        for line in lines
        if line.role != "fill" and line.iops is not None
    ]
    read, write = (_best(figures, direction, on_credit) for direction in ("read", "write"))
    best = max(filter(None, (read, write)), key=_rank, default=None)
    limits = {verdict.step: verdict.stands_for.limiter.words() for verdict in verdicts}
    first = next(iter(limits.values()), "")
    worst = max((verdict.trust for verdict in verdicts), key=_DOUBT.index, default=None)
    return SiteRunLine(
        run_id=row.run_id,
        trial_id=row.trial_id,
        key=key,
        at=row.when or "",
        state=row.state,
        provider=row.provider,
        region=asked.get("region") or row.region or row.zone or "",
        disk=sizes or (disk_bought(row) if row.disk_type else found),
        machine=next(filter(None, machines), ""),
        profile=row.profile,
        labels=tuple(sorted((str(k), str(v)) for k, v in row.labels.items())),
        marks=row.marks,
        trust=worst if row.state == "done" else None,
        # The limit of the step whose figure the line shows; of the first step without a figure.
        limiter=limits.get(best.step, first) if best else first,
        on_credit=tuple(sorted(on_credit)),
        lasting=tuple(sorted(lasting)),
        read=read,
        write=write,
        usd_a_month=view.price.total_usd if view.price is not None else None,
        ratio=min((ratio for one in asked_all if (ratio := one.stands_for.ratio)), default=None),
        designed=next((p.designed for one in asked_all if (p := one.stands_for.promised)), None),
    )


def configuration_line(
    configuration: Configuration, runs: Sequence[SiteRunLine] = ()
) -> ConfigurationLine:
    """The line of a configuration and of its `runs`, which are newest first. Levels are those of
    IOPS, oldest first."""
    judged = [run.trust for run in runs if run.trust is not None]
    trust = over_runs(judged) if judged else None
    # One run that lasted is enough: the median is then not of credit alone.
    lasting = {step for run in runs for step in run.lasting}
    on_credit = {step for run in runs for step in run.on_credit} - lasting
    fields = [(name, value) for name, value in configuration.fields if name not in _SHOWN]
    newest = {name: values[-1] for name, values in configuration.facts}
    model = newest.get("disk_model") or newest.get("disk_driver")
    found = " ".join(filter(None, (model, newest.get("disk_size_bytes"))))
    subject = {name: getattr(configuration, name) for name in Configured.model_fields}
    figures = []
    for track in configuration.tracks:
        of, now = track.history, track.now
        if track.metric == "iops":
            figures.append((of.direction, Best(value=now.median, step=of.step, n=now.machines)))
    return ConfigurationLine(
        **subject | {"disk": configuration.disk or found},
        target=dict(configuration.fields).get("target", ""),
        rest=tuple(field_words(name, value) for name, value in fields),
        runs=len(configuration.runs),
        read=_best(figures, "read", on_credit),
        write=_best(figures, "write", on_credit),
        trust=trust,
        doubted=sum(run.trust == trust for run in runs) if trust in _DOUBT[1:] else 0,
        followed=any(track.history.visible is not None for track in configuration.tracks),
        levels=tuple(_levels(configuration)),
        usd_a_month=next((run.usd_a_month for run in runs if run.usd_a_month is not None), None),
    )


def _best(
    figures: Sequence[tuple[str, Best]], direction: str, on_credit: Collection[str]
) -> Best | None:
    """The highest figure of a direction that lasts; one on burst credit only where none did."""
    of_direction = (
        best.model_copy(update={"on_credit": best.step in on_credit})
        for of, best in figures
        if of == direction
    )
    return max(of_direction, key=_rank, default=None)


def _rank(best: Best) -> tuple[bool, float]:
    return not best.on_credit, best.value


def field_words(name: str, value: str) -> tuple[str, str]:
    """A field of a subject as a reader knows it: `1 GiB` for a size in bytes."""
    if name in ("set.size", "set.bs") and value.isdecimal():
        value = format_bytes(int(value))
    return name.removeprefix("set."), value[:_DIGEST] if name == "job" else value


def _levels(configuration: Configuration) -> list[NewLevel]:
    levels = []
    for track in (track for track in configuration.tracks if track.metric == "iops"):
        first = {sampled.at: sampled for sampled in track.sampled}
        levels += [
            NewLevel(
                at=change.at,
                trial_id=first[change.at].trial_id,
                run_id=first[change.at].run_id,
                step=track.history.step,
                direction=track.history.direction,
                metric=track.metric,
                before=change.median_before,
                after=change.median_after,
                change=change.change,
                worse=change.regression,
            )
            for change in track.history.changes
        ]
    return sorted(levels, key=lambda level: level.at)

"""Published figures as text of 80 columns: lists, the details of one, and runs beside them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from diskbench.catalog.books import Books
from diskbench.catalog.post_file import Published
from diskbench.catalog.published import group
from diskbench.plan.published import published_verdict
from diskbench.report.assemble.words import cut, figure_text, rate_words
from diskbench.report.published.differences import FigureBeside
from diskbench.report.published.document import ComparePublishedDocument, RunsBeside
from diskbench.report.terminal.screen import wrapped

WIDTH = 80
_LABEL = 10


def list_lines(figures: Sequence[Published]) -> Iterator[str]:
    """A line per figure below its post; `!` marks doubted figures."""
    if not figures:
        yield "no figure meets all of that"
    width = max((len(_short(figure)) for figure in figures), default=0)
    for number, (_, same) in enumerate(groupby(figures, key=lambda figure: figure.seed)):
        of_post = list(same)
        if number:
            yield ""
        yield f"{of_post[0].seed}: {of_post[0].post.words}"
        for figure in of_post:
            mark = "!" if figure.doubt else " "
            where = figure.instance_type or figure.provider
            value = figure_text(figure.metric)(figure.value)
            yield cut(f"{mark} {_short(figure):<{width}}  {value:>14}  {where}", WIDTH)


def show_lines(figures: Sequence[Published], books: Books) -> Iterator[str]:
    """The properties of each disk once, then its figures."""
    for number, (_, same) in enumerate(groupby(figures, key=group)):
        if number:
            yield ""
        yield from _disk_lines(list(same), books)


def what(figure: Published) -> str:
    """`rand-512-9to1 total`, `write-through-write write, mean`."""
    extreme = f", {figure.metric[4:-3]}" if figure.metric.startswith("lat_") else ""
    return f"{figure.step} {figure.direction}{extreme}"


def labelled(label: str, text: str, *, indent: int = 2) -> list[str]:
    """A label and its text, wrapped with a hanging indent."""
    return wrapped(" " * indent + f"{label:<{_LABEL}}", text, WIDTH)


def _disk_lines(figures: Sequence[Published], books: Books) -> Iterator[str]:
    first = figures[0]
    yield from textwrap.wrap(f"{group(first)}: {first.disk}", WIDTH, subsequent_indent="  ")
    by = " by " + first.post.author if first.post.author else ""
    publisher = f", {first.post.publisher}" if first.post.publisher else ""
    yield from labelled("post", f'"{first.post.title}"{by}{publisher}')
    yield from labelled("date", first.post.date or "none in the text")
    yield from labelled("table", first.table_words)
    is_named = first.instance_type and first.instance_type != first.machine
    machine = (first.provider, first.instance_type if is_named else "", first.machine)
    yield from labelled("machine", " · ".join(filter(None, machine)))
    yield from labelled("disk", " · ".join(_disk(first)))
    for figure in figures:
        yield from _figure_lines(figure, books)
    notes = dict.fromkeys(note for figure in figures for note in figure.notes)
    if notes:
        yield ""
    for note in notes:
        yield from labelled("note", note)


def _disk(figure: Published) -> Iterator[str]:
    yield figure.disk_type
    yield "size not known" if figure.size_gib is None else f"{figure.size_gib:g} GiB"
    if figure.provisioned_iops:
        yield f"{figure.provisioned_iops:g} IOPS provisioned"
    if figure.cache:
        yield f"host caching {figure.cache}"


def _figure_lines(figure: Published, books: Books) -> Iterator[str]:
    name = figure.id.rpartition("/")[2]
    yield ""
    yield f"  {name}: {figure_text(figure.metric)(figure.value)}"
    yield from labelled("printed", " · ".join(_printed(figure)), indent=4)
    yield from labelled("measured", f"{figure.tool}: {figure.method}", indent=4)
    settings = "".join(f" --set {key}={value:g}" for key, value in figure.parameters.items())
    again = f"profile {figure.profile}{settings}, step {what(figure)}"
    yield from labelled("again", again, indent=4)
    if figure.doubt:
        yield from labelled("doubt", f"{figure.doubt.code}: {figure.doubt.words}", indent=4)
    yield from labelled("verdict", _verdict(figure, books), indent=4)


def _verdict(figure: Published, books: Books) -> str:
    """`no: served from cache; limited by …`; for a latency only whether to trust it."""
    verdict = published_verdict(figure, books)
    level = verdict.stands_for
    if level.iops is None and level.bytes_per_s is None:
        return verdict.words()
    parts = [verdict.words()]
    if level.ratio is not None and level.promised is not None:
        documented = rate_words(level.promised.iops, level.promised.bytes_per_s)
        parts.append(f"{level.ratio:.0%} of the {documented} that are documented today")
    known = level.limiter.name != "unknown"
    parts.append(f"limited by {level.limiter.words()}" if known else "limit unknown")
    shown = f" ({'; '.join(level.limiter.evidence)})" if known and level.limiter.evidence else ""
    return "; ".join(parts) + shown


def _printed(figure: Published) -> Iterator[str]:
    yield f"{figure.printed} {figure.unit}"
    if figure.statistic != "stated":
        yield f"{figure.statistic} of {figure.n}" if figure.n else figure.statistic
    if figure.printed_samples:
        yield f"samples {', '.join(figure.printed_samples)}"
    if figure.printed_spread:
        yield figure.printed_spread
    if figure.approximate:
        yield "approximate"


def _short(figure: Published) -> str:
    """The id without the prefix of its post."""
    return figure.id.partition("/")[2]


_NAME = 36


def beside_lines(document: ComparePublishedDocument) -> Iterator[str]:
    """For each trial its figures beside the published ones, and why they may differ."""
    for number, trial in enumerate(document.trials):
        if number:
            yield ""
        yield from _trial_lines(trial)


def _trial_lines(trial: RunsBeside) -> Iterator[str]:
    runs = f"run {trial.run_ids[0]}"
    if len(trial.run_ids) > 1:
        runs += f" and {len(trial.run_ids) - 1} more of its trial"
    marks = f" [{', '.join(trial.marks)}]" if trial.marks else ""
    yield f"{runs}{marks}"
    yield from wrapped("  ", trial.subject, WIDTH)
    if not trial.figures:
        yield from wrapped("  ", f"nothing published matches: {trial.why_not}", WIDTH)
        if trial.nearest:
            yield "  nearest:"
        for near in trial.nearest:
            yield from wrapped("    ", f"{near.name}: {near.why}", WIDTH, indent=6)
        if any(near.same_workload for near in trial.nearest):
            yield "  one that is named after the run is used for every disk"
        return
    for _, same in groupby(trial.figures, key=lambda beside: group(beside.figure)):
        yield ""
        yield from _table(list(same))
    if any(beside.figure.doubt for beside in trial.figures):
        yield "  ! theirs is doubted"
    yield ""
    yield "why they may differ"
    for words in trial.differences:
        yield from wrapped("  - ", words, WIDTH)


def _table(figures: Sequence[FigureBeside]) -> Iterator[str]:
    first = figures[0].figure
    where = first.instance_type or first.machine
    head = f"{group(first)}: {first.post.words}, {first.disk}, {where}"
    yield from wrapped("", head, WIDTH, indent=2)
    yield f"  {'':<{_NAME}}{'theirs':>13}{'ours':>13}  ours/theirs"
    names = [what(beside.figure) for beside in figures]
    for beside, step in zip(figures, names, strict=True):
        figure = beside.figure
        mark = "!" if figure.doubt else " "
        # Figures of one step differ in their parameters, which are at the end of the id.
        name = step if names.count(step) == 1 else figure.id.rpartition("/")[2]
        show = figure_text(figure.metric)
        values = f"{show(figure.value):>13}{show(beside.ours):>13}"
        ratio = f"{beside.ratio:,.0f}" if beside.ratio >= 99.5 else f"{beside.ratio:.3g}"
        yield f"{mark} {name:<{_NAME}}{values}{ratio:>13}"

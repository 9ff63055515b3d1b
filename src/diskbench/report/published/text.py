"""Published figures as text of 80 columns: lists, the details of one, and runs beside them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from diskbench.catalog.books import Books
from diskbench.catalog.published import Published
from diskbench.plan.published import published_verdict
from diskbench.report.assemble.words import figure_text, rate_words
from diskbench.report.published.beside import ComparePublishedDocument, FigureBeside, RunsBeside
from diskbench.report.terminal.layout import aligned, wrapped

WIDTH = 80
_NAME = 36
"""Characters that are left of a figure's name where a line is too long."""


def list_lines(figures: Sequence[Published]) -> Iterator[str]:
    """A line per figure below its post; `!` marks doubted figures."""
    if not figures:
        yield "no figure meets all of that"
    for number, (seed, same) in enumerate(groupby(figures, key=attrgetter("seed"))):
        of_post = list(same)
        yield from [""] if number else ()
        yield f"{seed}: {of_post[0].post.words}"
        rows = [
            (
                f"{_mark(figure)} {figure.id.partition('/')[2]}",
                figure_text(figure.metric)(figure.value),
                figure.instance_type or figure.provider,
            )
            for figure in of_post
        ]
        yield from aligned(rows, right={1}, width=WIDTH, least={0: _NAME})


def _mark(figure: Published) -> str:
    return "!" if figure.doubt else " "


def show_lines(figures: Sequence[Published], books: Books) -> Iterator[str]:
    """The properties of each disk once, then its figures."""
    for number, (name, same) in enumerate(groupby(figures, key=attrgetter("group"))):
        of_disk = list(same)
        yield from [""] if number else ()
        yield from wrapped("", f"{name}: {of_disk[0].disk}", WIDTH, indent=2)
        yield from _labelled(_disk(of_disk[0]))
        for figure in of_disk:
            yield ""
            value = figure_text(figure.metric)(figure.value)
            yield f"  {figure.id.rpartition('/')[2]}: {value}"
            yield from _labelled(_figure(figure, books), indent=4)
        notes = dict.fromkeys(note for figure in of_disk for note in figure.notes)
        yield from [""] if notes else ()
        yield from _labelled(("note", note) for note in notes)


def _labelled(rows: Iterable[tuple[str, str]], indent: int = 2) -> Iterator[str]:
    """Labels and their texts, wrapped with a hanging indent."""
    for label, text in rows:
        yield from wrapped(" " * indent + f"{label:<10}", text, WIDTH)


def _disk(figure: Published) -> Iterator[tuple[str, str]]:
    post = figure.post
    by = f" by {post.author}" if post.author else ""
    yield "post", ", ".join(filter(None, (f'"{post.title}"{by}', post.publisher)))
    yield "date", post.date or "none in the text"
    yield "table", figure.table_words
    machine = dict.fromkeys((figure.provider, figure.instance_type, figure.machine))
    yield "machine", " · ".join(filter(None, machine))
    sold = figure.provisioned_iops
    disk = (
        figure.disk_type,
        "size unknown" if figure.size_gib is None else f"{figure.size_gib:g} GiB",
        f"{sold:g} IOPS provisioned" if sold else "",
        f"host caching {figure.cache}" if figure.cache else "",
    )
    yield "disk", " · ".join(filter(None, disk))


def _figure(figure: Published, books: Books) -> Iterator[tuple[str, str]]:
    of_n = f" of {figure.n}" if figure.n else ""
    printed = (
        f"{figure.printed} {figure.unit}",
        "" if figure.statistic == "stated" else f"{figure.statistic}{of_n}",
        f"samples {', '.join(figure.printed_samples)}" if figure.printed_samples else "",
        figure.printed_spread,
        "approximate" if figure.approximate else "",
    )
    yield "printed", " · ".join(filter(None, printed))
    yield "measured", f"{figure.tool}: {figure.method}"
    settings = "".join(f" --set {key}={value:g}" for key, value in figure.parameters.items())
    yield "again", f"profile {figure.profile}{settings}, step {_what(figure)}"
    if figure.doubt:
        yield "doubt", f"{figure.doubt.code}: {figure.doubt.words}"
    yield "verdict", _verdict(figure, books)


def _what(figure: Published) -> str:
    """`rand-512-9to1 total`, `write-through-write write, mean`."""
    extreme = f", {figure.metric[4:-3]}" if figure.metric.startswith("lat_") else ""
    return f"{figure.step} {figure.direction}{extreme}"


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
    if level.limiter.name == "unknown":
        return "; ".join([*parts, "limit unknown"])
    shown = f" ({'; '.join(level.limiter.evidence)})" if level.limiter.evidence else ""
    return "; ".join([*parts, f"limited by {level.limiter.words()}{shown}"])


def beside_lines(document: ComparePublishedDocument) -> Iterator[str]:
    """For each trial its figures beside the published ones, and why they may differ."""
    for number, trial in enumerate(document.trials):
        yield from [""] if number else ()
        yield from _trial_lines(trial)


def _trial_lines(trial: RunsBeside) -> Iterator[str]:
    others = len(trial.run_ids) - 1
    more = f" and {others} more of its trial" if others else ""
    marks = f" [{', '.join(trial.marks)}]" if trial.marks else ""
    yield f"run {trial.run_ids[0]}{more}{marks}"
    yield from wrapped("  ", trial.subject, WIDTH)
    if not trial.figures:
        yield from wrapped("  ", f"nothing published matches: {trial.why_not}", WIDTH)
        yield from ["  nearest:"] if trial.nearest else ()
        for near in trial.nearest:
            yield from wrapped("    ", f"{near.name}: {near.why}", WIDTH, indent=6)
        if any(near.same_workload for near in trial.nearest):
            yield "  one that is named after the run is used for every disk"
        return
    for _, same in groupby(trial.figures, key=lambda beside: beside.figure.group):
        yield ""
        yield from _table(list(same))
    yield from ["  ! theirs is doubted"] if any(one.figure.doubt for one in trial.figures) else ()
    yield ""
    yield "why they may differ"
    for words in trial.differences:
        yield from wrapped("  - ", words, WIDTH)


def _table(figures: Sequence[FigureBeside]) -> Iterator[str]:
    first = figures[0].figure
    where = first.instance_type or first.machine
    head = f"{first.group}: {first.post.words}, {first.disk}, {where}"
    yield from wrapped("", head, WIDTH, indent=2)
    names = [_what(beside.figure) for beside in figures]
    rows = [("", "theirs", "ours", "ours/theirs")]
    for beside, step in zip(figures, names, strict=True):
        figure = beside.figure
        # Figures of one step differ in their parameters, which are at the end of the id.
        name = step if names.count(step) == 1 else figure.id.rpartition("/")[2]
        show = figure_text(figure.metric)
        ratio = f"{beside.ratio:,.0f}" if beside.ratio >= 99.5 else f"{beside.ratio:.3g}"
        rows.append((f"{_mark(figure)} {name}", show(figure.value), show(beside.ours), ratio))
    yield from aligned(rows, right={1, 2, 3}, width=WIDTH, least={0: _NAME})

"""Runs beside published figures, as text. No line exceeds 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from diskbench.catalog.published import group
from diskbench.report.published.text import WIDTH, in_unit, what

if TYPE_CHECKING:
    from diskbench.report.published.document import (
        ComparePublishedDocument,
        FigureBeside,
        TrialBeside,
    )

_NAME = 36


def beside_lines(document: ComparePublishedDocument) -> Iterator[str]:
    """For each trial its figures beside the published ones, and why they may differ."""
    for number, trial in enumerate(document.trials):
        if number:
            yield ""
        yield from _trial_lines(trial)


def _trial_lines(trial: TrialBeside) -> Iterator[str]:
    runs = f"run {trial.run_ids[0]}"
    if len(trial.run_ids) > 1:
        runs += f" and {len(trial.run_ids) - 1} more of its trial"
    marks = f" [{', '.join(trial.marks)}]" if trial.marks else ""
    yield f"{runs}{marks}"
    yield from _folded(trial.subject, "  ")
    if not trial.figures:
        yield from _folded(f"nothing published matches: {trial.why_not}", "  ")
        yield from _nearest(trial)
        return
    for _, same in groupby(trial.figures, key=lambda beside: group(beside.figure)):
        yield ""
        yield from _table(list(same))
    if any(beside.figure.doubt for beside in trial.figures):
        yield "  ! theirs is doubted"
    yield ""
    yield "why they may differ"
    for words in trial.differences:
        yield from _folded(words, "  - ", "    ")


def _nearest(trial: TrialBeside) -> Iterator[str]:
    if trial.nearest:
        yield "  nearest:"
    for near in trial.nearest:
        yield from _folded(f"{near.name}: {near.why}", "    ", "      ")
    if any(near.same_workload for near in trial.nearest):
        yield "  one that is named after the run is used for every disk"


def _table(figures: Sequence[FigureBeside]) -> Iterator[str]:
    first = figures[0].figure
    where = first.instance_type or first.machine
    yield from _folded(f"{group(first)}: {first.post.words}, {first.disk}, {where}", "", "  ")
    yield f"  {'':<{_NAME}}{'theirs':>13}{'ours':>13}  ours/theirs"
    names = [what(beside.figure) for beside in figures]
    for beside, step in zip(figures, names, strict=True):
        figure = beside.figure
        mark = "!" if figure.doubt else " "
        # Figures of one step differ in their parameters, which are at the end of the id.
        name = step if names.count(step) == 1 else figure.id.rpartition("/")[2]
        values = (
            f"{in_unit(figure.metric, figure.value):>13}{in_unit(figure.metric, beside.ours):>13}"
        )
        yield f"{mark} {name:<{_NAME}}{values}{_ratio(beside.ratio):>13}"


def _ratio(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 99.5 else f"{ratio:.3g}"


def _folded(text: str, first: str, then: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if then is None else then,
        break_on_hyphens=False,
        break_long_words=False,
    )

"""Runs beside published figures: the document that `diskbench compare --published` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from diskbench.catalog.differences import Beside, differences
from diskbench.catalog.post_file import Published
from diskbench.catalog.published import Near, RunSubject, match, part
from diskbench.model.base import Frozen
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.report.published.level import at_one_level


class FigureBeside(Frozen):
    """A published figure and ours, in the unit of its metric; `ratio` is ours divided by theirs."""

    figure: Published
    ours: float
    runs: int
    ratio: float


class NearFigure(Frozen):
    """A published disk that does not match, named by the prefix of its ids, and why.

    `same_workload`: it was measured with the run's workload, so it is compared when it is named.
    """

    name: str
    why: str
    same_workload: bool


class TrialBeside(Frozen):
    """One trial's runs beside the figures of the same disk and workload.

    `marks` qualify our figures: emulated, imported, unverified. `differences` say why figures may
    differ. If no figure matches, `why_not` says why and `nearest` lists similar disks.
    """

    trial_id: str
    run_ids: tuple[str, ...]
    subject: str
    marks: tuple[str, ...] = ()
    figures: tuple[FigureBeside, ...] = ()
    differences: tuple[str, ...] = ()
    why_not: str = ""
    nearest: tuple[NearFigure, ...] = ()


class ComparePublishedDocument(Frozen):
    """The output of `diskbench compare --published --output json`. `left_out` are runs that say
    nothing about a cloud's disk and were not selected explicitly."""

    format: Literal[1] = 1
    trials: tuple[TrialBeside, ...]
    left_out: tuple[str, ...] = ()


def trial_beside(
    asked: RunSubject,
    measured: Sequence[Measurement],
    figures: Sequence[Published],
    *,
    trial_id: str,
    run_ids: Sequence[str],
    marks: Sequence[str] = (),
    warnings: Sequence[Warning] = (),
    year: int | None = None,
    named: bool = False,
    gobonniego_file: bool = False,
) -> TrialBeside:
    """A trial beside the figures that match it; with `named`, beside every given figure of the same
    workload, whatever its disk."""
    matched = match(asked, figures)
    taken, why_not, nearest = matched.figures, matched.why_not, matched.nearest
    if named:
        parted = [(figure, part(asked, figure)) for figure in figures]
        taken = tuple(f for f, at in parted if at is None or at.criterion != "workload")
        why_not = f"none that is named was measured as profile {asked.profile} does"
    ours = (at_one_level(figure, measured, gobonniego_file=gobonniego_file) for figure in taken)
    pairs = tuple(pair for pair in ours if pair is not None)
    if taken and not pairs:
        why_not, nearest = "the runs finished no step of that workload", ()
    return TrialBeside(
        trial_id=trial_id,
        run_ids=tuple(run_ids),
        subject=_subject(asked),
        marks=tuple(marks),
        figures=tuple(_figure(pair) for pair in pairs),
        differences=differences(asked, pairs, marks=marks, warnings=warnings, year=year)
        if pairs
        else (),
        why_not="" if pairs else why_not,
        nearest=() if pairs else tuple(_near(near) for near in nearest),
    )


def _figure(pair: Beside) -> FigureBeside:
    return FigureBeside(figure=pair.figure, ours=pair.ours, runs=pair.runs, ratio=pair.ratio)


def _near(near: Near) -> NearFigure:
    return NearFigure(name=near.name, why=near.words, same_workload=near.same_workload)


def _subject(asked: RunSubject) -> str:
    """`gobonniego on TYPE of PROVIDER, 20 GiB, c5.xlarge`."""
    disk = f"{asked.disk_type} of {asked.cloud}" if asked.disk_type else "a disk of no known type"
    words = [f"{asked.profile} on {disk}"]
    words += [f"{asked.size_gib:.4g} GiB"] if asked.size_gib else []
    words += [f"host caching {asked.cache}"] if asked.cache else []
    words += [asked.instance_type] if asked.instance_type else []
    return ", ".join(words)

"""Runs beside published figures, in words that fit a terminal."""

import pytest
from tests.rigs.runs import a_run
from tests.unit.report.made import row

from diskbench.catalog.published import RunSubject, find_published, group, load_published
from diskbench.report.published.document import ComparePublishedDocument, trial_beside
from diskbench.report.published.text import beside_lines
from diskbench.results.trial import Trial

FIGURES = load_published()
GROUPS = sorted({group(figure) for figure in FIGURES})


def measured(*figures, count=1):
    """A trial of `count` runs, of which the first has rows with a value for each figure, ten times
    as much as was published."""
    runs = [a_run(run_id=f"{n:026}", emulated=True, unverified=True) for n in range(count)]
    return Trial("t", tuple(runs), None, {}, tuple(map(_row, figures)), (), (), (), ())


def _row(figure):
    latency = dict.fromkeys(("lat_mean_ns", "lat_min_ns", "lat_max_ns"))
    latency |= {figure.metric: figure.value * 10} if figure.metric in latency else {}
    direction = "read" if figure.direction == "total" else figure.direction
    of = {"iops": figure.value * 10, "bytes_per_s": figure.value * 10, "direction": direction}
    of |= {"ios": 1000, "bytes": 1, "runtime_ns": 10**10} | latency
    return row(figure.step, run_id="0" * 26, step_index=0, **of)


@pytest.mark.parametrize("name", GROUPS)
def test_every_published_disk_beside_a_run_fits_80_columns(name):
    first, *others = find_published(name)
    figures = [first, *(one for one in others if one.parameters == first.parameters)]
    asked = RunSubject(
        profile=first.profile, parameters=first.parameters, cloud=first.provider,
        disk_type=first.disk_type, size_gib=65536, instance_type="Standard_E112iads_v5",
        region="southafricanorth", memory_gib=672.0, cache="readwrite",
    )  # fmt: skip
    trial = trial_beside(asked, measured(*figures, count=10), figures, named=True)
    lines = list(beside_lines(ComparePublishedDocument(trials=(trial,))))
    assert [one.figure.id for one in trial.figures] == [figure.id for figure in figures]
    assert max(map(len, lines)) <= 80
    assert len([line for line in lines if line.endswith(" 10")]) == len(trial.figures)


def test_two_figures_of_one_step_are_told_apart():
    figures = find_published("ebs-fio")
    asked = RunSubject(profile="ebs-randrw")
    trial = trial_beside(asked, measured(figures[0]), figures, named=True)
    text = "\n".join(beside_lines(ComparePublishedDocument(trials=(trial,))))
    assert all(name in text for name in ("read-25m ", "read-250m "))

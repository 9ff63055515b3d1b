"""Runs beside published figures, in words that fit a terminal."""

import pytest
from tests.unit.report.made import row

from diskbench.catalog.published import RunSubject, find_published, group, load_published
from diskbench.report.published.document import ComparePublishedDocument, trial_beside
from diskbench.report.published.text import beside_lines

FIGURES = load_published()
GROUPS = sorted({group(figure) for figure in FIGURES})


def measured(figure, *, ios=1000):
    """A row that has a value for the figure, ten times as much as was published."""
    latency = dict.fromkeys(("lat_mean_ns", "lat_min_ns", "lat_max_ns"))
    latency |= {figure.metric: figure.value * 10} if figure.metric in latency else {}
    direction = "read" if figure.direction == "total" else figure.direction
    rates = {"iops": figure.value * 10, "bytes_per_s": figure.value * 10}
    of = {"ios": ios, "bytes": 1, "runtime_ns": 10**10}
    return row(figure.step, run_id="a", step_index=0, direction=direction, **rates, **of, **latency)


@pytest.mark.parametrize("name", GROUPS)
def test_every_published_disk_beside_a_run_fits_80_columns(name):
    first, *others = find_published(name)
    figures = [first, *(one for one in others if one.parameters == first.parameters)]
    asked = RunSubject(
        profile=first.profile,
        parameters=first.parameters,
        cloud=first.provider,
        disk_type=first.disk_type,
        size_gib=65536,
        instance_type="Standard_E112iads_v5",
        region="southafricanorth",
        memory_gib=672.0,
        cache="readwrite",
    )
    trial = trial_beside(
        asked,
        [measured(figure) for figure in figures],
        figures,
        trial_id="01kq8z6rj0aaaaaaaaaaaaaaa1",
        run_ids=["01kq8z6rj0aaaaaaaaaaaaaaa1"] * 10,
        marks=("emulated", "unverified"),
        year=2026,
        named=True,
    )
    lines = list(beside_lines(ComparePublishedDocument(trials=(trial,))))
    assert [one.figure.id for one in trial.figures] == [figure.id for figure in figures]
    assert max(map(len, lines)) <= 80
    assert len([line for line in lines if line.endswith(" 10")]) == len(trial.figures)


def test_two_figures_of_one_step_are_told_apart():
    figures = find_published("ebs-fio")
    trial = trial_beside(
        RunSubject(profile="ebs-randrw"),
        [measured(figures[0])],
        figures,
        trial_id="a",
        run_ids=["a"],
        named=True,
    )
    text = "\n".join(beside_lines(ComparePublishedDocument(trials=(trial,))))
    assert "read-25m " in text
    assert "read-250m " in text

"""A published figure beside what runs measured, why the two may differ, and both on a terminal."""

import dataclasses

import pytest
from tests.rigs.runs import a_run
from tests.unit.report import made

from diskbench.catalog.published import find_published, load_published
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.plan.published import GOBONNIEGO_FILE, RunSubject
from diskbench.report.published.beside import (
    ComparePublishedDocument,
    differences,
    figure_beside,
    trial_beside,
)
from diskbench.report.published.text import beside_lines
from diskbench.results.trial import Trial

GP2 = RunSubject(
    profile="gobonniego", cloud="aws", disk_type="gp2", size_gib=20, instance_type="c4.xlarge",
    region="us-east-1", memory_gib=7.5,
)  # fmt: skip


def row(step, direction, *, run="a", iops=1000.0, mb=100.0, seconds=5.0, **more):
    rate = {"ios": round(iops * seconds), "iops": iops, "bytes_per_s": mb * 1e6}
    time = {"runtime_ns": round(seconds * 1e9), "bytes": round(mb * 1e6 * seconds)}
    return made.row(step, direction=direction, run_id=run, step_index=0, **rate | time | more)


def beside(figures, rows, **of_run):
    """The figures beside a trial with these rows, without those that it has no value for."""
    trial = Trial("t", (a_run(**of_run),), None, {}, tuple(rows), (), (), (), ())
    return tuple(pair for one in figures if (pair := figure_beside(one, trial)) is not None)


def only(figure_id, rows):
    (pair,) = beside(find_published(figure_id), rows)
    return pair


def test_ours_is_the_mean_over_the_runs_of_reads_and_writes_together():
    rows = [row("rand-512-9to1", "read", iops=2700), row("rand-512-9to1", "write", iops=300)]
    pair = only("iaas-2018/results/gp2/iops", rows)
    assert pair.ours == 3000
    assert pair.ratio == pytest.approx(3000 / 3634)
    rows = [row("seq-read-64k", "read", run=run, mb=mb) for run, mb in (("a", 80), ("b", 120))]
    pair = only("iaas-2018/results/gp2/read", rows)
    assert (pair.ours, pair.runs) == (100e6, 2)


def test_a_mean_latency_is_that_of_all_ios_and_extremes_are_extremes():
    step = ("write-through-write", "write")
    first = {"ios": 100, "lat_mean_ns": 1e6, "lat_min_ns": 5e5, "lat_max_ns": 9e6}
    second = {"ios": 300, "lat_mean_ns": 5e6, "lat_min_ns": 4e5, "lat_max_ns": 8e6}
    rows = [row(*step, run="a", **first), row(*step, run="b", **second)]
    pairs = beside(find_published(HDD), rows)
    found = {pair.figure.metric: pair.ours for pair in pairs}
    assert found == {"lat_mean_ns": 4e6, "lat_min_ns": 4e5, "lat_max_ns": 9e6}


GP2_READ, HDD = "iaas-2018/results/gp2/read", "azure-caching/latencies/hdd"
UNKNOWN = dict.fromkeys(("lat_mean_ns", "lat_min_ns", "lat_max_ns"))


@pytest.mark.parametrize(
    ("figures", "rows"),
    [
        (GP2_READ, []),
        (GP2_READ, [row("other", "read")]),
        (GP2_READ, [row("seq-read-64k", "write")]),
        (GP2_READ, [row("seq-read-64k", "read", scope="job")]),
        (GP2_READ, [row("seq-read-64k", "read", iops=0.0)]),
        (HDD, [row("write-through-write", "write", **UNKNOWN)]),
    ],
    ids=["none", "other step", "other direction", "jobs alone", "no I/O", "no latency"],
)
def test_a_figure_without_rows_of_its_own_is_left_out(figures, rows):
    assert beside(find_published(figures), rows) == ()


def test_steps_of_an_imported_gobonniego_file_are_known():
    rows = [row("seqread", "read", mb=92), row("iops", "mixed", iops=3634)]
    pairs = beside(find_published("iaas-2018/results/gp2"), rows, provider=GOBONNIEGO_FILE)
    ratios = {pair.figure.step: pair.ratio for pair in pairs}
    assert ratios == {"rand-512-9to1": 1.0, "seq-read-64k": 1.0}
    assert beside(find_published("iaas-2018/results/gp2"), rows) == ()


def reasons(figure_id="iaas-2018/results/gp2/iops", asked=GP2, *, seconds=5.0, **how):
    figure = find_published(figure_id)[0]
    direction = "read" if figure.direction == "total" else figure.direction
    rows = [row(figure.step, direction, seconds=seconds, lat_mean_ns=1.0)]
    return " | ".join(differences(asked, beside([figure], rows), **how))


def ours(**changes):
    return {"asked": dataclasses.replace(GP2, **changes)}


def test_the_tool_the_cache_and_the_sample_are_told_once_each():
    told = reasons()
    for words in ("GoBonnieGo 1.0.7 itself", "page cache", "mean of 10 runs on one machine"):
        assert words in told
    rows = [row("rand-512-9to1", "read"), row("seq-read-64k", "read")]
    both = differences(GP2, beside(find_published("iaas-2018/results/gp2"), rows))
    assert len(both) == len(set(both))


def test_what_is_doubted_of_theirs_and_in_our_step_is_told():
    asked = ours(profile="bonnie", cloud="vsphere", disk_type="nvme-ssd")
    assert "client-bound" in reasons("iaas-2018/bonnie/samsung/bonnie-seeks", **asked)
    bound = Warning(code="client-bound", message="busy", step="rand-512-9to1")
    fill = Warning(code="fill-slow", message="slow", step="fill")
    told = reasons(warnings=[bound, fill])
    assert "ours is doubted (client-bound)" in told
    assert "fill-slow" not in told
    assert "ours is doubted" not in reasons()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (ours(instance_type="c5.xlarge"), "c4.xlarge, ours on c5.xlarge"),
        (ours(instance_type=None), "no known type"),
        (ours(region="eu-west-1"), "us-east-1, ours in eu-west-1"),
        (ours(size_gib=30), "20 GiB, ours 30"),
        (ours(memory_gib=32.0), "7.5 GiB memory, ours 32"),
        (ours(disk_type=None), "our disk type is unknown"),
        (ours(disk_type="gp3"), "theirs is gp2, ours gp3"),
        ({"seconds": 60.0}, "lasted 5 s, ours 60 s"),
        ({"year": 2026}, "of 2018, ours of 2026"),
        *(({"marks": [mark]}, mark) for mark in ("emulated", "unverified", "imported")),
    ],
)
def test_what_differs_is_told_and_only_then_and_what_is_no_clouds_own_first(changes, told):
    place, *_ = [n for n, reason in enumerate(reasons(**changes).split(" | ")) if told in reason]
    assert place == 0 or "marks" not in changes
    assert told not in reasons()
    assert "lasted" not in reasons(seconds=6.0)
    assert "of 2018" not in reasons(year=2018)


def test_unknown_sizes_and_dates_are_told():
    asked = RunSubject(profile="diskspd", cloud="azure", disk_type="Standard_LRS", size_gib=64)
    told = reasons("azure-caching/latencies/hdd/write-mean", asked)
    assert "size of theirs is unknown" in told
    assert "no date" in told


FIGURES = load_published()
GROUPS = sorted({figure.group for figure in FIGURES})


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
    return made.row(figure.step, run_id="0" * 26, step_index=0, **of)


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

"""A comparison reads each side once; a tool's own results beside runs of our profile of its name;
what differs between two sides."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.rigs.replicates import measured
from tests.rigs.statements import statements_of

from diskbench.catalog.fidelity import fidelity, of_tool
from diskbench.fio.profiles import shipped_names, shipped_profile
from diskbench.results.compare_draft import aligned
from diskbench.results.compare_runs import compare_metrics, differences
from diskbench.results.replicate_set import main_figures
from diskbench.results.trial_figures import FigureLine, LineFigure

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "fidelity.md"


def figure(subject, step, direction, *, block=2**20, trial="t"):
    return LineFigure(
        trial_id=trial, campaign_id=trial, replicate=0, at=None, machine=trial,
        subject=tuple(subject.items()), facts=(), order=0, value=1.0, apart=0.0,
        line=FigureLine(step, direction, direction, block, None),
    )  # fmt: skip


def imported(tool, step, direction, **more):
    return figure({"provider": f"import/{tool}"}, step, direction, trial="i", **more)


def ours(profile, step, direction, **more):
    return figure({"provider": "local", "profile": profile}, step, direction, trial="o", **more)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("known", fidelity(), ids=lambda known: f"{known.tool} {known.ours[0]}")
def test_each_figure_of_a_tool_stands_beside_ours_of_the_same_name(known, swapped):
    sides = [[imported(known.tool, *known.theirs)], [ours(known.tool, *known.ours)]]
    [a], [b], matched, left = aligned(*(reversed(sides) if swapped else sides), "bytes_per_s")
    assert (a.trial_id, b.trial_id) == (("o", "i") if swapped else ("i", "o"))
    assert (a.line, a.subject) == (b.line, b.subject)
    assert (matched, left) == ({a.line: known}, [])


def test_other_sides_stay_as_they_are():
    theirs = [imported("bonnie", "block-read", "read")]
    two = [ours("bonnie", "block-read", "read"), ours("quick", "read", "read")]
    for other in ([ours("quick", "block-read", "read")], theirs.copy(), two):
        assert aligned(theirs, other, "iops") == (theirs, other, {}, ())


def test_rates_of_other_block_sizes_are_compared_in_bytes_alone():
    theirs = [imported("dd", "dd", "write", block=4096)]
    mine = [ours("dd", "dd-write", "write", block=2**20)]
    a, _, _, left = aligned(theirs, mine, "iops")
    assert not a
    assert "--metric bytes_per_s" in left[0].why
    assert aligned(theirs, mine, "bytes_per_s")[0]


def test_what_has_no_counterpart_is_named():
    theirs = [imported("hdparm", "direct-reads", "read"), imported("hdparm", "x", "read")]
    *_, left = aligned(theirs, [ours("hdparm", "buffered-reads-t", "read")], "bytes_per_s")
    assert ["direct-reads read" in one.why for one in left] == [True, False]


def test_the_table_says_what_the_page_says_and_names_steps_that_there_are():
    found = re.findall(r"^\| ([a-z].*?) \|.*\| ([\d.]+) \| (\S+) \|", PAGE.read_text(), re.M)
    rows = {metric: (float(ratio), within == "yes") for metric, ratio, within in found}
    for known in fidelity():
        assert known.tool in shipped_names()
        assert f"[{known.ours[0]}]" in shipped_profile(known.tool).template
        if known.ratio is not None:
            assert rows[known.metric] == (known.ratio, known.alike)
            assert f"{known.ratio:.2f}" in known.words()
    assert of_tool("vdbench") == ()


def test_differences_stand_in_the_order_of_the_fields_whatever_the_hash_seed():
    names = [f"field-{at}" for at in range(12)]

    def of(side):
        told = [(name, f"{name} of {side}") for name in names]
        return replace(figure(dict(told[:6]), "read", "read"), facts=tuple(told[6:]))

    assert [each.fact for each in differences([of("a")], [of("b")])] == names


METRICS = ("iops", "bytes_per_s", "lat_mean_ns", "p99_ns", "p99_9_ns")


def trials(database, count, *, first=0):
    values = [100.0 + n for n in range(count)]
    of = {"runs": [(value, 101.0, 102.0) for value in values], "first": first}
    for side, disk in (("a", "gp2"), ("b", "gp3")):
        measured(database, values, disk=disk, labels=[("s", side)], **of)


def test_more_metrics_trials_and_runs_send_no_more_statements_and_compare_as_each_alone(database):
    trials(database, 2)
    with statements_of(database) as few:
        compare_metrics(database, "s=a", "s=b", metrics=METRICS[:1])
    trials(database, 6, first=2)
    with statements_of(database) as many:
        compare_metrics(database, "s=a", "s=b", metrics=METRICS)
    assert len(many) == len(few)
    both = compare_metrics(database, "s=a", "s=b", metrics=METRICS[:2])
    alone = [compare_metrics(database, "s=a", "s=b", metrics=[metric]) for metric in METRICS[:2]]
    assert both.compared == tuple(line for one in alone for line in one.compared)
    assert (both.a, both.b) == (alone[0].a, alone[0].b)


def test_large_blocks_are_read_with_the_others(database):
    measured(database, [100.0, 101.0])
    with statements_of(database) as small:
        main_figures(database, [])
    measured(database, [50.0, 51.0], step="large", block_bytes=1 << 20, first=2)
    with statements_of(database) as both:
        figures = main_figures(database, [])
    assert len(both) == len(small)
    assert [metric for metric, _ in figures] == ["iops"] * 2 + ["bytes_per_s"] * 2

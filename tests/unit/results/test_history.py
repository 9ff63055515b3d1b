"""Histories are made subject by subject; and how two sets of trials compare."""

import re
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from tests.rigs.database import find_regressions, statements_of
from tests.rigs.replicates import measured

from diskbench.catalog.fidelity import fidelity, of_tool
from diskbench.fio.profiles import shipped_names, shipped_profile
from diskbench.model.history import Regressions, regressions_json
from diskbench.results import history
from diskbench.results.compare_draft import aligned
from diskbench.results.compare_runs import compare_metrics, differences
from diskbench.results.history import by_subject, configurations, histories, key_of
from diskbench.results.replicate_set import main_figures
from diskbench.results.trial_figures import FigureLine, LineFigure
from diskbench.store.database import transaction
from diskbench.store.digests import load_asked
from diskbench.store.figures import load_figures
from diskbench.store.schema import run

DISKS = ("gp2", "gp3", "io2", "st1")


@pytest.fixture
def nights(database):
    for night in range(4):
        for disk in DISKS:
            measured(database, [1000.0 + night, 1010.0], disk=disk, campaign=night)


@pytest.mark.usefixtures("nights")
def test_a_history_is_there_before_the_next_subject_is_read(database, monkeypatch):
    whole = find_regressions(database, [])
    assert [len(history.points) for history in whole.histories] == [4] * len(DISKS)
    monkeypatch.setattr(history, "MOST_TRIALS", 8)
    found, read = histories(database, [], {}), []
    monkeypatch.setattr(
        "diskbench.results.trial_figures.load_figures",
        lambda *arguments, **named: read.append(1) or load_figures(*arguments, **named),
    )
    assert next(found) == whole.histories[0]
    assert len(read) == 1
    assert (*whole.histories[:1], *found) == whole.histories
    assert len(read) == len(DISKS)


@pytest.mark.usefixtures("nights")
@pytest.mark.parametrize("some", [0, 1, 4])
@pytest.mark.parametrize("undated", [(), ("t1", "tü")])
def test_written_in_pieces_it_is_the_same_document(database, some, undated):
    kept = find_regressions(database, []).histories[:some]
    whole = Regressions(histories=kept, undated=undated)
    pieces = list(regressions_json(kept, undated))
    assert "".join(pieces) == whole.model_dump_json(indent=2)
    assert len(pieces) == some + 2


def found(database):
    return list(configurations(database, [], by_subject(load_asked(database, []))))


def iops(one):
    (track,) = [track for track in one.tracks if track.metric == "iops"]
    return track


NIGHTS = [3000.0, 3010.0, 2990.0, 3005.0, 2995.0, 3000.0, 2400.0, 2410.0, 2390.0, 2405.0]


def test_each_subject_is_one_configuration_with_all_its_runs(database):
    measured(database, [1.0, 2.0], disk="gp2")
    measured(database, [3.0], disk="gp3", campaign=1)
    measured(database, [4.0], disk="gp2", campaign=2)
    two, three = sorted(found(database), key=lambda one: one.disk)
    assert (two.disk, len(two.runs), two.times, two.machines) == ("gp2 20 GiB", 3, 2, 3)
    assert (three.region, three.machine, three.profile) == ("eu-central-1", "m7i.large", "quick")
    assert two.first < two.last
    every = [row.run.run_id for row in load_asked(database, [])]
    assert list(two.runs) == [run_id for run_id in every if run_id in two.runs]


def test_a_level_that_changed_is_that_of_regressions_and_replicates_are_those_since(database):
    for night, value in enumerate(NIGHTS):
        measured(database, [value, value + 1], campaign=night)
    track = iops(*found(database))
    (known,) = find_regressions(database, []).histories
    assert track.history == known
    assert [change.regression for change in known.changes] == [True]
    assert track.now.machines == 8
    assert track.now.median == median([v + more for v in NIGHTS[6:] for more in (0, 1)])
    assert track.now.interval is not None
    assert len(track.sampled) == 20


def test_facts_that_changed_are_told_and_only_those_with_the_newest_are_replicates(database):
    for night in range(6):
        facts = {"kernel": "6.5.0"} if night >= 4 else {}
        measured(database, [3000.0 + night], campaign=night, facts=facts)
    (one,) = found(database)
    assert (iops(one).now.machines, iops(one).left_out) == (2, 4)
    ((at, change),) = one.fact_changes
    assert (change.fact, change.a, change.b) == ("kernel", ("6.1.0",), ("6.5.0",))
    assert at == iops(one).sampled[4].at
    assert dict(one.facts)["kernel"] == ("6.1.0", "6.5.0")


def test_the_key_of_a_subject_is_its_fields_and_without_a_finished_run_it_has_no_figure(database):
    measured(database, [1.0], disk="gp2")
    (one,) = found(database)
    measured(database, [2.0], disk="gp2", campaign=1, facts={"kernel": "6.5.0"})
    (again,) = found(database)
    assert one.key == again.key == key_of(one.fields)
    measured(database, [3.0], disk="gp3")
    assert len({each.key for each in found(database)}) == 2
    with transaction(database) as connection:
        connection.execute(run.update().values(state="failed"))
    shown = [(len(each.runs), each.tracks, each.machines) for each in found(database)]
    assert sorted(shown) == [(1, (), 0), (2, (), 0)]


def test_reading_in_batches_changes_nothing(database, monkeypatch):
    for night, value in enumerate(NIGHTS):
        disk = ("gp2", "gp3")[night % 2]
        measured(database, [value, value + 1], disk=disk, campaign=night)
    whole = found(database)
    monkeypatch.setattr("diskbench.results.history.MOST_TRIALS", 2)
    assert found(database) == whole
    assert [len(iops(one).sampled) for one in whole] == [10, 10]


def test_only_the_trials_of_the_wanted_subjects_are_read(database, monkeypatch):
    measured(database, [1.0, 2.0], disk="gp2")
    measured(database, [3.0], disk="gp3", campaign=1)
    groups, read = by_subject(load_asked(database, [])), []
    newest = next(iter(groups))

    def recorded(*arguments, **named):
        figures = load_figures(*arguments, **named)
        read.extend(row.run.run_id for rows in figures.values() for row in rows)
        return figures

    monkeypatch.setattr("diskbench.results.trial_figures.load_figures", recorded)
    (one,) = configurations(database, [], {newest: groups[newest]})
    assert set(read) == set(one.runs)
    assert list(configurations(database, [], {})) == []


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


def test_other_block_sizes_are_compared_in_bytes_alone_and_what_has_no_counterpart_is_named():
    theirs = [imported("dd", "dd", "write", block=4096)]
    mine = [ours("dd", "dd-write", "write", block=2**20)]
    a, _, _, left = aligned(theirs, mine, "iops")
    assert not a
    assert "--metric bytes_per_s" in left[0].why
    assert aligned(theirs, mine, "bytes_per_s")[0]
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

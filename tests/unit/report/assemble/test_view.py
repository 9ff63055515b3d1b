"""What is shown of a trial is assembled once: every surface sets the words of its View."""

import ast
import html
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tests.rigs.plans import make_plan
from tests.unit.report.made import plan
from tests.unit.report.reported import PRICE, fallen, group, judged, report, trial, verdict

from diskbench.catalog.lookup import limits
from diskbench.model.expectation import Promise
from diskbench.model.facts import MountFacts
from diskbench.model.result import Warning as Doubt
from diskbench.report.assemble.chart_data import points_by_step
from diskbench.report.assemble.subject import subject_of_plan, target
from diskbench.report.page import markdown as markdown_module
from diskbench.report.page.markdown import escaped, markdown
from diskbench.report.page.page import page
from diskbench.report.terminal.result_text import print_view

ROOM = Path(markdown_module.__file__).parents[1]
SURFACES = (
    "terminal/result_text.py", "page/page.py", "page/markdown.py", "page/write_report.py",
    "site/trial_page.py",
)  # fmt: skip
MAKERS = {
    "shares_of_time", "lines", "result_rows", "grouped_warnings", "threshold_lines", "next_step",
    "phase_lines", "many_sentences", "shown_columns", "price_lines", "footnotes",
}  # fmt: skip
"""What makes words and figures of a trial."""


def full():
    """A trial of which everything is known that a view can tell."""
    promised = {"offer": "m5 with gp2", "promise": "100 IOPS, bursts to 3,000", "shared": True}
    told = {"state": "suspended", "marks": ("emulated",), **promised}
    subject = replace(subject_of_plan(plan(runs=2)), **told)
    doubt = Doubt(code="figures-disagree", message="bytes: 1 of 2", advice="look", step="s1")
    return trial(
        count=2, subject=subject, verdicts=(fallen(trust="with care"),), warnings=(doubt,),
        price=PRICE, cost="$0.0123", place="eu, eu-1", versions=(("fio", "3.33"),),
        labels=(("team", "storage"),),
    )  # fmt: skip


def terminal(view):
    stream = io.StringIO()
    print_view(view, console=Console(file=stream, width=2000))
    return stream.getvalue()


def seen(text):
    """A page as its reader sees it."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", bare)).split())


@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_makes_no_words_of_its_own(surface):
    tree = ast.parse((ROOM / surface).read_text())
    taken = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    assert not {one.name for node in taken for one in node.names} & MAKERS


def test_facts_doubts_promise_and_words_are_the_same_on_every_surface():
    view = full()
    on_page, marked_down, printed = seen(page(report(view))), markdown(report(view)), terminal(view)
    facts = (value for _, values in view.facts for value in values)
    told = (*view.sentences, view.trust, view.unfinished, *view.slowed)
    assert all(told), "the trial tells all of them"
    (group,) = view.warned
    everywhere = (group.code, group.cases[0][1], group.advice, view.unfinished, *view.footnotes)
    for words in (*facts, *told, *everywhere):
        assert words in on_page
        assert escaped(words) in marked_down
    assert [words for words in everywhere if words not in printed] == []


def test_what_was_seen_of_burst_and_baseline_stands_on_every_surface():
    promised = {"offer": "m5 with gp2", "promise": "100 IOPS", "limits": limits("aws", "gp2", 20)}
    made = full()
    burst = (verdict(judged(3000.0, 3000.0, kind="burst")),)
    view = replace(made, subject=replace(made.subject, **promised), verdicts=burst)
    assert view.headline == "burst of 3,000 IOPS; baseline not measured (promised: 100 IOPS)"
    for shown in (terminal(view), seen(page(report(view))), markdown(report(view))):
        assert view.headline in shown


def test_a_trial_without_runs_yet_has_a_view():
    view = replace(trial([]), runs=())
    assert view.missing == "no measured step finished"
    assert not view.lines


# The rate of each step, for charts over trials: bytes for large blocks, IOPS for small ones.


def of(iops: float, block: int, *, step: str, trial_id: str):
    level = judged(iops).model_copy(update={"bytes_per_s": iops * block})
    return trial(trial_id=trial_id, verdicts=(verdict(level, step=step),))


def test_steps_in_large_blocks_are_compared_in_bytes_per_second():
    large = [of(120.0 + at, 2**20, step="seq", trial_id=f"t{at}") for at in range(2)]
    small = [of(3000.0 + at, 4096, step="rand", trial_id=f"t{at}") for at in range(2)]
    found = points_by_step(group(each.trial_id, each) for each in (*large, *small))
    metrics = {step: {point.metric for point in points} for step, points in found.items()}
    assert metrics == {"seq": {"bytes_per_s"}, "rand": {"iops"}}
    assert [point.value for point in found["seq"]] == [120.0 * 2**20, 121.0 * 2**20]


def test_one_name_for_small_and_large_blocks_gives_two_charts_of_one_unit_each():
    small = [of(3000.0, 4096, step="mine", trial_id=f"s{at}") for at in range(2)]
    large = [of(120.0, 2**20, step="mine", trial_id=f"l{at}") for at in range(2)]
    found = points_by_step(group(each.trial_id, each) for each in (*small, *large))
    assert set(found) == {"mine, IOPS", "mine, MB/s"}
    assert all(len({point.metric for point in points}) == 1 for points in found.values())


def test_the_page_of_a_matrix_is_named_like_the_matrix():
    two = (trial(trial_id="a"), trial(trial_id="b"))
    assert report(*two, matrix="nightly: gp2, gp3").title == "nightly: gp2, gp3"
    assert report(*two).title.startswith("2 trials")
    assert report(two[0], matrix="nightly").title == report(two[0]).title


# What was measured, in words; and the command that is proposed next, which names the same disk
# again with all that holds of it.


def test_what_the_owner_expects_goes_with_the_disk_and_not_with_the_profile() -> None:
    plan = make_plan()
    promised = plan.cell.model_copy(update={"promise": Promise(iops=2000, mb_per_s=60.5)})
    found = subject_of_plan(plan.model_copy(update={"cell": promised}))
    assert found.target_flags.endswith("--path /mnt/data --promise iops=2000,mb_per_s=60.5")
    assert found.trial_flags == "--label team=storage"
    assert "--promise" not in subject_of_plan(plan).target_flags


def test_a_directory_says_through_what_it_reaches_its_disk() -> None:
    plan = make_plan()
    mount = MountFacts(mount_point="/mnt", source="/dev/dm-1", fstype="ext4", options="rw")
    layers = ("dm-crypt data", "LVM volume vg-data")
    facts = plan.facts.model_copy(update={"mount": mount, "layers": layers})
    words = target(plan.model_copy(update={"facts": facts}))
    assert words == f"{plan.target.path} (ext4 on dm-crypt data on LVM volume vg-data)"

"""What is shown of a trial is assembled once; what is proposed next is what an expert would do."""

import dataclasses
import html
import io
import re
from dataclasses import replace

import pytest
from rich.console import Console
from tests.rigs.plans import make_plan
from tests.unit.report import reported
from tests.unit.report.made import plan, row
from tests.unit.report.reported import PRICE, fallen, group, judged, report, trial, verdict

from diskbench.catalog.lookup import limits
from diskbench.model.doubts import DOUBTS
from diskbench.model.expectation import BeyondCredit, Promise
from diskbench.model.facts import MountFacts
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.result import Warning as Doubt
from diskbench.report.assemble.chart_data import points_by_step
from diskbench.report.assemble.lines import grouped_warnings, lines
from diskbench.report.assemble.next_step import REPLICATES, for_hosts, next_step
from diskbench.report.assemble.subject import subject_of_plan, target
from diskbench.report.page.markdown import escaped, markdown
from diskbench.report.page.page import page
from diskbench.report.terminal.result_text import print_view
from diskbench.units import GIB


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


def test_large_blocks_are_compared_in_bytes_per_second_also_under_the_name_of_small_ones():
    large = [of(120.0 + at, 2**20, step="seq", trial_id=f"t{at}") for at in range(2)]
    small = [of(3000.0 + at, 4096, step="rand", trial_id=f"t{at}") for at in range(2)]
    found = points_by_step(group(each.trial_id, each) for each in (*large, *small))
    metrics = {step: {point.metric for point in points} for step, points in found.items()}
    assert metrics == {"seq": {"bytes_per_s"}, "rand": {"iops"}}
    assert [point.value for point in found["seq"]] == [120.0 * 2**20, 121.0 * 2**20]
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


BEYOND = BeyondCredit(
    lasts_s=1862, needed_s=2280, block_bytes=4096, begin_iops=3000, lasting_iops=100,
    ends="before", flags="--profile burst --set runtime=38m",
)  # fmt: skip


def judged_so(*stretches: tuple[str, str], doubts: tuple[str, ...] = (), weight: str | None = None):
    """A verdict with stretches of a kind and a limiter, the last of them the figure's."""
    levels = (reported.judged(100.0, kind=kind, limiter=limiter) for kind, limiter in stretches)
    reasons = tuple(DOUBTS[code].reason("found", weight=weight) for code in doubts)
    return reported.verdict(*levels, reasons=reasons)


def proposed(*verdicts, profile="quick", codes=(), runs=1, typed=(), **subject) -> tuple[str, str]:
    planned = subject_of_plan(plan(profile=profile, runs=runs, **dict(typed)))
    made = dataclasses.replace(planned, **{"state": "done", **subject})
    warnings = grouped_warnings([Warning(code=code, message="m") for code in codes])
    return next_step(made, lines([row()]), warnings, verdicts)


TYPED = {
    "device": True, "size_bytes": 3 * GIB // 2, "filesystem": "ext4",
    "parameters": (("bs", "4k"), ("name", "a b")), "labels": (("team", "storage"),),
}  # fmt: skip
DEVICE = "--device /dev/vdb --destroy-data vol0abc"
TARGET = f"{DEVICE} --filesystem ext4 --size 1.5"
OTHERS = "--set bs=4k --set 'name=a b' --label team=storage"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (proposed(profile="default"), "run --path /data --profile default --runs 5"),
        (proposed(profile="default", runs=5), "report 01trial"),
        (proposed(profile="default", codes=["unwritten"]), "run --path /data --profile fill"),
        (proposed(typed={"address": "u@web1", "device": True}),
         f"run --provider ssh --host u@web1 {DEVICE} --profile default"),
        # The same profile has every flag that was typed, another the target alone.
        (proposed(profile="default", typed=TYPED),
         f"run {TARGET} --profile default {OTHERS} --runs 5"),
        (proposed(typed=TYPED), f"run {TARGET} --profile default"),
    ],
)  # fmt: skip
def test_it_is_one_command_for_the_same_target(found, expected):
    assert found[1] == f"diskbench {expected}"


def test_on_a_page_an_imported_log_without_rows_leads_to_its_series():
    imported = dataclasses.replace(subject_of_plan(plan()), marks=("imported",), state="done")
    assert "load_series(" in next_step(imported, (), (), on_page=True)[1]


def asked(command: str) -> list[str]:
    """The options of a command that measures the same target again."""
    assert command.startswith("diskbench run")
    return command.split("/data ")[1].split()


BURST = judged_so(("burst", "disk-iops"), doubts=("burst-only",))
FELL = judged_so(("burst", "disk-iops"), ("baseline", "credit"))


LEVEL = judged_so(("level", "unknown"))
LONGER = BEYOND.model_copy(update={"flags": "--set runtime=72m"})
MORE = f"--replicates {REPLICATES}"


@pytest.mark.parametrize(
    ("verdicts", "subject", "told"),
    [
        # A look inside the credit leads beyond it.
        *(([BURST], {"profile": of, "beyond": BEYOND}, BEYOND.flags)
          for of in ("quick", "default", "oltp")),
        # A burst that ended too soon goes on for longer.
        ([BURST], {"profile": "burst", "beyond": LONGER}, "--profile burst --set runtime=72m"),
        # A busy processor beside a cap disturbs nothing.
        ([judged_so(("burst", "disk-iops"), doubts=("steal",), weight="note")], {"beyond": BEYOND},
         BEYOND.flags),
        # After a cliff come replicates, and after a fall from run to run.
        ([FELL], {"profile": "burst", "beyond": BEYOND}, f"--profile burst {MORE}"),
        ([judged_so(("burst", "disk-iops")), judged_so(("baseline", "credit"))],
         {"profile": "default", "codes": ["runs-disagree"], "runs": 2},
         f"--profile default {MORE}"),
        # Below its promise other disks are asked.
        ([judged_so(("level", "unknown"), doubts=("below-promise",))], {"profile": "default"},
         f"--profile default {MORE}"),
        # Runs that go up and down are repeated.
        ([LEVEL, LEVEL], {"profile": "default", "codes": ["runs-disagree"], "runs": 2},
         "--profile default --runs 5"),
        # A quick look at a disk without credit leads to the usual figures.
        ([judged_so(("level", "disk-iops"))], {}, "--profile default"),
    ],
)  # fmt: skip
def test_a_rented_disk_is_measured_again_for_what_its_result_lacks(verdicts, subject, told):
    assert asked(proposed(*verdicts, offer="gp2", **subject)[1]) == told.split()
    assert "--replicates" not in proposed(FELL, profile="burst")[1], "it is not rented"


@pytest.mark.parametrize("doubts", [(), ("above-promise",), ("page-cache",), ("other-io",)])
@pytest.mark.parametrize("named", [True, False])
def test_an_imported_file_leads_to_nothing_on_this_machine(doubts, named):
    codes, subject = [*doubts, "runs-disagree"], {"marks": ("imported",), "disk_is_named": named}
    found = proposed(judged_so(("level", "unknown"), doubts=doubts), codes=codes, **subject)
    assert "diskbench run" not in found[1]
    assert ("identify" in found[1]) is not named


@pytest.mark.parametrize("doubt", ["other-io", "steal", "machine-busy", "disk-shared", "stalled"])
def test_what_was_disturbed_is_repeated_as_it_was(doubt):
    disturbed = judged_so(("level", "unknown"), doubts=(doubt,))
    found = proposed(disturbed, profile="default", runs=3, beyond=BEYOND)
    assert asked(found[1]) == ["--profile", "default", "--runs", "3"]


def test_a_limit_that_is_not_the_disks_is_identified():
    for limiter, doubt in {"fixed-limit": "below-promise", "disk-iops": "other-disk"}.items():
        found = judged_so(("level", limiter), doubts=(doubt,))
        command = proposed(found, profile="default", offer="gp2")[1]
        assert command.startswith("diskbench identify")


def test_what_a_cache_served_is_measured_past_it_and_memory_leads_to_disks():
    cached = judged_so(("level", "page-cache"), doubts=("page-cache",))
    assert proposed(cached, profile="gobonniego")[1].endswith("--profile default")
    found = judged_so(("level", "unknown"), doubts=("not-a-disk", "machine-busy"))
    assert proposed(found, profile="etcd")[1] == "diskbench devices"


def steps_of(**commands):
    return [(name, ("why", f"diskbench run {flags}")) for name, flags in commands.items()]


def test_one_step_of_all_hosts_is_for_all_of_them_and_one_of_some_says_of_which():
    rest = "--path '/my data' --profile default"
    named = steps_of(a=f"--host a {rest}", b=f"--host me@b {rest}")
    ((_, both),) = steps_of(both=f"--host a --host me@b {rest}")
    assert for_hosts(named, "b") == both
    rest = "--profile quick"
    named = steps_of(a="--host a --profile default", b=f"--host b {rest}", c=f"--host c {rest}")
    step = for_hosts(named, "c")
    assert step[0].startswith("b, c: ")
    ((_, both),) = steps_of(both=f"--host b --host c {rest}")
    assert step[1] == both[1]
    named = steps_of(a="--provider x", b="--provider x")
    assert for_hosts(named, "a") == named[0][1], "without hosts it stays as it is"

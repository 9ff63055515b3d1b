"""What is proposed after a result is what an expert would do next."""

import dataclasses

import pytest
from tests.unit.report import reported
from tests.unit.report.made import plan, row

from diskbench.model.doubts import DOUBTS
from diskbench.model.expectation import BeyondCredit
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.report.assemble.lines import grouped_warnings, lines
from diskbench.report.assemble.next_step import REPLICATES, for_hosts, next_step
from diskbench.report.assemble.subject import subject_of_plan
from diskbench.units import GIB

BEYOND = BeyondCredit(
    lasts_s=1862, needed_s=2280, block_bytes=4096, begin_iops=3000, lasting_iops=100,
    ends="before", flags="--profile burst --set runtime=38m",
)  # fmt: skip


def judged(*stretches: tuple[str, str], doubts: tuple[str, ...] = (), weight: str | None = None):
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


BURST = judged(("burst", "disk-iops"), doubts=("burst-only",))
FELL = judged(("burst", "disk-iops"), ("baseline", "credit"))


LEVEL = judged(("level", "unknown"))
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
        ([judged(("burst", "disk-iops"), doubts=("steal",), weight="note")], {"beyond": BEYOND},
         BEYOND.flags),
        # After a cliff come replicates, and after a fall from run to run.
        ([FELL], {"profile": "burst", "beyond": BEYOND}, f"--profile burst {MORE}"),
        ([judged(("burst", "disk-iops")), judged(("baseline", "credit"))],
         {"profile": "default", "codes": ["runs-disagree"], "runs": 2},
         f"--profile default {MORE}"),
        # Below its promise other disks are asked.
        ([judged(("level", "unknown"), doubts=("below-promise",))], {"profile": "default"},
         f"--profile default {MORE}"),
        # Runs that go up and down are repeated.
        ([LEVEL, LEVEL], {"profile": "default", "codes": ["runs-disagree"], "runs": 2},
         "--profile default --runs 5"),
        # A quick look at a disk without credit leads to the usual figures.
        ([judged(("level", "disk-iops"))], {}, "--profile default"),
    ],
)  # fmt: skip
def test_a_rented_disk_is_measured_again_for_what_its_result_lacks(verdicts, subject, told):
    assert asked(proposed(*verdicts, offer="gp2", **subject)[1]) == told.split()
    assert "--replicates" not in proposed(FELL, profile="burst")[1], "it is not rented"


@pytest.mark.parametrize("doubts", [(), ("above-promise",), ("page-cache",), ("other-io",)])
@pytest.mark.parametrize("named", [True, False])
def test_an_imported_file_leads_to_nothing_on_this_machine(doubts, named):
    codes, subject = [*doubts, "runs-disagree"], {"marks": ("imported",), "disk_is_named": named}
    found = proposed(judged(("level", "unknown"), doubts=doubts), codes=codes, **subject)
    assert "diskbench run" not in found[1]
    assert ("identify" in found[1]) is not named


@pytest.mark.parametrize("doubt", ["other-io", "steal", "machine-busy", "disk-shared", "stalled"])
def test_what_was_disturbed_is_repeated_as_it_was(doubt):
    disturbed = judged(("level", "unknown"), doubts=(doubt,))
    found = proposed(disturbed, profile="default", runs=3, beyond=BEYOND)
    assert asked(found[1]) == ["--profile", "default", "--runs", "3"]


def test_a_limit_that_is_not_the_disks_is_identified():
    for limiter, doubt in {"fixed-limit": "below-promise", "disk-iops": "other-disk"}.items():
        found = judged(("level", limiter), doubts=(doubt,))
        command = proposed(found, profile="default", offer="gp2")[1]
        assert command.startswith("diskbench identify")


def test_what_a_cache_served_is_measured_past_it():
    cached = judged(("level", "page-cache"), doubts=("page-cache",))
    assert proposed(cached, profile="gobonniego")[1].endswith("--profile default")


def test_memory_leads_to_the_disks_of_this_machine():
    found = judged(("level", "unknown"), doubts=("not-a-disk", "machine-busy"))
    assert proposed(found, profile="etcd")[1] == "diskbench devices"


def steps_of(**commands):
    return [(name, ("why", f"diskbench run {flags}")) for name, flags in commands.items()]


def test_one_step_that_is_the_same_of_all_hosts_is_for_all_of_them():
    rest = "--path '/my data' --profile default"
    named = steps_of(a=f"--host a {rest}", b=f"--host me@b {rest}")
    ((_, both),) = steps_of(both=f"--host a --host me@b {rest}")
    assert for_hosts(named, "b") == both


def test_a_step_of_some_hosts_says_of_which():
    rest = "--profile quick"
    named = steps_of(a="--host a --profile default", b=f"--host b {rest}", c=f"--host c {rest}")
    step = for_hosts(named, "c")
    assert step[0].startswith("b, c: ")
    ((_, both),) = steps_of(both=f"--host b --host c {rest}")
    assert step[1] == both[1]
    named = steps_of(a="--provider x", b="--provider x")
    assert for_hosts(named, "a") == named[0][1], "without hosts it stays as it is"

"""MR-3: burst and baseline are told apart, and no mean spans a cliff."""

import io

from rich.console import Console
from tests.rigs.printed import print_result
from tests.rigs.synthetic import Noise, bucket
from tests.unit.report.made import plan, row

from diskbench.analysis.phases import step_phases
from diskbench.report.assemble.subject import subject_of_plan

STEP = "rand-read-4k-qd32"


def shown(phases=()):
    """The result of a step of 50 minutes whose credit is gone after 31."""
    mean = (3000 * 1862 + 100 * 1138) / 3000
    console = Console(file=io.StringIO(), width=100)
    measured = [row(step=STEP, iops=mean)]
    print_result(subject_of_plan(plan()), measured, (), phases, console=console)
    return console.file.getvalue()


def course():
    values = bucket(5_400_000, 3000, 100, 3000, Noise(sd=0.0), seed=1)
    return step_phases(values, values * 4096).model_copy(
        update={"step": STEP, "run_id": "01trial-run0"}
    )


def test_the_mean_across_a_cliff_is_not_shown_and_both_levels_are():
    assert "1,900" in shown()
    told = shown([course()])
    assert "1,900" not in told
    assert f"{STEP} (baseline)" in told
    assert f"burst of 3,000 IOPS for 31:02 in {STEP}, then a baseline of 100 IOPS" in told
    assert "steady (baseline)" in told

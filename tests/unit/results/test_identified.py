"""The levels of a trial that characterise its disk, and whether it is another one than is said."""

from tests.rigs.made_trial import judged, stored

from diskbench.results.identified import levels_of
from diskbench.results.step_groups import groups_of

READS = {"name": "r", "load": {"block_bytes": 4096}}
LARGE = {"name": "s", "load": {"block_bytes": 1048576, "random": False}}


def levels(trial):
    runs, results, read = stored(trial)
    runs_of = []
    for run in runs:
        of = read[run.run_id]
        groups = groups_of(results[run.run_id], of.steps, of.phases, None, run.provider)
        runs_of.append((run, groups))
    return levels_of(runs_of, None)


def test_a_cliff_between_runs_is_a_level_with_its_fall():
    steps = [
        {**READS, "seconds": 60, "runs": [[3000, 31], [100, 9]]},
        {**LARGE, "seconds": 60, "runs": [[40, 40]]},
    ]
    reads, large = levels({"steps": steps, "idle": 10})
    assert round(reads.iops) == round(100, -1)
    assert 2900 < reads.fell_from < 3100
    assert reads.after_s == 31 * 130 - 2 * 10  # up to the end of the last run at the burst
    assert (large.fell_from, large.earlier) == (None, ())


def test_another_disk_is_said_of_all_steps_where_one_is_unexplained_and_of_none_at_the_promise():
    """120 IOPS and 25 MB/s are those of a P4; the third step is limited by its latency."""
    steps = [
        {**READS, "levels": [[120, 300]], "noise": {"sd": 0.003}},
        {**LARGE, "levels": [[24, 300]], "noise": {"sd": 0.003}},
        {"name": "l", "load": {"block_bytes": 4096, "depth": 1}, "levels": [[110, 300]]},
    ]
    found = judged({"disk": "azure:Standard_LRS:32", "steps": steps})
    assert [one.reasons[0].code for one in found] == ["other-disk"] * 3
    assert "below-promise" not in {reason.code for one in found for reason in one.reasons}
    at_promise = [
        {**READS, "seconds": 60, "runs": [[500, 3]]},
        {**LARGE, "seconds": 60, "runs": [[57, 3]]},
    ]
    found = judged({"disk": "azure:Standard_LRS:32", "steps": at_promise})
    assert "other-disk" not in {reason.code for one in found for reason in one.reasons}

"""The rate of each step, for charts over trials: bytes for large blocks, IOPS for small ones."""

from tests.unit.report.reported import group, judged, report, trial, verdict

from diskbench.report.assemble.chart_data import points_by_step


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

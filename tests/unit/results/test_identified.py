"""Which disk was measured: by its levels, and in place of what is documented."""

import pytest
import sqlalchemy as sa
from tests.books import SHIPPED
from tests.rigs.made_trial import judged, stored
from tests.rigs.replicates import measured

from diskbench.catalog.terms import Sold
from diskbench.model.expectation import Load
from diskbench.model.run import Headline
from diskbench.plan.advise import Market, advise
from diskbench.plan.demand import DAY_S, constant
from diskbench.results.identified import levels_of
from diskbench.results.measured_disks import measured_disks
from diskbench.results.step_groups import groups_of
from diskbench.store.database import transaction
from diskbench.store.figures import keep_headlines
from diskbench.store.result_tables import measurement
from diskbench.store.schema import run

READS = {"name": "r", "load": {"block_bytes": 4096}}
LARGE = {"name": "s", "load": {"block_bytes": 1048576, "random": False}}


def levels(trial):
    runs, results, read = stored(trial)
    runs_of = []
    for each in runs:
        of = read[each.run_id]
        groups = groups_of(results[each.run_id], of.steps, of.phases, None, each.provider)
        runs_of.append((each, groups))
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


GP2 = Sold(cloud="aws", disk_type="gp2", size_gib=20)


def demand(rate=80.0, p99_ms=None, block=4096):
    return constant(Load(block_bytes=block, max_per_s=rate), 20, DAY_S, p99_ms)


@pytest.fixture
def three_trials(database):
    """Three machines with gp2 of 20 GiB: 90, 95 and 99 IOPS."""
    measured(database, [90.0, 95.0, 99.0])
    _change(database, run.c.disk_size_bytes, 20 * 2**30)
    _change(database, run.c.disk_type, "gp2")
    return database


def _change(database, column, value):
    with transaction(database) as connection:
        connection.execute(sa.update(column.table).values({column.name: value}))


def test_the_median_of_the_trials_is_said_with_n_date_and_trust_and_of_nothing_else(three_trials):
    of = measured_disks(three_trials, demand())
    found = of(GP2, None)
    assert (found.iops, found.n, found.p99_ms) == (95.0, 3, None)
    assert found.date.startswith("20")
    assert found.trust in ("no", "with care", "yes")
    for other in ({"size_gib": 21}, {"disk_type": "gp3"}, {"iops": 3000}):
        assert of(GP2.model_copy(update=other), None) is None
    assert of(GP2, "c6a.large") is None
    assert measured_disks(three_trials, demand(block=8192))(GP2, None) is None
    _change(three_trials, run.c.emulated, value=True)
    assert measured_disks(three_trials, demand())(GP2, None) is None
    assert measured_disks(three_trials, demand(), emulated=True)(GP2, None).n == 3


def test_what_was_measured_decides_before_what_is_documented(three_trials):
    _change(three_trials, run.c.instance_type, "c6a.large")

    def answer(rate, p99_ms=None):
        asked = demand(rate, p99_ms)
        market = Market(SHIPPED, "aws", "us-east-1", measured=measured_disks(three_trials, asked))
        return advise([market], asked)

    def gp2(found):
        return next(row for row in found.rows if row.disk.disk_type == "gp2")

    assert gp2(answer(80.0)).measured.iops == 95.0
    refused = {one.disk.disk_type: one.why for one in answer(98.0).refused}  # documented: 100
    assert refused["gp2"] == "measured 95.0 IOPS here (n = 3, 2026-09-21, trust no)"
    _change(three_trials, measurement.c.p99_ns, 3e6)
    assert gp2(answer(80.0, p99_ms=4.0)).latency.target == "met"
    refused = {one.disk.disk_type: one.why for one in answer(80.0, p99_ms=2.0).refused}
    assert refused["gp2"].startswith("measured p99 3 ms here (n = 3, ")


def test_runs_that_are_not_trusted_do_not_count_beside_trusted_ones(three_trials):
    of_runs = dict(zip((90.0, 95.0, 99.0), ("yes", "with care", "no"), strict=True))
    with transaction(three_trials) as connection:
        run_of = {iops: name for name, iops in connection.execute(
            sa.select(measurement.c.run_id, measurement.c.iops))}  # fmt: skip
    keep_headlines(three_trials, {
        run_of[iops]: Headline("read", iops, None, trust=trust) for iops, trust in of_runs.items()
    })  # fmt: skip
    found = measured_disks(three_trials, demand())(GP2, None)
    assert (found.iops, found.n, found.trust) == (90.0, 1, "yes")

"""The forecast of a matrix: burst credit in three figures, and a matrix that starts although not
every cloud can be queried.
"""

import pytest
from tests.books import SHIPPED
from tests.unit.plan.planned import job, planned

from diskbench.catalog.bucket import Allowance, SharedLimits
from diskbench.catalog.lookup import DiskLimits, limits
from diskbench.catalog.path import Path, disk_gates
from diskbench.engine.matrix.matrix_file import outlook_of, read_matrix
from diskbench.errors import CloudSilent, HostUnavailable, InvalidValue
from diskbench.model.outcome import problem_of
from diskbench.plan.expectation import expectation_of
from diskbench.plan.outlook import Credit, credit_of, out_of_reach, with_expected

GP2_20 = limits("aws", "gp2", 20)


def outlook(profile: str, of: DiskLimits) -> Credit | None:
    """The credit of a profile (shipped by name, else its text) on a disk."""
    path = Path(disk_gates(of))
    return credit_of(expectation_of(planned(profile), SHIPPED, path))


def test_a_disk_without_a_bucket_has_no_outlook():
    assert outlook("quick", limits("aws", "gp3", 20)) is None
    assert outlook("quick", limits("aws", "standard", 20)) is None


@pytest.mark.parametrize(
    ("more", "seconds", "gone_s"),
    [
        ("", 3600, 5_400_000 / 2900),
        ("", 1800, None),
        ("\nrate_iops=90", 100_000, None),
        ("\nrate_iops=1100", 10_000, 5_400_000 / 1000),
        ("\nrate=4505600", 10_000, 5_400_000 / 1000),  # 1,100 requests
    ],
)
def test_what_exceeds_the_baseline_uses_a_small_gp2_up(more, seconds, gone_s):
    found = outlook(job(f"rw=randread\nbs=4k\ndirect=1{more}", seconds), GP2_20)
    assert found.expected_s == seconds
    assert found.gone_s == (None if gone_s is None else pytest.approx(gone_s))
    assert more or found.lasts_s == pytest.approx(1862.07, abs=0.01)


def test_a_step_that_asks_for_less_lets_it_refill():
    spend = "[a]\nsize=1g\nrw=randread\nbs=4k\ndirect=1\ntime_based\nruntime=1800\n"
    rest = "[b]\nstonewall\n" + job("rw=randread\ndirect=1\nrate_iops=1", 600)[4:]
    again = "[c]\nstonewall\nsize=1g\nrw=randread\nbs=4k\ndirect=1\ntime_based\nruntime=70\n"
    assert outlook(spend + again, GP2_20).gone_s == pytest.approx(1862.07, abs=0.01)
    assert outlook(spend + rest + again, GP2_20).gone_s is None


def test_reads_do_not_use_up_what_writes_have():
    shares = (("read", 90_000), ("write", 9_000))
    buckets = (SharedLimits(of, Allowance(100, 1000, held), None) for of, held in shares)
    apart = DiskLimits("x", 20, tuple(buckets))
    assert outlook(job("rw=randread\nbs=4k\ndirect=1", 90), apart).gone_s is None
    assert outlook(job("rw=randread\nbs=4k\ndirect=1", 101), apart).gone_s == pytest.approx(100)
    assert outlook(job("rw=randwrite\nbs=4k\ndirect=1", 90), apart).gone_s == pytest.approx(10)
    assert outlook(job("rw=randrw\nbs=4k\ndirect=1", 90), apart).gone_s == pytest.approx(10)


def test_large_requests_cost_bytes_and_small_ones_operations():
    """A premium disk of 20 GiB (P4) has a bucket of each: 120 to 3,500 IOPS, 25 to 170 MB/s."""
    premium = limits("azure", "Premium_LRS", 20)
    for rw, bs in (("randread", "4k"), ("read", "1m")):
        found = outlook(job(f"rw={rw}\nbs={bs}\ndirect=1", 3600), premium)
        assert found.gone_s == pytest.approx(1800, rel=0.05), bs


MATRIX = """name: two-clouds
defaults: {disk: gp2, size: 20, profile: quick}
include:
  - {provider: aws, region: us-east-1, instance_type: m5.large}
  - {provider: fake, disk: plain, size: 1}
"""
UNKNOWN = problem_of(InvalidValue("it gives no figures offline"))
AWAY = problem_of(HostUnavailable("no answer"))


@pytest.fixture
def foreseen(tmp_path):
    """What is known without a call: all of the first block, nothing of the second."""
    outlook = outlook_of(read_matrix(MATRIX, "two.yaml", tmp_path), SHIPPED, seed=1, offline=True)
    known, other = outlook.blocks
    nothing = other.model_copy(update={"problem": UNKNOWN, "cost": None})
    return outlook.model_copy(update={"blocks": (known, nothing)})


def away(outlook, problem=AWAY, **limits):
    """The same, asked for, when nobody answers."""
    blocks = tuple(one.model_copy(update={"problem": problem}) for one in outlook.blocks)
    wanted = outlook.limits.model_copy(update=limits)
    return outlook.model_copy(update={"blocks": blocks, "limits": wanted})


def test_a_cloud_that_does_not_answer_or_is_silent_is_foreseen_by_the_catalogue(foreseen):
    seen = away(foreseen)
    assert len(out_of_reach(seen)) == 2
    aws, _ = with_expected(seen, foreseen).blocks
    assert aws == foreseen.blocks[0]
    assert aws.problem is None
    assert aws.cost is not None
    assert len(out_of_reach(away(foreseen, problem_of(CloudSilent("no answer"))))) == 2


def test_what_nobody_foresees_is_left_to_its_turn_and_not_begun_under_a_budget(foreseen):
    assert with_expected(away(foreseen), foreseen).blocks[1].problem is None
    assert with_expected(away(foreseen, budget_usd=5.0), foreseen).blocks[1].problem == AWAY


def test_what_cannot_be_measured_anywhere_stays_so(foreseen):
    seen = away(foreseen, UNKNOWN)
    assert out_of_reach(seen) == []
    assert with_expected(seen, foreseen) == seen

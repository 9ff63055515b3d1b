"""The forecast of a matrix: burst credit in three figures, and a matrix that starts although not
every cloud can be queried. A plan says whether it goes on beyond its disk's credit, and the
options that it proposes do."""

import re
import shlex

import pytest
from tests.books import SHIPPED
from tests.unit.plan.planned import NEW_DISK, RANDOM, job, planned

from diskbench.catalog.bucket import Allowance, SharedLimits
from diskbench.catalog.lookup import DiskLimits, limits
from diskbench.catalog.path import Path, disk_gates
from diskbench.engine.matrix.matrix_file import outlook_of, read_matrix
from diskbench.errors import CloudSilent, HostUnavailable, InvalidValue
from diskbench.model.options import RentSpec
from diskbench.model.outcome import problem_of
from diskbench.model.rental import DiskSpec, Scope
from diskbench.plan.expectation import expectation_of
from diskbench.plan.outlook import credit_of, out_of_reach, with_expected
from diskbench.providers.options import EmulationOptions
from diskbench.units import GIB

GP2_20 = limits("aws", "gp2", 20)


def outlook(profile, of):
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


def test_reads_use_up_nothing_of_writes_large_requests_cost_bytes_and_small_ones_operations():
    shares = (("read", 90_000), ("write", 9_000))
    buckets = (SharedLimits(of, Allowance(100, 1000, held), None) for of, held in shares)
    apart = DiskLimits("x", 20, tuple(buckets))
    assert outlook(job("rw=randread\nbs=4k\ndirect=1", 90), apart).gone_s is None
    assert outlook(job("rw=randread\nbs=4k\ndirect=1", 101), apart).gone_s == pytest.approx(100)
    assert outlook(job("rw=randwrite\nbs=4k\ndirect=1", 90), apart).gone_s == pytest.approx(10)
    assert outlook(job("rw=randrw\nbs=4k\ndirect=1", 90), apart).gone_s == pytest.approx(10)
    # A premium disk of 20 GiB (P4) has a bucket of each: 120 to 3,500 IOPS, 25 to 170 MB/s.
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
UNKNOWN = problem_of(InvalidValue("it cannot plan offline"))
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


def test_what_nobody_foresees_is_left_to_its_turn_but_not_under_a_budget_or_unmeasurable(foreseen):
    assert with_expected(away(foreseen), foreseen).blocks[1].problem is None
    assert with_expected(away(foreseen, budget_usd=5.0), foreseen).blocks[1].problem == AWAY
    seen = away(foreseen, UNKNOWN)
    assert out_of_reach(seen) == []
    assert with_expected(seen, foreseen) == seen


BUCKETS = [
    ("aws", "gp2", 20, None), ("aws", "gp2", 123, None), ("aws", "gp2", 250, None),
    ("aws", "gp2", 500, None), ("aws", "gp2", 700, None), ("aws", "st1", 500, None),
    ("aws", "st1", 1024, "m5.2xlarge"), ("aws", "sc1", 1024, None),
    ("aws", "gp3", 100, "m5.large"), ("azure", "Premium_LRS", 4, "Standard_D2s_v3"),
    ("azure", "Premium_LRS", 32, "Standard_D8s_v5"),
    ("azure", "Premium_LRS", 128, "Standard_D8s_v5"),
    ("azure", "StandardSSD_LRS", 64, "Standard_D8s_v5"),
]  # fmt: skip
FLAT = [
    ("aws", "gp2", 900, None), ("aws", "gp2", 1000, None), ("aws", "gp3", 100, None),
    ("aws", "io1", 100, None), ("azure", "Standard_LRS", 128, None), ("gcp", "pd-ssd", 100, None),
    ("gcp", "pd-standard", 100, None),
]  # fmt: skip


def beyond(cloud, disk, gib, machine, profile, parameters=(), *, scale=1.0):
    lab = {"lab": EmulationOptions(time_scale=scale)} if scale != 1 else {}
    found = planned(
        profile, parameters=parameters, target=NEW_DISK.model_copy(update={"size_bytes": GIB}),
        scope=Scope(provider="lab" if lab else cloud, region="us-east-1"), cloud=cloud,
        spec=RentSpec(**lab), instance_type=machine,
        disk=DiskSpec(type=disk, size_gib=gib, iops=3000 if disk == "io1" else None),
        memory_bytes=8 * GIB,
    ).expectation  # fmt: skip
    assert found is not None, "the disk is in the catalogue"
    return found.beyond


def told(flags):
    """The profile and the parameters of the options that are proposed."""
    words = shlex.split(flags)
    profile = words[words.index("--profile") + 1] if "--profile" in words else None
    pairs = [words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "--set"]
    return profile, tuple((key, value) for key, value in pairs)


@pytest.mark.parametrize("profile", ["quick", "default", "oltp", "burst"])
@pytest.mark.parametrize("disk", BUCKETS, ids=lambda disk: f"{disk[1]}-{disk[2]}-{disk[3]}")
def test_what_is_proposed_goes_beyond_the_credit(disk, profile):
    found = beyond(*disk, profile)
    if found is None:
        assert profile in ("burst", "oltp"), "their small blocks do not fall on every such disk"
        assert disk[1] in ("gp3", "StandardSSD_LRS")
        return
    named, parameters = told(found.flags)
    assert beyond(*disk, named or profile, parameters).ends == "after", found.flags


@pytest.mark.parametrize("disk", FLAT, ids=lambda disk: f"{disk[1]}-{disk[2]}")
@pytest.mark.parametrize("profile", ["quick", "burst"])
def test_a_disk_without_a_fall_has_nothing_to_say(disk, profile):
    assert beyond(*disk, profile) is None


def test_short_profiles_end_before_the_credit_does_and_scaled_credit_ends_sooner():
    for profile in ("quick", "default"):
        found = beyond("aws", "gp2", 20, None, profile)
        assert (found.ends, told(found.flags)[0]) == ("before", "burst")
    found = beyond("aws", "gp2", 20, None, "burst", scale=60)
    assert found.lasts_s == pytest.approx(1862 / 60, rel=0.01)
    assert found.ends == "after"
    assert re.fullmatch(r"--set runtime=3\d", found.flags)


def test_burst_ends_at_the_cliff_of_500_gib_sustained_beyond_it_and_a_slow_load_never_falls():
    """5.4 million credits at 3,000 less 1,500 a second last 3,600 s: the profile's own hour."""
    found = beyond("aws", "gp2", 500, None, "burst")
    assert found.lasts_s == pytest.approx(3600)
    assert found.ends in ("before", "at")
    assert told(found.flags) == (None, (("runtime", "72m"),))
    assert beyond("aws", "gp2", 20, None, "burst").ends == "after"
    assert beyond("aws", "gp2", 500, None, "sustained").ends == "after"
    assert planned(RANDOM + "rate_iops=50\n").expectation.beyond is None

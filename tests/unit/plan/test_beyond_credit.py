"""A plan says whether it goes on beyond its disk's credit, and the options that it proposes do."""

import re
import shlex

import pytest
from tests.unit.plan.planned import NEW_DISK, RANDOM, planned

from diskbench.model.expectation import BeyondCredit
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Scope
from diskbench.providers.options import EmulationOptions
from diskbench.units import GIB

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


def beyond(
    cloud: str,
    disk: str,
    gib: int,
    machine: str | None,
    profile: str,
    parameters: tuple[tuple[str, str], ...] = (),
    *,
    scale: float = 1.0,
) -> BeyondCredit | None:
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


def told(flags: str) -> tuple[str | None, tuple[tuple[str, str], ...]]:
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


def test_short_profiles_end_before_the_credit_does():
    for profile in ("quick", "default"):
        found = beyond("aws", "gp2", 20, None, profile)
        assert (found.ends, told(found.flags)[0]) == ("before", "burst")


def test_burst_ends_at_the_cliff_of_500_gib_sustained_beyond_it_and_a_slow_load_never_falls():
    """5.4 million credits at 3,000 less 1,500 a second last 3,600 s: the profile's own hour."""
    found = beyond("aws", "gp2", 500, None, "burst")
    assert found.lasts_s == pytest.approx(3600)
    assert found.ends in ("before", "at")
    assert told(found.flags) == (None, (("runtime", "72m"),))
    assert beyond("aws", "gp2", 20, None, "burst").ends == "after"
    assert beyond("aws", "gp2", 500, None, "sustained").ends == "after"
    assert planned(RANDOM + "rate_iops=50\n").expectation.beyond is None


def test_credit_that_is_scaled_ends_sooner():
    found = beyond("aws", "gp2", 20, None, "burst", scale=60)
    assert found.lasts_s == pytest.approx(1862 / 60, rel=0.01)
    assert found.ends == "after"
    assert re.fullmatch(r"--set runtime=3\d", found.flags)

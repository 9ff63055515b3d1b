"""With a host cache the first pass is a step of its own."""

import pytest

from diskbench.model.options import RentSpec
from diskbench.model.spec import Cell, Step, TargetSpec
from diskbench.plan.passes import cold_and_warm
from diskbench.providers.azure.options import AzureOptions

FILL = Step(index=0, name="fill", role="fill", job="[fill]", expected_s=10)
READ = Step(index=1, name="randread", job="[randread]\nrw=randread", expected_s=60)
HALF = Step(index=2, name="half", job="[half]\nrate_iops=50% of randread\n", expected_s=60)


def cell(cache: str | None) -> Cell:
    rent = RentSpec(disk="Premium_LRS", size_gib=4, azure=AzureOptions(cache=cache))
    return Cell(
        provider="azure", target=TargetSpec(kind="device", path=""), rent=rent, profile="quick"
    )


@pytest.mark.parametrize(
    ("cache", "on"), [(None, False), ("none", False), ("None", False), ("readonly", True)]
)
def test_a_host_cache_is_on_where_it_was_asked_for(cache: str | None, on: bool) -> None:
    assert cell(cache).has_host_cache is on


def test_a_disk_of_nobody_has_no_host_cache() -> None:
    own = Cell(provider="local", target=TargetSpec(kind="device", path="/dev/x"), profile="quick")
    assert not own.has_host_cache


def test_each_measurement_is_done_cold_and_then_warm_and_the_fill_once() -> None:
    found = cold_and_warm((FILL, READ, HALF))
    names = ["fill", "randread-cold", "randread-warm", "half-cold", "half-warm"]
    assert [step.name for step in found] == names
    assert [step.index for step in found] == list(range(5))
    assert found[1].job == found[2].job == READ.job


def test_a_share_of_a_step_is_a_share_of_its_warm_pass() -> None:
    (*_, half) = cold_and_warm((FILL, READ, HALF))
    assert half.job == "[half]\nrate_iops=50% of randread-warm\n"

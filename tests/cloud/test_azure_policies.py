"""What a subscription's policies, quotas and capacity refuse on Azure, and what diskbench makes of
it: the way on, or the advice that helps."""

from __future__ import annotations

import pytest
from tests.cloud.azure_rig import PREMIUM, Rig

from diskbench.errors import AccessDenied

GROUP = "Microsoft.Resources/subscriptions/resourceGroups/write"
MACHINE = "Microsoft.Compute/virtualMachines/write"
INTERFACE = "Microsoft.Network/networkInterfaces/write"
TAGS = (("CostCenter", "42"),)


def test_a_zone_that_is_refused_at_once_is_left_without_a_wait(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.impatient("network_s")  # a wait for an interface that nobody deletes would be told
    rig.faults.capacity(zone="1", at_once=True)
    assert rig.without_a_guest().zone == "2"
    assert len(rig.faults.calls(INTERFACE)) == 1
    assert not [one for one in caplog.messages if "not deleted yet" in one]


def test_an_interface_that_is_kept_for_another_machine_is_waited_for(rig: Rig) -> None:
    rig.faults.reserve_interface(seconds=1)
    assert rig.without_a_guest().zone == "1"
    assert len(rig.faults.calls(MACHINE)) == 2


def test_a_family_without_quota_is_passed_over(rig: Rig) -> None:
    spec = PREMIUM.model_copy(update={"size_gib": 128})
    assert rig.resolve(spec).instance_type == "Standard_E4bs_v5"
    rig.faults.quota_of["standardEBSv5Family"] = 0
    assert rig.resolve(spec).instance_type == "Standard_E4bds_v5"
    rig.faults.quota_cores = 2
    assert rig.resolve(spec).instance_type == "Standard_E2bs_v6"
    rig.faults.quota_cores = 100
    assert rig.resolve(spec, spot=True).instance_type == "Standard_E4bs_v5"  # counts elsewhere


def test_too_little_quota_is_told_before_renting_to_who_may_read_it(rig: Rig) -> None:
    def warnings() -> list[str]:
        return [text for text in rig.resolve().warnings if "vCPUs" in text]

    assert warnings() == []
    rig.faults.quota_cores = 1
    (warning,) = warnings()
    assert "Standard_E4bs_v5 needs 4 vCPUs and the quotas of eastus have 1 left" in warning
    rig.faults.forbid("Microsoft.Compute/locations/usages/read")
    assert warnings() == []


@pytest.mark.parametrize("kinds", [("groups",), ("resources",), ("groups", "resources")])
def test_under_a_policy_that_demands_a_tag_the_error_names_it(
    rig: Rig, kinds: tuple[str, ...]
) -> None:
    rig.faults.demanded_tags["CostCenter"] = kinds
    with pytest.raises(AccessDenied, match="disallowed by policy") as refused:
        rig.without_a_guest()
    assert "add --tag CostCenter=VALUE" in refused.value.advice


def test_under_policies_that_demand_tags_a_whole_run_passes_with_them(rig: Rig) -> None:
    rig.faults.demanded_tags["CostCenter"] = ("groups", "resources")
    rig.acquire(tags=TAGS)
    rig.extend(7200)
    tagged = [row["tags"] for row in rig.cloud.resources.values() if "tags" in row]
    assert {tags["CostCenter"] for tags in tagged} == {"42"}
    rig.release()
    assert rig.left() == []


def test_the_rehearsal_proves_the_tags(rig: Rig) -> None:
    rig.faults.demanded_tags["CostCenter"] = ("groups", "resources")
    assert all(one.state == "ok" for one in rig.provider.rehearse(rig.resolve(tags=TAGS)))
    (problem,) = {one.advice for one in rig.provider.rehearse(rig.resolve()) if one.state != "ok"}
    assert "add --tag CostCenter=VALUE" in problem


def test_the_group_that_azure_makes_by_itself_is_nobodys_lease_and_stays(rig: Rig) -> None:
    """NetworkWatcherRG comes with a region's first network, and without our tags."""
    scope = rig.scope()
    path = f"/subscriptions/{scope.account}/resourceGroups/NetworkWatcherRG"
    watcher = {
        "id": path, "name": "NetworkWatcherRG", "type": "Microsoft.Resources/resourceGroups",
        "location": "eastus", "properties": {"provisioningState": "Succeeded"},
    }  # fmt: skip
    with rig.cloud.lock:
        rig.cloud.save(watcher)
    rig.without_a_guest()
    assert {found.lease_id for found in rig.provider.found(scope)} == {"one"}
    rig.release()
    assert rig.left() == [path]
    with rig.cloud.lock:
        rig.cloud.drop(path)

"""What an account on Azure meets: what must be registered, the waits that Azure asks for, images
and networks of one's own, policies and quotas, and disks of the user's own key (--kms-key) and from
the user's own snapshot (--from-snapshot)."""

import time
from types import SimpleNamespace

import pytest
from emulators.azure import disk_rules, server, sizes
from emulators.azure.cloud import SUBSCRIPTION
from tests.cloud.azure_rig import PREMIUM
from tests.cloud.rented_azure import Azure, disk, interface
from tests.cloud.rented_azure import group as made_group

from diskbench.errors import AccessDenied, CloudSilent, InvalidValue, Throttled, UnknownName
from diskbench.providers.azure import provision
from diskbench.providers.azure.doctor import SWITCH
from diskbench.providers.azure.errors import retry_after_s
from diskbench.providers.azure.requests import resource_group
from diskbench.providers.options import NetworkOptions

GROUP = "Microsoft.Resources/subscriptions/resourceGroups/write"
SKUS = "Microsoft.Compute/skus/read"
BOTH, NVME_ONLY = "Standard_E4bds_v5", "Standard_D4s_v6"
RED_HAT = "RedHat:RHEL:9-lvm-gen2:latest"
APPLIANCE = "Contoso:appliance:basic:latest"
MACHINE = "Microsoft.Compute/virtualMachines/write"
INTERFACE = "Microsoft.Network/networkInterfaces/write"
PRIVATE = NetworkOptions(no_public_ip=True)
TAGS = (("CostCenter", "42"),)
DISK = "Microsoft.Compute/disks/write"
ABSENT = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/office/providers/Microsoft.Compute"


def test_without_the_switch_it_rents_and_warns_before_and_during(rig):
    rig.faults.unregister(SWITCH)
    (warning,) = [text for text in rig.resolve().warnings if SWITCH in text]
    assert "az provider register" in warning
    began = time.monotonic()
    acquired = rig.acquire()
    assert time.monotonic() - began < 60  # the SDK's own registration never ends
    assert acquired.facts["dead_man"].startswith("none")
    assert any(note.startswith("WARNING: Azure will not deallocate") for note in rig.watch.notes)
    assert not [one for one in rig.faults.asked if "/register" in one.path]


def test_what_every_rental_needs_is_checked_before_anything_is_rented(rig):
    rig.faults.unregister("Microsoft.Network")
    with pytest.raises(AccessDenied, match=r"not registered for Microsoft\.Network") as refused:
        rig.resolve()
    assert "az provider register --namespace Microsoft.Network" in refused.value.advice
    assert rig.left() == []


def test_the_doctor_tells_what_is_not_registered(rig):
    scope = rig.scope()
    for namespace, state in ((SWITCH, "warning"), ("Microsoft.Compute", "problem")):
        rig.faults.unregister(namespace)
        found = [one for one in rig.provider.examine(scope) if one.check == "registrations"]
        assert [one.state for one in found if namespace in one.told] == [state]


def test_a_size_with_both_controllers_is_made_with_scsi_and_as_a_trusted_launch(rig):
    made = rig.without_a_guest(instance_type=BOTH, cache="readonly").machine["properties"]
    assert made["storageProfile"]["diskControllerType"] == "SCSI"
    assert made["securityProfile"]["securityType"] == "TrustedLaunch"


def test_a_disk_behind_nvme_is_found_by_its_lun_and_recorded_as_the_guest_shows_it(rig):
    acquired = rig.acquire(instance_type=NVME_ONLY)
    assert acquired.facts["disk_interface"] == "nvme"
    assert acquired.device == "/dev/disk/azure/data/by-lun/0"
    assert acquired.facts["disks"][0]["node"] == "/dev/nvme0n2"


def test_a_wait_that_azure_asks_for_is_kept_beyond_our_own_patience(rig):
    rig.impatient("retry_s")
    order = rig.provider._order(rig.claim(), rig.resolve(), rig.watch)
    rig.faults.throttle(GROUP, times=3, retry_after=1)
    provision._group(order)
    assert len(rig.faults.calls(GROUP)) == 4


def test_a_wait_beyond_the_end_of_the_lease_or_for_a_plan_ends_the_call_at_once(rig):
    order = rig.provider._order(rig.claim(lasts_s=60), rig.resolve(), rig.watch)
    for action in (GROUP, SKUS):
        rig.faults.throttle(action, times=9, retry_after=1800)
    began = time.monotonic()
    with pytest.raises(Throttled, match="asks to wait 1,800 s"):
        provision._group(order)
    assert time.monotonic() - began < 30
    with pytest.raises(CloudSilent, match="asks to wait 1,800 s"):
        rig.resolve()


def test_every_form_of_the_wait_is_read():
    for headers, least, most in [
        ({}, 0, 0),
        ({"x-ms-retry-after-ms": "2500"}, 2.5, 2.5),
        ({"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}, 1e9, 1e10),
        ({"Retry-After": "soon"}, 0, 0),
    ]:
        error = SimpleNamespace(response=SimpleNamespace(headers=headers))
        assert least <= retry_after_s(error) <= most  # type: ignore[arg-type]


@pytest.mark.parametrize("looks", [1, 4])
def test_what_was_made_just_now_is_given_back_though_nothing_is_listed_yet(rig, looks):
    scope = rig.scope()
    rig.cloud.lag = looks
    try:
        made = rig.provider._order(rig.claim(), rig.resolve(), rig.watch)
        rig.provider._sent.add("one")
        made.edge.sent("PUT", made.edge.path(made.group), resource_group(made))
        rig.provider.release("one", scope)
        assert rig.left() == []
    finally:
        rig.cloud.lag = 0


def test_a_group_that_a_listing_by_tag_misses_is_found_by_its_name(rig, monkeypatch):
    rig.without_a_guest()
    monkeypatch.setattr("diskbench.providers.azure.teardown.tagged_groups", lambda *_: [])
    rig.provider.release("one", rig.scope())
    assert rig.left() == []


def test_a_private_machine_is_reached_in_a_named_subnet_and_admits_its_network(rig, azure):
    with pytest.raises(InvalidValue, match="--no-public-ip without --subnet") as refused:
        rig.provider.check(rig.cell(network=PRIVATE))
    assert "--subnet" in refused.value.advice
    subnet = subnet_of(azure)
    rig.provider.ask_caller = nobody  # this computer's public address is of no use there
    rental = rig.resolve(subnet=subnet, network=PRIVATE)
    assert any("no public address" in text for text in rental.warnings)
    assert not any("address" in part.name for part in rental.prices)
    acquired = rig.acquire(subnet=subnet, network=PRIVATE)
    assert acquired.address.startswith("10.")
    addresses = [one for one in rig.resources("publicIPAddresses") if "/diskbench-" in one["id"]]
    assert addresses == []
    (group,) = rig.resources("networkSecurityGroups")
    (rule,) = group["properties"]["securityRules"]
    assert rule["properties"]["sourceAddressPrefix"] == "VirtualNetwork"


def test_an_image_with_a_plan_is_rented_with_it_once_its_terms_are_accepted(rig):
    rig.faults.refused_terms.add("basic")
    with pytest.raises(InvalidValue, match="terms of image") as refused:
        rig.resolve(image=APPLIANCE)
    assert "az vm image terms accept --publisher Contoso" in refused.value.advice
    assert rig.left() == []
    rig.faults.refused_terms.clear()
    machine = rig.without_a_guest(image=APPLIANCE).machine
    assert machine["plan"] == {"name": "basic", "product": "appliance", "publisher": "Contoso"}


def test_an_image_is_known_by_its_number(rig):
    for typed, name in (
        ("ubuntu-26.04", "Canonical:ubuntu-26_04-lts:server:26.04"),
        ("debian", "Debian:debian-12:12-gen2:"),
        ("debian-13", "Debian:debian-13:13-gen2:"),
    ):
        assert (rig.resolve(image=typed).image or "").startswith(name)


def test_figures_that_azure_lists_otherwise_than_the_catalogue_are_named(rig, monkeypatch):
    assert not [text for text in rig.resolve().warnings if "today" in text]
    changed = {**sizes.TIERS, "StandardSSD_LRS": (disk_rules.Tier("E10", 128, 500, 100),)}
    monkeypatch.setattr(sizes, "TIERS", changed)
    spec = PREMIUM.model_copy(update={"disk": "StandardSSD_LRS", "size_gib": 128})
    (warning,) = [text for text in rig.resolve(spec).warnings if "today" in text]
    assert "StandardSSD_LRS E10 with 500 IOPS and 100 MB/s today" in warning
    assert "500 and 60" in warning


def nobody() -> str:
    raise AssertionError("the public address of this computer is of no use to a private machine")


def subnet_of(azure: Azure) -> str:
    card = interface(azure, made_group(azure, "office"))
    return str(card.ip_configurations[0].subnet.id)


def test_a_zone_that_is_refused_at_once_is_left_without_a_wait(rig, caplog):
    rig.impatient("network_s")  # a wait for an interface that nobody deletes would be told
    rig.faults.capacity(zone="1", at_once=True)
    assert rig.without_a_guest().place == "2"
    assert len(rig.faults.calls(INTERFACE)) == 1
    assert not [one for one in caplog.messages if "not deleted yet" in one]


def test_an_interface_that_is_kept_for_another_machine_is_waited_for(rig):
    rig.faults.reserve_interface(seconds=1)
    assert rig.without_a_guest().place == "1"
    assert len(rig.faults.calls(MACHINE)) == 2


def test_a_family_without_quota_is_passed_over(rig):
    spec = PREMIUM.model_copy(update={"size_gib": 128})
    assert rig.resolve(spec).instance_type == "Standard_E4bs_v5"
    rig.faults.quota_of["standardEBSv5Family"] = 0
    assert rig.resolve(spec).instance_type == "Standard_E4bds_v5"
    rig.faults.quota_cores = 2
    assert rig.resolve(spec).instance_type == "Standard_E2bs_v6"
    rig.faults.quota_cores = 100
    assert rig.resolve(spec, spot=True).instance_type == "Standard_E4bs_v5"  # counts elsewhere


def test_too_little_quota_is_told_before_renting_to_who_may_read_it(rig):
    def warnings() -> list[str]:
        return [text for text in rig.resolve().warnings if "vCPUs" in text]

    assert warnings() == []
    rig.faults.quota_cores = 1
    (warning,) = warnings()
    assert "Standard_E4bs_v5 needs 4 vCPUs and the quotas of eastus have 1 left" in warning
    rig.faults.forbid("Microsoft.Compute/locations/usages/read")
    assert warnings() == []


@pytest.mark.parametrize("kinds", [("groups",), ("resources",), ("groups", "resources")])
def test_under_a_policy_that_demands_a_tag_the_error_names_it(rig, kinds):
    rig.faults.demanded_tags["CostCenter"] = kinds
    with pytest.raises(AccessDenied, match="disallowed by policy") as refused:
        rig.without_a_guest()
    assert "add --tag CostCenter=VALUE" in refused.value.advice


def test_under_policies_that_demand_tags_a_whole_run_passes_with_them_as_was_rehearsed(rig):
    rig.faults.demanded_tags["CostCenter"] = ("groups", "resources")
    assert all(one.state == "ok" for one in rig.provider.rehearse(rig.resolve(tags=TAGS)))
    (problem,) = {one.advice for one in rig.provider.rehearse(rig.resolve()) if one.state != "ok"}
    assert "add --tag CostCenter=VALUE" in problem
    rig.acquire(tags=TAGS)
    rig.extend(7200)
    tagged = [row["tags"] for row in rig.cloud.resources.values() if "tags" in row]
    assert {tags["CostCenter"] for tags in tagged} == {"42"}
    rig.release()
    assert rig.left() == []


def test_the_group_that_azure_makes_by_itself_is_nobodys_lease_and_stays(rig):
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


def key_in(azure: Azure, region: str = server.REGION) -> str:
    """A disk encryption set of the user's; its id."""
    key = {"activeKey": {"keyUrl": "https://vault.vault.azure.net/keys/k/1"}}
    body = {"location": region, "identity": {"type": "SystemAssigned"}, "properties": key}
    office = made_group(azure, "office")
    made = azure.compute.disk_encryption_sets.begin_create_or_update(office, "mine", body)
    return str(made.result().id)


def snapshot_of(azure: Azure, content: bytes) -> str:
    """A snapshot of a disk of 4 GiB that begins with `content`; its id."""
    office = made_group(azure, "office")
    held = disk(azure, office, "Premium_LRS", 4)
    document = azure.cloud.get(held.id)
    azure.cloud.image(document).parent.mkdir(exist_ok=True)
    azure.cloud.image(document).write_bytes(content)
    source = {"createOption": "Copy", "sourceResourceId": held.id}
    body = {"location": server.REGION, "properties": {"creationData": source}}
    made = azure.compute.snapshots.begin_create_or_update(office, "filled", body)
    return str(made.result().id)


def test_a_key_that_azure_may_not_use_or_of_another_region_is_told_as_such(rig, azure):
    rig.faults.refuse(DISK, "KeyVaultAccessForbidden", "Unable to access key vault.", status=403)
    with pytest.raises(InvalidValue, match="does not take the key") as refused:
        rig.acquire(kms_key=key_in(azure))
    assert "az disk-encryption-set show" in refused.value.advice
    with pytest.raises(InvalidValue, match="is in eastus2"):
        rig.resolve(kms_key=key_in(azure, "eastus2"))


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"instance_type": NVME_ONLY, "image": RED_HAT}, "no driver"),
        ({"instance_type": NVME_ONLY, "cache": "readonly"}, "no host cache"),
        ({"image": f"{ABSENT}/images/gone"}, "there is no image"),
        ({"kms_key": f"{ABSENT}/diskEncryptionSets/gone"}, "does not exist"),
        ({"kms_key": "gone"}, "not a valid name"),
        ({"snapshot": f"{ABSENT}/snapshots/gone"}, "does not exist"),
        ({"snapshot": "gone"}, "not a valid name"),
        ({"region": "nowhere"}, "'nowhere'"),
        ({"instance_type": "Standard_D2_v3"}, "does not support Premium_LRS"),
        ({"instance_type": "Standard_D4s_v55"}, "Standard_D4s_v55"),
        ({"zone": "9"}, "'9'"),
    ],
)
def test_what_is_not_there_or_does_not_fit_is_refused_before_renting(rig, typed, says):
    with pytest.raises((InvalidValue, UnknownName), match=says):
        rig.resolve(**typed)


def test_a_disk_holds_what_its_snapshot_held_and_all_are_encrypted_with_the_key(rig, azure):
    source, key = snapshot_of(azure, b"filled before"), key_in(azure)
    with pytest.raises(InvalidValue, match="holds 4 GiB") as refused:
        rig.resolve(PREMIUM.model_copy(update={"size_gib": 2}), snapshot=source)
    assert refused.value.advice == "add --size 4 or more"
    (told,) = rig.acquire(snapshot=source, kms_key=key).facts["volumes"]
    assert told["snapshot"] == source
    assert told["encryption"] == "EncryptionAtRestWithCustomerKey"
    disks = [row for row in rig.resources("disks") if "/diskbench-" in row["id"]]
    shown = [row["properties"]["encryption"]["diskEncryptionSetId"] for row in disks]
    assert shown == [key, key]
    made = rig.cloud.get(told["id"])
    with rig.cloud.image(made).open("rb") as file:
        assert file.read(13) == b"filled before"

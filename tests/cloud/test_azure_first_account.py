"""What a first account on Azure meets that the emulator did not show before: each test fails on the
adapter of 2026-11-22 for the reason that issue 15 names."""

from __future__ import annotations

import time

import pytest
from emulators.azure import disk_rules, sizes
from tests.books import SHIPPED
from tests.cloud.azure_rig import PREMIUM, Rig
from tests.cloud.rented_azure import Azure, interface
from tests.cloud.rented_azure import group as made_group

from diskbench.errors import AccessDenied, CloudSilent, InvalidValue, Throttled
from diskbench.model.options import RentSpec
from diskbench.model.spec import Cell
from diskbench.providers.azure import provision
from diskbench.providers.azure.errors import retry_after_s
from diskbench.providers.azure.policy import SWITCH
from diskbench.providers.azure.requests import resource_group
from diskbench.providers.options import NetworkOptions

GROUP = "Microsoft.Resources/subscriptions/resourceGroups/write"
SKUS = "Microsoft.Compute/skus/read"
BOTH, NVME_ONLY = "Standard_E4bds_v5", "Standard_D4s_v6"
RED_HAT = "RedHat:RHEL:9-lvm-gen2:latest"
APPLIANCE = "Contoso:appliance:basic:latest"


def without_a_guest(rig: Rig, spec: RentSpec = PREMIUM, **more: object) -> dict:
    """The machine of a rental up to the point where SSH would be tried."""
    rig.faults.never_ready()
    order = rig.provider._order(rig.claim(), rig.resolve(spec, **more), rig.watch)
    provision.provision(order)
    return rig.resource("virtualMachines")


# --- Row 2: the guest agent


# --- Row 3: registration


def test_without_the_switch_it_rents_and_warns_before_and_during(rig: Rig) -> None:
    rig.faults.unregister(SWITCH)
    (warning,) = [text for text in rig.resolve().warnings if SWITCH in text]
    assert "az provider register" in warning
    began = time.monotonic()
    acquired = rig.acquire()
    assert time.monotonic() - began < 60  # the SDK's own registration never ends
    assert acquired.facts["dead_man"].startswith("none")
    assert any(note.startswith("WARNING: Azure will not deallocate") for note in rig.watch.notes)
    assert not [one for one in rig.faults.asked if "/register" in one.path]


def test_what_every_rental_needs_is_checked_before_anything_is_rented(rig: Rig) -> None:
    rig.faults.unregister("Microsoft.Network")
    with pytest.raises(AccessDenied, match=r"not registered for Microsoft\.Network") as refused:
        rig.resolve()
    assert "az provider register --namespace Microsoft.Network" in refused.value.advice
    assert rig.left() == []


@pytest.mark.parametrize(
    ("namespace", "state"), [(SWITCH, "warning"), ("Microsoft.Compute", "problem")]
)
def test_the_doctor_tells_what_is_not_registered(rig: Rig, namespace: str, state: str) -> None:
    scope = rig.scope()
    rig.faults.unregister(namespace)
    found = [one for one in rig.provider.examine(scope) if one.check == "registrations"]
    assert [one.state for one in found if namespace in one.told] == [state]


# --- Row 4: the disk controller


def test_a_size_with_both_controllers_is_made_with_scsi_and_has_its_cache(rig: Rig) -> None:
    machine = without_a_guest(rig, instance_type=BOTH, cache="readonly")
    assert machine["properties"]["storageProfile"]["diskControllerType"] == "SCSI"


def test_a_disk_behind_nvme_is_found_by_its_lun_and_recorded_as_the_guest_shows_it(
    rig: Rig,
) -> None:
    acquired = rig.acquire(instance_type=NVME_ONLY)
    assert acquired.facts["disk_interface"] == "nvme"
    assert acquired.device == "/dev/disk/azure/data/by-lun/0"
    assert acquired.facts["disks"][0]["node"] == "/dev/nvme0n2"


def test_an_image_without_the_driver_is_refused_before_renting(rig: Rig) -> None:
    with pytest.raises(InvalidValue, match="no driver"):
        rig.resolve(instance_type=NVME_ONLY, image=RED_HAT)
    with pytest.raises(InvalidValue, match="no host cache"):
        rig.resolve(instance_type=NVME_ONLY, cache="readonly")


# --- Row 5: Retry-After


def test_a_wait_that_azure_asks_for_is_kept_beyond_our_own_patience(rig: Rig) -> None:
    rig.impatient("retry_s")
    order = rig.provider._order(rig.claim(), rig.resolve(), rig.watch)
    rig.faults.throttle(GROUP, times=3, retry_after=1)
    provision._group(order)
    assert len(rig.faults.calls(GROUP)) == 4


def test_a_wait_beyond_the_end_of_the_lease_ends_the_call_at_once(rig: Rig) -> None:
    order = rig.provider._order(rig.claim(lasts_s=60), rig.resolve(), rig.watch)
    rig.faults.throttle(GROUP, times=9, retry_after=1800)
    began = time.monotonic()
    with pytest.raises(Throttled, match="asks to wait 1,800 s"):
        provision._group(order)
    assert time.monotonic() - began < 30


def test_nobody_waits_half_an_hour_for_a_plan(rig: Rig) -> None:
    rig.faults.throttle(SKUS, times=9, retry_after=1800)
    with pytest.raises(CloudSilent, match="asks to wait 1,800 s"):
        rig.resolve()


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({}, 0, 0),
        ({"x-ms-retry-after-ms": "2500"}, 2.5, 2.5),
        ({"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}, 1e9, 1e10),
        ({"Retry-After": "soon"}, 0, 0),
    ],
)
def test_every_form_of_the_wait_is_read(headers: dict, least: float, most: float) -> None:
    class Answer:
        pass

    class Error:
        response = Answer()

    Error.response.headers = headers  # type: ignore[attr-defined]
    assert least <= retry_after_s(Error()) <= most  # type: ignore[arg-type]


# --- Row 13: listings that lag


@pytest.mark.parametrize("looks", [1, 4])
def test_what_was_made_just_now_is_given_back_though_nothing_is_listed_yet(
    rig: Rig, looks: int
) -> None:
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


def test_a_group_that_a_listing_by_tag_misses_is_found_by_its_name(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_a_guest(rig)
    monkeypatch.setattr("diskbench.providers.azure.teardown.tagged_groups", lambda *_: [])
    rig.provider.release("one", rig.scope())
    assert rig.left() == []


# --- Row 14: no public address


def test_without_a_public_address_a_subnet_must_be_named(rig: Rig) -> None:
    with pytest.raises(InvalidValue, match="--no-public-ip without --subnet") as refused:
        rig.provider.check(private(rig))
    assert "--subnet" in refused.value.advice


def test_a_private_machine_has_no_address_and_admits_its_network(rig: Rig, azure: Azure) -> None:
    subnet = subnet_of(azure)
    rig.provider.ask_caller = nobody  # this computer's public address is of no use there
    rig.faults.never_ready()
    rental = rig.provider.resolve(private(rig, subnet), SHIPPED)
    assert any("no public address" in text for text in rental.warnings)
    assert not any("address" in part.name for part in rental.prices)
    order = rig.provider._order(rig.claim(), rental, rig.watch)
    provision.provision(order)
    addresses = [one for one in rig.resources("publicIPAddresses") if "/diskbench-" in one["id"]]
    assert addresses == []
    (group,) = rig.resources("networkSecurityGroups")
    (rule,) = group["properties"]["securityRules"]
    assert rule["properties"]["sourceAddressPrefix"] == "VirtualNetwork"


def test_a_private_machine_is_reached_and_measured(rig: Rig, azure: Azure) -> None:
    rental = rig.provider.resolve(private(rig, subnet_of(azure)), SHIPPED)
    acquired = rig.provider.acquire(rig.claim(), rental, rig.watch)
    assert acquired.address.startswith("10.")


# --- Row 18: images with a plan


def test_an_image_with_a_plan_is_rented_with_it(rig: Rig) -> None:
    machine = without_a_guest(rig, image=APPLIANCE)
    assert machine["plan"] == {"name": "basic", "product": "appliance", "publisher": "Contoso"}


def test_terms_that_nobody_accepted_are_refused_before_renting(rig: Rig) -> None:
    rig.faults.refused_terms.add("basic")
    with pytest.raises(InvalidValue, match="terms of image") as refused:
        rig.resolve(image=APPLIANCE)
    assert "az vm image terms accept --publisher Contoso" in refused.value.advice
    assert rig.left() == []


def test_an_image_of_ones_own_that_is_not_there_is_refused_before_renting(rig: Rig) -> None:
    gone = "/subscriptions/0/resourceGroups/golden/providers/Microsoft.Compute/images/gone"
    gone = gone.replace("/0/", "/00000000-0000-0000-0000-00000d15c0de/")
    with pytest.raises(InvalidValue, match="there is no image"):
        rig.resolve(image=gone)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("ubuntu-26.04", "Canonical:ubuntu-26_04-lts:server:26.04"),
        ("debian", "Debian:debian-12:12-gen2:"),
        ("debian-13", "Debian:debian-13:13-gen2:"),
    ],
)
def test_an_image_is_known_by_its_number(rig: Rig, typed: str, name: str) -> None:
    assert (rig.resolve(image=typed).image or "").startswith(name)


# --- Part 2, 5: newer answers


def test_a_machine_of_today_is_shown_with_trusted_launch(rig: Rig) -> None:
    security = without_a_guest(rig)["properties"]["securityProfile"]
    assert security["securityType"] == "TrustedLaunch"


def test_figures_that_azure_lists_otherwise_than_the_catalogue_are_named(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not [text for text in rig.resolve().warnings if "today" in text]
    changed = {**sizes.TIERS, "StandardSSD_LRS": (disk_rules.Tier("E10", 128, 500, 100),)}
    monkeypatch.setattr(sizes, "TIERS", changed)
    spec = PREMIUM.model_copy(update={"disk": "StandardSSD_LRS", "size_gib": 128})
    (warning,) = [text for text in rig.resolve(spec).warnings if "today" in text]
    assert "StandardSSD_LRS E10 with 500 IOPS and 100 MB/s today" in warning
    assert "500 and 60" in warning


def nobody() -> str:
    raise AssertionError("the public address of this computer is of no use to a private machine")


def private(rig: Rig, subnet: str | None = None) -> Cell:
    cell = rig.cell(subnet=subnet)
    assert cell.rent is not None
    rent = cell.rent.with_groups(
        {**cell.rent.groups(), "network": NetworkOptions(no_public_ip=True).model_dump()}
    )
    return cell.model_copy(update={"rent": rent})


def subnet_of(azure: Azure) -> str:
    card = interface(azure, made_group(azure, "office"))
    return str(card.ip_configurations[0].subnet.id)

"""The role that `doctor --print-policy azure` prints: all of diskbench's work can be done with it,
and none of it without any one of its rights.

What a request demands is in emulators/azure/rights.py; it is refused as Resource Manager does."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from emulators.azure.rights import allows
from tests.cloud.azure_rig import PREMIUM, Rig
from tests.cloud.rented_azure import REGION

from diskbench.errors import AccessDenied, DiskbenchError
from diskbench.model.rental import Acquired
from diskbench.providers.azure import attach, policy, provision
from diskbench.providers.azure.client import MACHINES

ROLE = tuple(json.loads(policy.policy())["Actions"])
NOW = datetime.now(UTC)
IMAGE = "/subscriptions/00000000-0000-0000-0000-00000d15c0de/resourceGroups/golden/providers"
OWN_IMAGES = (
    f"{IMAGE}/Microsoft.Compute/images/mine",
    f"{IMAGE}/Microsoft.Compute/galleries/shared/images/mine/versions/1.0.0",
)
KEY = f"{IMAGE}/Microsoft.Compute/diskEncryptionSets/mine"
SNAPSHOT = f"{IMAGE}/Microsoft.Compute/snapshots/mine"
NOT_DEMANDED = {
    "Microsoft.Network/locations/operationResults/read":
        "of an operation that answers with a location alone; none of these does in the emulator",
}  # fmt: skip
GOES_ON = {
    "Microsoft.DevTestLab/schedules/write": "the run goes on without the schedule, and says so",
    **dict.fromkeys(policy.DOCTORS, "the doctor warns"),
}


def keep_origins(rig: Rig) -> None:
    """A disk encryption set and a snapshot of the user's."""
    held = {"diskSizeGB": 4, "uniqueId": "none"}
    common = {"name": "mine", "location": REGION, "properties": held}
    for identity in (KEY, SNAPSHOT):
        kind = "/".join(identity.split("/")[-3:-1])
        rig.cloud.save({**common, "id": identity, "type": kind})


def rent_without_a_guest(rig: Rig) -> None:
    """Every call of a rental and its end, with a machine that never answers SSH: an image of each
    kind, a disk attached and swapped, a zone without capacity, a later end."""
    for image in (*OWN_IMAGES, "Contoso:appliance:basic:latest"):
        rig.resolve(image=image)
    keep_origins(rig)
    rental = rig.resolve(kms_key=KEY, snapshot=SNAPSHOT)
    order = rig.provider._order(rig.claim(), rental, rig.watch)
    rig.faults.capacity(zone="1")
    made = rig.provisioned(rental)
    for lun, disk in enumerate(made.disks):
        attach._attach_one(order, disk, lun)
    provision.snapshot(order, lambda: None)
    rig.provider.found(rental.scope)
    rig.extend(7200)
    provision.delete(order.edge, order.path(MACHINES, "machine"))
    rig.provider.release("one", rental.scope)


def test_a_whole_run_passes_with_exactly_the_printed_role(rig: Rig) -> None:
    rig.faults.grant(ROLE)
    rental, acquired = rig.resolve(), rig.acquire(spec=PREMIUM)
    assert rig.provider.metrics(rental, acquired, NOW, NOW)
    rig.extend(7200)
    rig.release()
    assert rig.left() == []


def test_every_right_of_the_role_is_demanded_and_no_other(rig: Rig) -> None:
    rig.faults.grant(ROLE)
    rent_without_a_guest(rig)
    scope = rig.scope()
    machine = {"resource_id": f"{IMAGE}/{MACHINES}/x", "volumes": []}
    gone = Acquired(address="192.0.2.1", size_bytes=1, emulated=True, facts=machine)
    with pytest.raises(DiskbenchError):  # its machine is not there any more
        rig.provider.metrics(rig.resolve(), gone, NOW, NOW)
    assert all(one.state == "ok" for one in rig.provider.examine(scope))
    rig.provider.quotas(scope)
    assert all(one.state != "problem" for one in rig.provider.rehearse(rig.resolve()))
    # The deaf machine has neither schedule nor cache; the run above has.
    demanded = {one.lower() for one in rig.faults.demanded}
    wanted = {one.lower() for one in ROLE if one not in NOT_DEMANDED}
    assert demanded == wanted | {one.lower() for one in NOT_DEMANDED} & demanded


@pytest.mark.parametrize("right", [one for one in ROLE if one not in {*NOT_DEMANDED, *GOES_ON}])
def test_without_any_one_right_it_fails_and_names_it(rig: Rig, right: str) -> None:
    rest = [one for one in ROLE if one != right]
    assert not allows(rest, right)
    rig.faults.grant(rest)
    with pytest.raises(DiskbenchError) as failed:
        rent_without_a_guest(rig)
    assert right.lower() in f"{failed.value.message} {failed.value.advice}".lower()


@pytest.mark.parametrize("right", policy.DOCTORS)
def test_what_only_the_doctor_reads_is_missed_by_the_doctor_alone(rig: Rig, right: str) -> None:
    rig.faults.grant(one for one in ROLE if one != right)
    rent_without_a_guest(rig)
    scope = rig.scope()
    states = [one.state for one in rig.provider.examine(scope)]
    try:
        rig.provider.quotas(scope)
    except AccessDenied as error:
        states.append(error.message)
    assert set(states) != {"ok"}
    assert scope.region == REGION

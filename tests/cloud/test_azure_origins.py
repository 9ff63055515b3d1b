"""Disks of the user's own key and from the user's own snapshot on Azure (--kms-key,
--from-snapshot)."""

from __future__ import annotations

import pytest
from emulators.azure import server
from tests.cloud.azure_rig import PREMIUM, Rig
from tests.cloud.rented_azure import Azure, disk
from tests.cloud.rented_azure import group as made_group

from diskbench.errors import InvalidValue
from diskbench.model.options import RentSpec
from diskbench.providers.azure.disk_request import disk_request

DISK = "Microsoft.Compute/disks/write"
SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-00000d15c0de"
ABSENT = f"{SUBSCRIPTION}/resourceGroups/office/providers/Microsoft.Compute"


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


def test_all_disks_are_encrypted_with_the_key(rig: Rig, azure: Azure) -> None:
    key = key_in(azure)
    (told,) = rig.acquire(kms_key=key).facts["volumes"]
    assert told["encryption"] == "EncryptionAtRestWithCustomerKey"
    shown = [row["properties"]["encryption"] for row in rig.resources("disks")]
    assert {one["diskEncryptionSetId"] for one in shown} == {key}
    assert len(shown) == 2


def test_a_key_that_azure_may_not_use_is_told_as_such(rig: Rig, azure: Azure) -> None:
    rig.faults.refuse(DISK, "KeyVaultAccessForbidden", "Unable to access key vault.", status=403)
    with pytest.raises(InvalidValue, match="does not take the key") as refused:
        rig.acquire(kms_key=key_in(azure))
    assert "az disk-encryption-set show" in refused.value.advice


@pytest.mark.parametrize(
    ("option", "kind"), [("kms_key", "diskEncryptionSets"), ("snapshot", "snapshots")]
)
def test_what_is_not_there_is_refused_before_renting(rig: Rig, option: str, kind: str) -> None:
    with pytest.raises(InvalidValue, match="is not there"):
        rig.resolve(**{option: f"{ABSENT}/{kind}/gone"})
    with pytest.raises(InvalidValue, match="not a valid name"):
        rig.resolve(**{option: "gone"})


def test_a_key_of_another_region_is_refused_before_renting(rig: Rig, azure: Azure) -> None:
    with pytest.raises(InvalidValue, match="is in eastus2"):
        rig.resolve(kms_key=key_in(azure, "eastus2"))


def test_a_disk_holds_what_its_snapshot_held(rig: Rig, azure: Azure) -> None:
    source = snapshot_of(azure, b"filled before")
    (told,) = rig.acquire(snapshot=source).facts["volumes"]
    assert told["snapshot"] == source
    made = rig.cloud.get(told["id"])
    with rig.cloud.image(made).open("rb") as file:
        assert file.read(13) == b"filled before"


def test_a_disk_smaller_than_its_snapshot_is_refused_before_renting(rig: Rig, azure: Azure) -> None:
    source = snapshot_of(azure, b"")
    with pytest.raises(InvalidValue, match="holds 4 GiB") as refused:
        rig.resolve(PREMIUM.model_copy(update={"size_gib": 2}), snapshot=source)
    assert refused.value.advice == "add --size 4 or more"


@pytest.mark.parametrize("disk", ["root", "temp-disk"])
def test_only_disks_of_their_own_are_made_from_a_snapshot(disk: str) -> None:
    with pytest.raises(InvalidValue, match="--from-snapshot"):
        disk_request(RentSpec(disk=disk, snapshot=f"{ABSENT}/snapshots/s"))

"""The details of a rental are stored in plans: what they are called there does not change."""

import pytest
from tests.unit.providers.vsphere.made import resolved

from diskbench.providers.aws.disk_request import AwsResolved
from diskbench.providers.azure.disk_request import AzureResolved
from diskbench.providers.gcp.disk_request import GcpResolved
from diskbench.providers.skeleton.cloud import RentalDetails
from diskbench.providers.vsphere.disk_request import VsphereResolved

CLOUDS = (AwsResolved, AzureResolved, GcpResolved, VsphereResolved)


@pytest.mark.parametrize("details", CLOUDS)
def test_the_disk_request_is_stored_under_its_old_name(details: type[RentalDetails]) -> None:
    assert details.model_fields["requested"].serialization_alias == "wanted"


def test_stored_details_are_read_as_they_were_written() -> None:
    details = resolved()
    stored = details.model_dump(mode="json")
    assert stored["wanted"]["size_gib"] == details.requested.size_gib
    assert "requested" not in stored
    assert VsphereResolved.model_validate(stored) == details

"""The emulated Azure answers in the form in which the real one did, as its SDK's tests recorded it.

Their requests are sent to the emulator; status codes, the headers of operations, and the members
and types of all answers are compared. What differs is named here, with its reason."""

import re
from collections import Counter

import pytest
from emulators.azure.server import fresh
from tests.cloud.azure_recordings import COVERED, PACKAGES, Replay, kind_of, recordings

# The first use fetches the packages; pip prepares each: 300 s are too few on a busy machine.
pytestmark = pytest.mark.timeout(1800)

# The emulator answers as the newest recorded API does, whatever version is asked for. These are
# members and headers that older ones do not have, with the first that has them …
SINCE = {
    r".* disk.*: invented .*\.encryption(\.type)?": "2019-07-01",
    r".* disk.*: invented .*\.networkAccessPolicy": "2020-05-01",
    r".* disk.*: invented .*\.publicNetworkAccess": "2021-04-01",
    r"PUT disk: invented \.(id|type)": "2022-07-02",
    r".* machine: invented .*\.(deleteOption|assessmentMode)": "2021-07-01",
    r".* machine: invented .*\.(timeCreated|enableVMAgentPlatformUpdates)": "2022-11-01",
    r".* image: invented .*\.(features|imageDeprecationStatus)(\[\])?(\.\w+)?": "2022-11-01",
    r".* image: invented .*\.architecture": "2021-07-01",
    r".* interface: invented .*\.(kind|allowPort25Out|disableTcpStateTracking)": "2022-07-01",
    r".* interface: invented .*\.vnetEncryptionSupported": "2021-03-01",
    r".* address: invented .*sku\.tier": "2020-08-01",
    r"PUT subnet: header azure-asyncnotification": "2022-07-01",
}
# … and these are what older ones have, with the first that does not.
UNTIL = {
    r"PUT disk: missing \.properties\.isArmResource": "2022-07-02",
    r".* network: missing .*\.enableVmProtection": "2021-03-01",
    r"PATCH machine: header azure-async(operation|notification)": "2021-07-01",
}
# What the emulator does not have at all, and what was theirs alone.
NOT_EMULATED = (
    r".* machine.*: missing .*\.(extensions|extensionHandlers|resources)\b.*",
    r".* network: missing .*\.(virtualNetworkPeerings\[\]|remoteVirtualNetwork).*",
    r".* machine: missing \.(tags|identity).*",  # a policy of their subscription adds them
    # All of a subscription is listed: of their other tests, and what was deleted by itself.
    r"GET \w+: (missing|invented) \.value\[\].*",
)


def explained(what: str, api_version: str) -> bool:
    """Is the reason of this difference named above?"""
    if any(re.fullmatch(form, what) for form in NOT_EMULATED):
        return True
    versions = [*SINCE.items(), *UNTIL.items()]
    return any(re.fullmatch(form, what) and api_version < version for form, version in versions)


@pytest.mark.parametrize("package", PACKAGES)
def test_answers_have_the_form_of_the_recorded_ones(azure, package):
    found: Counter[str] = Counter()
    for recording in recordings():
        if recording.package == package:
            replay = Replay(azure)
            replay.play(recording)
            found.update(f"{recording.test}: {one}" for one in replay.differences
                         if not explained(*one))  # fmt: skip
            fresh(azure.cloud)
    assert not found, "\n".join(found)


def test_every_kind_that_is_compared_was_recorded():
    found = {kind_of(one) for recording in recordings() for one in recording.exchanges}
    assert found - {None} == set(COVERED)

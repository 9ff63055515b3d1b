"""`diskbench doctor --provider azure --live` against the emulated Azure."""

from __future__ import annotations

import pytest
from emulators.azure import identity
from emulators.azure.authority import make_authority
from emulators.azure.cloud import SUBSCRIPTION
from tests.cloud.azure_recordings import of_file
from tests.cloud.azure_replay import Replay
from tests.cloud.doctored import of
from tests.cloud.rented_azure import REGION, Azure
from tests.cloud.replayed import ADDRESS, check_replay, read_recording
from tests.cloud.test_doctor_azure import doctor as doctor  # a fixture

pytestmark = pytest.mark.slow


@pytest.fixture
def flags(azure: Azure) -> tuple[str, ...]:
    return (
        "--provider", "azure", "--live", "--endpoint-url", azure.endpoint, "--region", REGION,
        "--disk", "Premium_LRS", "--size", "64", "--ssh-cidr", "203.0.113.7/32",
    )  # fmt: skip


def mutating(azure: Azure) -> list[str]:
    """The requests that change something; validation of a deployment is none."""
    return [
        one.action for one in azure.faults.asked
        if one.method in {"PUT", "PATCH", "DELETE"}
    ]  # fmt: skip


def test_a_deployment_is_validated_and_nothing_is_made(azure, doctor, flags):
    code, found = doctor.asked(*flags)
    tried = of(found, "dry run")
    assert {one["state"] for one in tried} == {"ok"}, tried
    assert any("a deployment of" in one["told"] for one in tried)
    assert mutating(azure) == []
    assert azure.left() == []
    assert code == 0, found


def test_a_right_that_is_missing_is_named(azure, doctor, flags):
    azure.faults.forbid("Microsoft.Compute/disks/write")
    code, found = doctor.asked(*flags)
    assert code == 2
    refused = [one for one in of(found, "dry run") if one["state"] == "problem"]
    assert refused
    assert "Microsoft.Compute/disks/write" in refused[0]["told"]
    assert "--print-policy azure" in refused[0]["advice"]


def test_what_the_resource_providers_refuse_is_found(azure, doctor, flags):
    azure.faults.quota_cores = 1
    code, found = doctor.asked(*flags)
    assert code == 2
    refused = [one for one in of(found, "dry run") if one["state"] == "problem"]
    assert "quota" in refused[0]["told"]


def test_the_recording_holds_nothing_private_and_is_replayed(
    azure, doctor, flags, tmp_path, monkeypatch
):
    doctor.asked(*flags)
    file = tmp_path / "diskbench-live-azure.json"
    text = file.read_text()
    for private in (
        SUBSCRIPTION, identity.CLIENT, identity.SECRET, "203.0.113.7", "PRIVATE KEY", "Bearer",
        "emulated-token",
    ):  # fmt: skip
        assert private not in text, private
    recording = read_recording(file)
    ca_file, context = make_authority(tmp_path, ADDRESS)

    def login(method, path, body, base):
        given = identity.answer(azure.cloud, method, path, body, base)
        if given is None:
            return None
        import json

        return given.status, {"Content-Type": "application/json"}, json.dumps(given.body).encode()

    before = len(azure.faults.asked)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(ca_file))
    check_replay(
        doctor, recording, tls=context, extra=login,
        told=lambda endpoint: monkeypatch.setenv("AZURE_AUTHORITY_HOST", endpoint),
    )  # fmt: skip
    assert len(azure.faults.asked) == before, "the replay asked the emulator"


def test_the_recording_is_read_as_those_of_the_sdk_are(azure, doctor, flags, tmp_path):
    """What a user attaches is compared with the emulator as the SDK's own recordings are."""
    doctor.asked(*flags)
    replay = Replay(azure)
    replay.play(of_file(tmp_path / "diskbench-live-azure.json"))
    assert replay.compared
    assert replay.differences == []

"""All calls of a lease share one session, whose credentials are still renewed."""

import sys
from typing import Any

import boto3
import pytest
from tests.unit.providers.aws.rig import REGION, refusal

from diskbench.errors import AccessDenied

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@pytest.fixture
def opened(cloud, monkeypatch):
    """Every session of the SDK that the provider opens."""
    assert cloud.provider.sessions, "the rig stands before its sessions are counted"
    made = list[Any]()
    genuine = boto3.Session

    def session(**given):
        session = genuine(**given)
        if "botocore_session" in given:  # else it is that of the rig's own clients
            made.append(session)
        return session

    monkeypatch.setattr(boto3, "Session", session)
    return made


def test_the_configured_region_is_that_of_its_rentals_scope(cloud, opened, monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    sessions = cloud.provider.sessions
    assert sessions.at(None, None, cloud.url) is sessions.at(None, REGION, cloud.url)
    assert len(opened) == 1


@pytest.mark.slow
def test_keys_that_somebody_replaced_are_read_after_a_refusal(cloud, opened, monkeypatch, tmp_path):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "credentials"
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    _write_keys(file, "AKIAFIRST")
    scope = cloud.resolve().scope
    _write_keys(file, "AKIASECOND")
    cloud.provider.found(scope)
    cloud.wire.spoil("DescribeInstances", refusal("ExpiredToken", "expired"))
    with pytest.raises(AccessDenied):
        cloud.provider.found(scope)
    cloud.provider.found(scope)
    keys = [session.get_credentials().access_key for session in opened]
    assert keys == ["AKIAFIRST", "AKIASECOND"]


@pytest.mark.slow
def test_keys_with_an_end_are_renewed_within_the_session(cloud, opened, monkeypatch, tmp_path):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    script, config = tmp_path / "keys.py", tmp_path / "config"
    script.write_text(RENEWING)
    config.write_text(f"[default]\ncredential_process = {sys.executable} {script}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    scope = cloud.resolve().scope
    (session,) = opened
    first = session.get_credentials().get_frozen_credentials().access_key
    cloud.provider.found(scope)
    assert session.get_credentials().get_frozen_credentials().access_key != first
    assert opened == [session]


def _write_keys(file, key):
    file.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = secret\n")


RENEWING = """\
import datetime, json, pathlib, sys
calls = pathlib.Path(sys.argv[0]).with_suffix(".calls")
calls.write_text((calls.read_text() if calls.exists() else "") + "x")
end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=5)
print(json.dumps({"Version": 1, "AccessKeyId": f"AKIA{len(calls.read_text())}",
    "SecretAccessKey": "secret", "SessionToken": "token", "Expiration": end.isoformat()}))
"""
"""botocore renews keys that end within 10 minutes before each use (botocore 1.43,
RefreshableCredentials): these are renewed every time."""

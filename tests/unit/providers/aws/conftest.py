"""Stock moto over HTTP, with a guest that shows what is attached, and calls that can be spoilt."""

import functools
import socket

import boto3
import pytest
from botocore.client import ClientCreator
from emulators.aws.images import lightened
from moto.moto_api._internal.models import moto_api_backend
from moto.server import ThreadedMotoServer
from tests.unit.providers.aws.rig import REGION, Cloud, Wire


@pytest.fixture(scope="session")
def moto_url():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with pytest.MonkeyPatch.context() as patched:
        for owner, name, value in lightened():
            patched.setattr(owner, name, value)
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


@pytest.fixture(scope="session")
def session_of():
    """A session reads megabytes of service models; once is enough for tests."""
    return functools.cache(boto3.Session)


@pytest.fixture(scope="session")
def class_of():
    """A client's class has a method for each of EC2's 700 operations, and botocore makes it anew
    for each client; tests make dozens of clients."""
    made = {}
    genuine = ClientCreator._create_client_class

    def create(creator, service_name, service_model):
        if service_name not in made:
            made[service_name] = genuine(creator, service_name, service_model)
        return made[service_name]

    return create


@pytest.fixture
def wire(monkeypatch):
    """Every call of the SDK, recorded, and spoilt on request."""
    made = Wire()
    made.install(monkeypatch)
    return made


@pytest.fixture
def nobody(monkeypatch, tmp_path):
    """No credentials and no configuration of whoever runs the tests."""
    for name in (
        "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN",
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "aws-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def cloud(moto_url, wire, nobody, monkeypatch, session_of, class_of):  # noqa: ARG001
    """An empty emulated AWS and all that a test needs to rent there."""
    moto_api_backend.reset()
    monkeypatch.setattr(boto3, "Session", session_of)
    monkeypatch.setattr(ClientCreator, "_create_client_class", class_of)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    return Cloud(moto_url, wire)


@pytest.fixture
def unused_port():
    """A port that is taken and refuses: bound, and nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]

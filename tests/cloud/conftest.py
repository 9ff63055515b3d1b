"""Emulated clouds for the tests of a module, new for each test."""

import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from emulators.aws.cloud import Cloud
from emulators.aws.server import fresh, running
from emulators.azure import cloud as azure_cloud
from emulators.azure import server as azure_emulator
from emulators.gcp import cloud as gcp_cloud
from emulators.gcp import server as gcp_emulator
from emulators.vsphere import cloud as vsphere_cloud
from tests.cloud.azure_rig import Rig
from tests.cloud.rented import Aws
from tests.cloud.rented_azure import Azure
from tests.cloud.rented_gcp import Gcp

from diskbench.providers.vsphere.client import VsphereSessions

# Whoever tests may have an account of their own; moto, too, would look for it.
OF_THE_TESTER = (
    "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AZURE_CLIENT_CERTIFICATE_PATH",
    "AZURE_USERNAME", "AZURE_CA_FILE", "GOOGLE_CLOUD_QUOTA_PROJECT", "CLOUDSDK_CONFIG",
    "CLOUDSDK_CORE_PROJECT", "CLOUDSDK_COMPUTE_REGION", "CLOUDSDK_COMPUTE_ZONE",
)  # fmt: skip


@contextmanager
def emulated(name):
    """A running emulator of that cloud; a process has one at a time (they set the lab's place)."""
    # On a disk, for direct I/O; where /tmp is a tmpfs, tmp_path would be none.
    state = Path(tempfile.mkdtemp(prefix=f"diskbench-test-{name}-", dir="/var/tmp"))
    try:
        with pytest.MonkeyPatch.context() as patched:
            for variable in OF_THE_TESTER:
                patched.delenv(variable, raising=False)
            if name == "vsphere":
                with vsphere_cloud.running(state) as made:
                    yield made
            else:
                kind, running, user, _ = KINDS[name]
                cloud = kind(state)
                with running(cloud) as endpoint:
                    yield user(cloud, endpoint)
    finally:
        shutil.rmtree(state)


KINDS = {
    "aws": (Cloud, running, Aws, fresh),
    "azure": (azure_cloud.Cloud, azure_emulator.running, Azure, azure_emulator.fresh),
    "gcp": (gcp_cloud.Cloud, gcp_emulator.running, Gcp, gcp_emulator.fresh),
    "vsphere": (),
}


def renew(name, server):
    """Make the emulator as it was when it began."""
    if name == "vsphere":
        server.fresh()
    else:
        KINDS[name][3](server.cloud)


@pytest.fixture(scope="module")
def emulator(request):
    """The emulator whose name is the parameter, and that name."""
    with emulated(request.param) as made:
        yield request.param, made


def of(*cases):
    """Cases by 'CLOUD WHAT': the fixture `emulated_cloud` or `emulator` is that cloud."""
    return table("", dict.fromkeys(cases, ()))


def table(names, rows):
    """Cases by 'CLOUD WHAT'; `names` are those of their columns. What a row leaves out is None."""
    columns, cases = ["emulator", *names.replace(",", " ").split()], []
    for key, row in rows.items():
        # An emulator goes on for the next test if the name is the same object.
        values = [sys.intern(key.split()[0]), *(row if isinstance(row, tuple) else (row,))]
        cases.append(pytest.param(*values, *[None] * (len(columns) - len(values)), id=key))
    return pytest.mark.parametrize(columns, cases, indirect=["emulator"], scope="module")


@pytest.fixture
def emulated_cloud(emulator, monkeypatch):
    """The emulator of the test's cloud, new, and the name of that."""
    for cloud in new(emulator, monkeypatch):
        yield emulator[0], cloud


def new(emulator, monkeypatch):
    """The emulator as it was when it began, before the test and after it."""
    name, cloud = emulator
    renew(name, cloud)
    with closed_sessions(monkeypatch):
        yield cloud
    renew(name, cloud)


def server_of(name):
    """The fixture of a running emulator."""

    @pytest.fixture(scope="module", name=f"{name}_server")
    def server():
        with emulated(name) as made:
            yield made

    return server


def cloud_of(name):
    """The fixture of that emulator, new."""

    @pytest.fixture(name=name)
    def cloud(request, monkeypatch):
        yield from new((name, request.getfixturevalue(f"{name}_server")), monkeypatch)

    return cloud


aws_server, azure_server, gcp_server, vsphere_server = map(server_of, sorted(KINDS))
aws, azure, gcp, vsphere = map(cloud_of, sorted(KINDS))


@pytest.fixture
def rig(azure, monkeypatch, tmp_path):
    """The emulated Azure, and a provider that rents there."""
    for name, value in azure.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Rig(azure)


@contextmanager
def closed_sessions(monkeypatch):
    """Close what providers of vSphere opened: pyVmomi warns of others than a command's."""
    made = list[VsphereSessions]()
    begin = VsphereSessions.__init__

    def noted(sessions):
        begin(sessions)
        made.append(sessions)

    monkeypatch.setattr(VsphereSessions, "__init__", noted)
    yield
    for sessions in made:
        sessions.close()

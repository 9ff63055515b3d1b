"""An emulated AWS for the tests of a module, new for each test."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
from tests.rigs.cli import Cli, a_user

from diskbench.providers.vsphere.client import VsphereSessions


@contextmanager
def emulated(name: str) -> Iterator[Any]:
    """A running emulator of that cloud; a process has one at a time (they set the lab's place)."""
    # On a disk, for direct I/O; where /tmp is a tmpfs, tmp_path would be none.
    state = Path(tempfile.mkdtemp(prefix=f"diskbench-test-{name}-", dir="/var/tmp"))
    try:
        with pytest.MonkeyPatch.context() as patched:
            # Whoever tests may have an account of their own; moto, too, would look for it.
            for variable in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
                patched.delenv(variable, raising=False)
            if name == "vsphere":
                with vsphere_cloud.running(state) as made:
                    yield made
            else:
                cloud_kind, running, user = KINDS[name]
                cloud = cloud_kind(state)
                with running(cloud) as endpoint:
                    yield user(cloud, endpoint)
    finally:
        shutil.rmtree(state)


KINDS: dict[str, Any] = {
    "aws": (Cloud, running, Aws),
    "azure": (azure_cloud.Cloud, azure_emulator.running, Azure),
    "gcp": (gcp_cloud.Cloud, gcp_emulator.running, Gcp),
}


def renew(name: str, server: Any) -> None:
    """Make the emulator as it was when it began."""
    if name == "vsphere":
        server.fresh()
    else:
        {"aws": fresh, "azure": azure_emulator.fresh, "gcp": gcp_emulator.fresh}[name](server.cloud)


@pytest.fixture(scope="module")
def emulator(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    """The emulator whose name is the parameter, and that name."""
    with emulated(request.param) as made:
        yield request.param, made


def of(cloud: str) -> pytest.MarkDecorator:
    """The test is of this cloud: its fixture `emulated_cloud` or `emulator` is that."""
    return pytest.mark.parametrize("emulator", [cloud], indirect=True)


def table(names: str, rows: dict[str, tuple[Any, ...]]) -> pytest.MarkDecorator:
    """Cases by 'CLOUD WHAT'; `names` are those of their columns."""
    # An emulator goes on for the next test if the name is the same object.
    clouds = {key: sys.intern(key.split()[0]) for key in rows}
    cases = [pytest.param(clouds[key], *row, id=key) for key, row in rows.items()]
    return pytest.mark.parametrize(
        f"emulator, {names}", cases, indirect=["emulator"], scope="module"
    )


@pytest.fixture
def emulated_cloud(
    emulator: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, Any]]:
    """The emulator of the test's cloud, new, and the name of that."""
    name, cloud = emulator
    renew(name, cloud)
    with closed_sessions(monkeypatch):
        yield name, cloud
    renew(name, cloud)


@pytest.fixture(scope="module")
def aws_server() -> Iterator[Aws]:
    with emulated("aws") as made:
        yield made


@pytest.fixture
def aws(aws_server: Aws) -> Iterator[Aws]:
    renew("aws", aws_server)
    yield aws_server
    renew("aws", aws_server)


@pytest.fixture
def aws_user(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """A user of the emulated AWS, who must leave nothing in it."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    made = a_user(tmp_path)
    made.extra_env = aws.env
    yield made
    assert aws.left() == []


@pytest.fixture(scope="module")
def gcp_server() -> Iterator[Gcp]:
    with emulated("gcp") as made:
        yield made


@pytest.fixture
def gcp(gcp_server: Gcp) -> Iterator[Gcp]:
    renew("gcp", gcp_server)
    yield gcp_server
    renew("gcp", gcp_server)


@pytest.fixture(scope="module")
def azure_server() -> Iterator[Azure]:
    with emulated("azure") as made:
        yield made


@pytest.fixture
def azure(azure_server: Azure) -> Iterator[Azure]:
    renew("azure", azure_server)
    yield azure_server
    renew("azure", azure_server)


@pytest.fixture
def rig(azure: Azure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rig:
    """The emulated Azure, and a provider that rents there."""
    for name, value in azure.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Rig(azure)


@pytest.fixture(scope="module")
def vsphere_server() -> Iterator[vsphere_cloud.Vsphere]:
    with emulated("vsphere") as made:
        yield made


@pytest.fixture
def vsphere(
    vsphere_server: vsphere_cloud.Vsphere, monkeypatch: pytest.MonkeyPatch
) -> Iterator[vsphere_cloud.Vsphere]:
    vsphere_server.fresh()
    with closed_sessions(monkeypatch):
        yield vsphere_server
    vsphere_server.fresh()


@contextmanager
def closed_sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what providers of vSphere opened: pyVmomi warns of others than a command's."""
    made = list[VsphereSessions]()
    begin = VsphereSessions.__init__

    def noted(sessions: VsphereSessions) -> None:
        begin(sessions)
        made.append(sessions)

    monkeypatch.setattr(VsphereSessions, "__init__", noted)
    yield
    for sessions in made:
        sessions.close()

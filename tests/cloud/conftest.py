"""An emulated AWS for the tests of a module, new for each test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from emulators.aws.cloud import Cloud
from emulators.aws.server import fresh, running
from emulators.azure import cloud as azure_cloud
from emulators.azure import server as azure_emulator
from emulators.gcp import cloud as gcp_cloud
from emulators.gcp import server as gcp_emulator
from emulators.vsphere import cloud as vsphere_cloud
from tests.cloud.rented import Aws
from tests.cloud.rented_azure import Azure
from tests.cloud.rented_gcp import Gcp

from diskbench.providers.vsphere.client import VsphereSessions


@pytest.fixture(scope="module")
def aws_server() -> Iterator[Aws]:
    # On a disk, for direct I/O; where /tmp is a tmpfs, tmp_path would be none.
    state = Path(tempfile.mkdtemp(prefix="diskbench-test-aws-", dir="/var/tmp"))
    cloud = Cloud(state)
    try:
        with pytest.MonkeyPatch.context() as patched:
            # Whoever tests may have an account of their own; moto, too, would look for it.
            for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
                patched.delenv(name, raising=False)
            with running(cloud) as endpoint:
                yield Aws(cloud, endpoint)
    finally:
        shutil.rmtree(state)


@pytest.fixture
def aws(aws_server: Aws) -> Iterator[Aws]:
    fresh(aws_server.cloud)
    yield aws_server
    fresh(aws_server.cloud)


@pytest.fixture(scope="module")
def gcp_server() -> Iterator[Gcp]:
    state = Path(tempfile.mkdtemp(prefix="diskbench-test-gcp-", dir="/var/tmp"))
    cloud = gcp_cloud.Cloud(state)
    try:
        with gcp_emulator.running(cloud) as endpoint:
            yield Gcp(cloud, endpoint)
    finally:
        shutil.rmtree(state)


@pytest.fixture
def gcp(gcp_server: Gcp) -> Iterator[Gcp]:
    gcp_emulator.fresh(gcp_server.cloud)
    yield gcp_server
    gcp_emulator.fresh(gcp_server.cloud)


@pytest.fixture(scope="module")
def azure_server() -> Iterator[Azure]:
    state = Path(tempfile.mkdtemp(prefix="diskbench-test-azure-", dir="/var/tmp"))
    cloud = azure_cloud.Cloud(state)
    try:
        with azure_emulator.running(cloud) as endpoint:
            yield Azure(cloud, endpoint)
    finally:
        shutil.rmtree(state)


@pytest.fixture
def azure(azure_server: Azure) -> Iterator[Azure]:
    azure_emulator.fresh(azure_server.cloud)
    yield azure_server
    azure_emulator.fresh(azure_server.cloud)


@pytest.fixture(scope="module")
def vsphere_server() -> Iterator[vsphere_cloud.Vsphere]:
    state = Path(tempfile.mkdtemp(prefix="diskbench-test-vsphere-", dir="/var/tmp"))
    try:
        with vsphere_cloud.running(state) as cloud:
            yield cloud
    finally:
        shutil.rmtree(state)


@pytest.fixture
def vsphere(
    vsphere_server: vsphere_cloud.Vsphere, monkeypatch: pytest.MonkeyPatch
) -> Iterator[vsphere_cloud.Vsphere]:
    made = list[VsphereSessions]()
    begin = VsphereSessions.__init__

    def noted(sessions: VsphereSessions) -> None:
        begin(sessions)
        made.append(sessions)

    monkeypatch.setattr(VsphereSessions, "__init__", noted)
    vsphere_server.fresh()
    yield vsphere_server
    for sessions in made:  # a provider of a command is closed with it; pyVmomi warns of others
        sessions.close()
    vsphere_server.fresh()

"""A matrix over a cloud whose API fails, hangs, answers twice, late or never, and throttles."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.conftest import Chaos
from tests.cloud import eager
from tests.cloud.emulator.aws import cloud as aws_cloud
from tests.cloud.emulator.aws import server as aws_server
from tests.cloud.emulator.azure import cloud as azure_cloud
from tests.cloud.emulator.azure import server as azure_server
from tests.cloud.emulator.gcp import cloud as gcp_cloud
from tests.cloud.emulator.gcp import server as gcp_server
from tests.cloud.rented import Aws
from tests.cloud.rented_azure import Azure
from tests.cloud.rented_gcp import Gcp
from tests.rigs.bad_api import DEEDS, bad_api

pytestmark = pytest.mark.slow


@pytest.fixture
def state() -> Iterator[Path]:
    """A directory on a disk, for direct I/O."""
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
        yield Path(directory)


@pytest.fixture
def aws(state: Path) -> Iterator[Aws]:
    cloud = aws_cloud.Cloud(state)
    with aws_server.running(cloud) as endpoint:
        yield Aws(cloud, endpoint)


@pytest.fixture
def azure(state: Path) -> Iterator[Azure]:
    cloud = azure_cloud.Cloud(state)
    with azure_server.running(cloud) as endpoint:
        yield Azure(cloud, endpoint)


@pytest.fixture
def gcp(state: Path) -> Iterator[Gcp]:
    cloud = gcp_cloud.Cloud(state)
    with gcp_server.running(cloud) as endpoint:
        yield Gcp(cloud, endpoint)


def measured(chaos: Chaos, env: dict[str, str], **fields: Any) -> None:
    """Run a matrix over that cloud; it must come to its rows, and nothing may be wrong with it."""
    chaos.user.extra_env |= env
    chaos.user.program = (eager.__file__,)
    done = chaos.user.run("matrix", "run", chaos.matrix("cloud", max_parallel=2, **fields))
    assert done.returncode == 0, done.stderr
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


def test_an_api_that_does_all_of_it_is_lived_with(chaos: Chaos, aws: Aws) -> None:
    with bad_api(aws.endpoint, share=0.15, seed=5) as api:
        fields = {"provider": "aws", "region": aws_server.REGION, "disk": "gp3", "size": 4}
        measured(chaos, aws.env, endpoint_url=api.endpoint, **fields)
    assert set(api.done) == set(DEEDS)
    assert aws.left() == []


def test_azure_throttles_breaks_down_and_loses_answers(chaos: Chaos, azure: Azure) -> None:
    azure.faults.throttle("*", times=5)
    azure.faults.break_down("*", times=3)
    for action in ("Microsoft.Compute/virtualMachines/write", "Microsoft.Compute/disks/write"):
        azure.faults.lose_answers(action)
    fields = {"provider": "azure", "region": azure_server.REGION, "disk": "Premium_LRS"}
    measured(chaos, azure.env, endpoint_url=azure.endpoint, size=4, **fields)
    assert azure_server.left(azure.cloud) == []


def test_google_throttles_breaks_down_and_loses_answers(chaos: Chaos, gcp: Gcp) -> None:
    gcp.faults.throttle("*", times=5)
    gcp.faults.unavailable("*", times=3)
    for method in ("instances.insert", "disks.insert"):
        gcp.faults.lose_answer(method)
    fields = {"provider": "gcp", "region": gcp_server.REGION, "disk": "pd-ssd", "size": 10}
    measured(chaos, gcp.env, endpoint_url=gcp.endpoint, project=gcp.cloud.project, **fields)
    assert gcp_server.left(gcp.cloud) == []

"""A matrix over each cloud whose API fails, hangs, answers twice, late or never, and throttles.

The proxy does each of these to calls that look and to calls that change something. Printed for
each cloud (`pytest -rP`): what was done how often, and the books.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from emulators.aws import cloud as aws_cloud
from emulators.aws import server as aws_server
from emulators.azure import cloud as azure_cloud
from emulators.azure import server as azure_server
from emulators.gcp import cloud as gcp_cloud
from emulators.gcp import server as gcp_server
from emulators.vsphere import cloud as vsphere_cloud
from tests.cloud import eager
from tests.rigs import bad_api as bad
from tests.rigs.bad_api import DEEDS, bad_api
from tests.rigs.chaos import Chaos

CALL_S = 5
"""How long a call may take, so that the test need not wait for the user's minute."""


@dataclass(frozen=True)
class World:
    """A cloud, and who says what is still there."""

    endpoint: str
    env: dict[str, str]
    disk: dict[str, Any]
    left: Callable[[], list[str]]
    authority: dict[str, str] = field(default_factory=dict)


@contextmanager
def aws(state: Path) -> Iterator[World]:
    cloud = aws_cloud.Cloud(state)
    disk = {"region": aws_server.REGION, "disk": "gp3", "size": 4}
    with aws_server.running(cloud) as endpoint:
        env = aws_server.environment(cloud)
        yield World(endpoint, env, disk, lambda: aws_server.left(cloud))


@contextmanager
def azure(state: Path) -> Iterator[World]:
    cloud = azure_cloud.Cloud(state)
    disk = {"region": azure_server.REGION, "disk": "Premium_LRS", "size": 4}
    with azure_server.running(cloud) as endpoint:
        env = azure_server.environment(cloud, endpoint)
        yield World(endpoint, env, disk, lambda: azure_server.left(cloud))


@contextmanager
def gcp(state: Path) -> Iterator[World]:
    cloud = gcp_cloud.Cloud(state)
    where = {"region": gcp_server.REGION, "project": cloud.project}
    with gcp_server.running(cloud) as endpoint:
        env = gcp_server.environment(cloud)
        disk = {"disk": "pd-ssd", "size": 10}
        yield World(endpoint, env, where | disk, lambda: gcp_server.left(cloud))


@contextmanager
def vsphere(state: Path) -> Iterator[World]:
    with vsphere_cloud.running(state) as cloud:
        yield World(cloud.endpoint, cloud.env, {"datastore": "nvme", "size": 4}, cloud.left)


CLOUDS: dict[str, tuple[Callable[[Path], AbstractContextManager[World]], bad.Manner]] = {
    "aws": (aws, bad.AWS),
    "azure": (azure, bad.AZURE),
    "gcp": (gcp, bad.GCP),
    "vsphere": (vsphere, bad.VSPHERE),
}


@pytest.fixture
def state() -> Iterator[Path]:
    """A directory on a disk, for direct I/O."""
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
        yield Path(directory)


@pytest.mark.parametrize("name", CLOUDS)
def test_a_matrix_survives_a_cloud_api_that_fails_in_every_way(
    chaos: Chaos, state: Path, name: str
) -> None:
    """60 % of the changing calls to a cloud's API fail, hang, lose their answer, arrive twice or
    late, or are throttled: the matrix ends with every cell done once, and nothing is left
    rented."""
    serve, manner = CLOUDS[name]
    (state / "proxy").mkdir()
    with serve(state) as world, bad_api(world.endpoint, manner, state / "proxy", seed=5) as api:
        chaos.user.extra_env |= world.env | {eager.GIVES_UP: f"call_s={CALL_S} look_s=90"}
        fields = {"provider": name, "endpoint_url": api.endpoint} | world.disk
        if name == "azure":
            chaos.user.extra_env["AZURE_AUTHORITY_HOST"] = api.endpoint
            chaos.user.extra_env["REQUESTS_CA_BUNDLE"] = str(api.ca_file)
        if name == "vsphere":
            chaos.user.extra_env["VSPHERE_SERVER"] = api.endpoint
            fields["ca_file"] = str(api.ca_file)
        if name == "gcp":  # tokens go over plain HTTP only to whoever gave them
            key = state / "key.json"
            gcp_server.write_credentials(key, api.endpoint, "diskbench")
            chaos.user.extra_env["GOOGLE_APPLICATION_CREDENTIALS"] = str(key)
        chaos.user.program = (eager.__file__,)
        matrix = chaos.matrix("cloud", max_parallel=2, **fields)
        done = chaos.user.run("matrix", "run", matrix, timeout_s=300)
        for deed in DEEDS:
            looks, changes = (api.done[deed, kind] for kind in ("looks", "changes"))
            print(f"{deed:18}{looks:4} looks {changes:4} changes")
        assert done.returncode == 0, done.stderr
        books, left = chaos.books(), world.left()
    print(books.counts)
    assert (books.cells, books.done, books.wrong, left) == (2, 2, (), [])
    assert all(api.done[deed, "looks"] + api.done[deed, "changes"] for deed in DEEDS)

"""A matrix with `reuse_host` on the emulated AWS: one machine, a volume for each cell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cloud.rented import REGION, Aws
from tests.rigs.cli import Cli, a_user

pytestmark = pytest.mark.slow

EAGER = str(Path(__file__).with_name("eager.py"))
READ = "[read]\nfilename=data\nsize=1m\nrw=randread\nbs=4k\ndirect=1\ntime_based\nruntime=1\n"


@pytest.fixture
def user(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """A user of the emulated AWS, who must leave nothing in it."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    made = a_user(tmp_path)
    made.extra_env = aws.env
    made.program = (EAGER,)
    yield made
    assert aws.left() == []


def test_two_volumes_are_measured_on_one_instance(user: Cli, aws: Aws) -> None:
    (user.home / "mine.fio").write_text(READ)
    matrix = {
        "name": "shared",
        "reuse_host": True,
        "defaults": {
            "provider": "aws",
            "region": REGION,
            "instance_type": "m5.large",
            "endpoint_url": aws.endpoint,
            "profile": "./mine.fio",
        },
        "axes": {"volume": [{"disk": "gp2", "size": 1}, {"disk": "gp3", "size": 2}]},
    }
    (user.home / "shared.yaml").write_text(json.dumps(matrix))  # JSON is YAML
    done = user.run("matrix", "run", "./shared.yaml", timeout_s=300)
    assert done.returncode == 0, done.stderr
    runs = user.json("results", "list")["runs"]
    assert {run["disk_size_bytes"] for run in runs} == {1 << 30, 2 << 30}
    assert len({run["target_identity"] for run in runs}) == 2
    assert len({run["machine_lease"] for run in runs}) == 1
    assert len(aws.faults.calls("RunInstances")) == 1
    assert len(aws.faults.calls("CreateVolume")) == 2

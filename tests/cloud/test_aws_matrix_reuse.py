"""A matrix with `reuse_host` on the emulated AWS: one machine, a volume for each cell."""

from __future__ import annotations

import contextlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from emulators import guests
from tests.cloud.rented import REGION, Aws, until
from tests.contract.rented import AwsCloud
from tests.rigs.cli import Cli

from diskbench.model.rental import LeaseEnd
from diskbench.ports import ExtendsLeases
from diskbench.store.database import open_database
from diskbench.store.leases import extend_lease, load_lease
from diskbench.store.machines import list_machines
from diskbench.store.moments import iso
from diskbench.store.rows import load_plan
from diskbench.testing.rig import guest_of

pytestmark = pytest.mark.slow

EAGER = str(Path(__file__).with_name("eager.py"))
READ = "[read]\nfilename=data\nsize=1m\nrw=randread\nbs=4k\ndirect=1\ntime_based\nruntime=1\n"


def write_matrix(aws_user: Cli, aws: Aws, profile: str = READ) -> None:
    """Two volumes that share a machine: `shared.yaml`."""
    aws_user.program = (EAGER,)
    (aws_user.home / "mine.fio").write_text(profile)
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
    (aws_user.home / "shared.yaml").write_text(json.dumps(matrix))  # JSON is YAML


def test_two_volumes_are_measured_on_one_instance(aws_user: Cli, aws: Aws) -> None:
    write_matrix(aws_user, aws)
    done = aws_user.run("matrix", "run", "./shared.yaml", timeout_s=300)
    assert done.returncode == 0, done.stderr
    runs = aws_user.json("results", "list")["runs"]
    assert {run["disk_size_bytes"] for run in runs} == {1 << 30, 2 << 30}
    assert len({run["target_identity"] for run in runs}) == 2
    assert len({run["machine_lease"] for run in runs}) == 1
    assert len(aws.faults.calls("RunInstances")) == 1
    assert len(aws.faults.calls("CreateVolume")) == 2


def test_the_shared_machine_ends_later_everywhere_when_a_killed_matrix_is_resumed(
    aws_user: Cli, aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/rows.db"
    aws_user.extra_env = aws_user.extra_env | {"DISKBENCH_DATABASE_URL": url}
    write_matrix(aws_user, aws, READ.replace("runtime=1", "runtime=4"))
    controller = aws_user.start("matrix", "run", "./shared.yaml")
    try:
        until(lambda: any({"fio", "awk"} <= guests.programs(one) for one in guests.names()))
    finally:
        controller.kill()
        controller.communicate()
    cloud = AwsCloud(aws, monkeypatch, aws_user.home / ".local/share")
    database = open_database(url)
    (machine,) = list_machines(database)
    plan = load_plan(database, machine.trial_id)
    assert plan.acquired is not None
    assert isinstance(cloud.provider, ExtendsLeases)
    end = LeaseEnd(expires_at=float(int(time.time() + 900)), left_s=900)
    with contextlib.closing(guest_of(plan.acquired)) as guest:
        made = plan.acquired.made
        cloud.provider.extend(machine.lease_id, machine.rental.scope, end, guest, made)
    extend_lease(database, machine.lease_id, iso(datetime.fromtimestamp(end.expires_at, UTC)))
    assert cloud.ends(machine.lease_id) == {end.expires_at}

    resumed = aws_user.start("matrix", "resume", machine.campaign_id)
    try:
        until(lambda: row_end(database, machine.lease_id) > end.expires_at + 900)
        ends = cloud.ends(machine.lease_id)
        assert max(ends) - min(ends) <= 1, "every tag, and the guest"
        assert abs(max(ends) - row_end(database, machine.lease_id)) <= 1
    finally:
        _, told = resumed.communicate(timeout=200)
    assert resumed.returncode == 0, told
    runs = aws_user.json("results", "list")["runs"]
    assert [run["state"] for run in runs] == ["done", "done"]
    assert {run["machine_lease"] for run in runs} == {machine.lease_id}
    assert len(aws.faults.calls("RunInstances")) == 1


def row_end(database: Any, lease_id: str) -> float:
    lease = load_lease(database, lease_id)
    assert lease is not None
    assert lease.expires_at is not None
    return datetime.fromisoformat(lease.expires_at).timestamp()

"""A job file that names two devices, on two rented disks of each emulated cloud.

The SDKs over HTTP, sshd, the block devices and fio are real.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cloud import rented, rented_gcp
from tests.cloud.rented_azure import REGION as AZURE_REGION
from tests.rigs.cli import a_user, merged_rows

pytestmark = pytest.mark.slow

EAGER = str(Path(__file__).with_name("eager.py"))
JOB = """[global]
ioengine=libaio
direct=1
bs=256k
size=4m
rw=write
[one]
filename=/dev/sdb
[two]
filename=/dev/sdc
"""
Flags = Callable[[Any], Sequence[str]]
CLOUDS: dict[str, Flags] = {
    "aws": lambda aws: (
        *("--region", rented.REGION, "--endpoint-url", aws.endpoint),
        *("--disk", "gp3", "--size", "4"),
    ),
    "gcp": lambda gcp: (
        *("--region", rented_gcp.REGION, "--endpoint-url", gcp.endpoint),
        *("--disk", "pd-ssd", "--size", "20"),
    ),
    "azure": lambda azure: (
        *("--region", AZURE_REGION, "--endpoint-url", azure.endpoint),
        *("--disk", "Standard_LRS", "--size", "4"),
    ),
    "vsphere": lambda vsphere: (
        *("--ca-file", str(vsphere.simulator.ca_file)),
        *("--datastore", "nvme", "--size", "4"),
    ),
}


@pytest.mark.parametrize("name", CLOUDS)
def test_two_devices_are_two_rented_disks_which_are_given_back(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = request.getfixturevalue(name)
    for variable in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "CLOUDSDK_CONFIG", "AZURE_CA_FILE"):
        monkeypatch.delenv(variable, raising=False)
    user = a_user(tmp_path)
    user.extra_env, user.program = cloud.env, (EAGER,)
    profile = tmp_path / "mine.fio"
    profile.write_text(JOB)
    words = ("run", "--provider", name, *CLOUDS[name](cloud), "--profile", str(profile))
    done = user.run(*words, "--count", "2")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert "2 whole new disks" in said
    assert "striped" not in said
    (row,) = user.json("results", "list")["runs"]
    first, second = row["target_device"].split(", ")
    assert first != second
    for line in (f"filename=/dev/sdb → {first}", f"filename=/dev/sdc → {second}"):
        assert line in said
    (found,) = user.json("results", "show", row["run_id"])["runs"]
    (both,) = merged_rows(found)
    assert (found["state"], both["bytes"]) == ("done", 8 * 2**20)
    assert cloud.left() == []

    done = user.run(*words, "--count", "3")
    assert done.returncode == 2, done.stderr
    assert "has 3 disks" in " ".join(done.stderr.split())
    assert len(user.json("results", "list")["runs"]) == 1
    assert cloud.left() == []

"""`python -m emulators` ends with whoever started it, and leaves nothing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.cloud.rented import UBUNTU

ROOT = Path(__file__).parents[2]


@pytest.fixture
def state():
    made = Path(tempfile.mkdtemp(prefix="diskbench-test-emulator-", dir="/var/tmp"))
    yield made
    shutil.rmtree(made)


def start(state, *options):
    """An emulated AWS, and what it told when it was up. The others are served as it is, and their
    machines are the same guests."""
    process = subprocess.Popen(
        [sys.executable, "-m", "emulators", "aws", "--state", str(state), *options],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": "src"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, json.loads(process.stdout.readline())


AWS = """
import boto3, os, time
ec2, ssm = (boto3.client(name, endpoint_url=os.environ["ENDPOINT"]) for name in ("ec2", "ssm"))
image = ssm.get_parameter(Name=os.environ["IMAGE"])["Parameter"]["Value"]
tags = [{"Key": "diskbench-lease", "Value": "somebodys"}]
made = ec2.run_instances(
    ImageId=image, InstanceType="m5.large", MinCount=1, MaxCount=1,
    TagSpecifications=[
        {"ResourceType": kind, "Tags": tags} for kind in ("instance", "volume", "network-interface")
    ],
)
name = made["Instances"][0]["InstanceId"]
while "PublicIpAddress" not in ec2.describe_instances()["Reservations"][0]["Instances"][0]:
    time.sleep(0.1)
"""


def rent(told):
    """A running machine, by the environment that the emulator told."""
    env = os.environ | told["env"] | {"ENDPOINT": told["endpoint"], "IMAGE": UBUNTU}
    subprocess.run([sys.executable, "-c", AWS], env=env, check=True)


def left(state):
    """Machines in the lab below `state`, and processes that name it."""
    found = [str(path) for path in state.glob("lab/*/lease.json")]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(state / "lab") in words:
            found.append(words.decode())
    return found


def test_it_ends_when_its_input_does_and_takes_its_machines_along(state):
    process, told = start(state)
    rent(told)
    assert left(state) != []
    process.communicate()  # closes its input
    assert process.returncode == 0
    assert left(state) == []


def test_it_ends_when_its_time_is_up(state):
    process, told = start(state, "--limit-s", "0.1")
    assert told["endpoint"].startswith("http://127.0.0.1:")
    assert process.wait(timeout=240) == 0
    process.communicate()


def test_what_a_killed_one_left_goes_with_the_next(state):
    process, told = start(state)
    rent(told)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert left(state) != []
    other, _ = start(state)
    assert left(state) == []
    other.communicate()
    assert other.returncode == 0

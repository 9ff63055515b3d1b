"""What tests do with an emulated AWS, by plain boto3."""

import json
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from emulators.aws import server
from emulators.aws.rights import OWNER_KEY
from tests.rigs.waiting import until

REGION, ZONE = server.REGION, "us-east-1a"
UBUNTU = "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"


@dataclass(frozen=True)
class Emulated:
    """A running emulator."""

    cloud: Any
    endpoint: str
    clients: dict[Any, Any] = field(default_factory=dict, repr=False)
    """A client takes a quarter of a second to make."""

    @property
    def faults(self) -> Any:
        return self.cloud.faults


class Aws(Emulated):
    """A running emulator of AWS."""

    @property
    def env(self) -> dict[str, str]:
        return server.environment(self.cloud)

    def client(self, service: str = "ec2", *, region: str = REGION, key: str = OWNER_KEY) -> Any:
        """A client; by default of the account's owner, who may do everything and sees no lag."""
        import boto3
        from botocore.config import Config

        if (service, region, key) not in self.clients:
            once = Config(retries={"total_max_attempts": 1})
            who = {"aws_access_key_id": key, "aws_secret_access_key": server.SECRET}
            where = {"region_name": region, "endpoint_url": self.endpoint}
            made = boto3.client(service, config=once, **where, **who)
            self.clients[service, region, key] = made
        return self.clients[service, region, key]

    def left(self) -> list[str]:
        """Everything rented, and everything of it on this machine."""
        return server.left(self.cloud)


@dataclass(frozen=True)
class Keys:
    """A host key and a user key as diskbench makes them."""

    host_private: str
    host_public: str
    user_file: Path
    user_public: str

    @property
    def user_data(self) -> str:
        config = {
            "ssh_keys": {"ed25519_private": self.host_private, "ed25519_public": self.host_public},
            "ssh_authorized_keys": [self.user_public],
        }
        return "#cloud-config\n" + yaml.safe_dump(config)


def make_keys(directory: Path) -> Keys:
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name], check=True
        )
    return Keys(
        (directory / "host").read_text(),
        (directory / "host.pub").read_text().strip(),
        directory / "user",
        (directory / "user.pub").read_text().strip(),
    )


def ubuntu(aws: Aws) -> str:
    return str(aws.client("ssm").get_parameter(Name=UBUNTU)["Parameter"]["Value"])


def launch(aws: Aws, instance_type: str = "m5.large", **more: Any) -> str:
    """An instance on its way; its id."""
    more.setdefault("ImageId", ubuntu(aws))
    made = aws.client().run_instances(InstanceType=instance_type, MinCount=1, MaxCount=1, **more)
    return str(made["Instances"][0]["InstanceId"])


def described(aws: Aws, instance: str) -> Any:
    answer = aws.client().describe_instances(InstanceIds=[instance])
    return answer["Reservations"][0]["Instances"][0]


def state(aws: Aws, instance: str) -> str:
    return str(described(aws, instance)["State"]["Name"])


def up(aws: Aws, instance: str) -> dict[str, Any]:
    """Wait until it runs."""
    until(lambda: state(aws, instance) == "running")
    return described(aws, instance)


def volume(aws: Aws, kind: str = "gp3", size: int = 4, *, zone: str = ZONE, **more: Any) -> str:
    """An available volume; its id."""
    made = aws.client().create_volume(AvailabilityZone=zone, VolumeType=kind, Size=size, **more)
    name: str = made["VolumeId"]
    until(lambda: volume_state(aws, name) == "available")
    return name


def volume_state(aws: Aws, name: str) -> str:
    return str(aws.client().describe_volumes(VolumeIds=[name])["Volumes"][0]["State"])


def attachment_state(aws: Aws, name: str) -> str | None:
    found = aws.client().describe_volumes(VolumeIds=[name])["Volumes"][0]["Attachments"]
    return found[0]["State"] if found else None


def attach(aws: Aws, name: str, instance: str, device: str = "/dev/sdf") -> None:
    aws.client().attach_volume(VolumeId=name, InstanceId=instance, Device=device)
    until(lambda: attachment_state(aws, name) == "attached")


@dataclass(frozen=True)
class Login:
    """A user with a key, who trusts one host key only."""

    aws: Aws
    user: str
    address: str
    keys: Keys

    def run(self, script: str) -> str:
        """What `script` prints there; it must end well."""
        done = self.try_run(script)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def try_run(self, script: str) -> subprocess.CompletedProcess[str]:
        known = self.keys.user_file.with_name("known_hosts")
        known.write_text(f"{self.address} {self.keys.host_public}\n")
        options = (
            f"StrictHostKeyChecking=yes UserKnownHostsFile={known} IdentitiesOnly=yes "
            f"IdentityFile={self.keys.user_file} GlobalKnownHostsFile=/dev/null "
            "IdentityAgent=none BatchMode=yes"
        )
        flags = [word for option in options.split() for word in ("-o", option)]
        config = ["-F", str(self.aws.cloud.ssh_config)]
        command = ["ssh", *config, *flags, f"{self.user}@{self.address}", script]
        return subprocess.run(command, capture_output=True, text=True, timeout=240)

    def fio(self, device: str, *options: str) -> Any:
        """One second of fio on a device; its first job."""
        argv = (
            f"sudo fio --name=t --filename={device} --direct=1 --ioengine=libaio --iodepth=32 "
            "--rw=randread --bs=4k --time_based --runtime=1 --output-format=json "
            + " ".join(options)
        )
        printed = self.run(f"cd /tmp && {argv}")
        return json.loads(printed[printed.index("{") :])["jobs"][0]


@contextmanager
def refused(code: str, status: int = 400) -> Any:
    """The block ends with AWS's error of that code and HTTP status."""
    from botocore.exceptions import ClientError

    with pytest.raises(ClientError) as caught:
        yield caught
    response = caught.value.response
    assert response["Error"]["Code"] == code, response["Error"]
    assert response["ResponseMetadata"]["HTTPStatusCode"] == status

"""What the tests of the AWS adapter rent with: a guest made up from moto's state, and the wire."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from tests.books import SHIPPED

from diskbench.errors import ConnectionLost, HostUnavailable
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, Claim, Rental, SshAccess
from diskbench.model.spec import Cell, TargetSpec
from diskbench.ports import Completed
from diskbench.providers.aws.client import AwsTiming
from diskbench.providers.aws.cloud import AWSProvider
from diskbench.testing.rig import RigOnlooker
from diskbench.units import GIB

REGION = "us-east-1"
QUICK = AwsTiming(
    first_poll_s=0.01, max_poll_s=0.05, instance_s=60, volume_s=60, attach_s=60, appear_s=60,
    ssh_s=60, ready_s=60, checks_s=60, terminate_s=60, delete_s=60, retry_s=60, look_s=60,
    first_retry_s=0.01, max_retry_s=0.05, nap_s=0.01, settle_s=0.1, settle_repeats=1,
)  # fmt: skip
"""Asks often, and has the patience that a busy machine needs."""
CLAIM = Claim(lease_id="01jlease", expires_at=4e9, owner="me@here", version="0.1.0")
GP2 = RentSpec(disk="gp2", size_gib=20)

Answer = dict[str, Any]
Spoil = Callable[["Wire", Callable[[], Answer]], Answer]


def refusal(code: str, message: str = "no", status: int = 400) -> ClientError:
    """An error as AWS answers it."""
    told = {"Code": code, "Message": message}
    answer = {"Error": told, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "Operation")  # type: ignore[arg-type]


@dataclass
class Wire:
    """Between the SDK and the emulator. `faults` hold, by operation, what happens to the next
    calls of it, in order; a call without one goes through."""

    calls: list[tuple[str, Answer]] = field(default_factory=list)
    faults: dict[str, Iterator[Exception | Spoil]] = field(default_factory=dict)

    def install(self, monkeypatch) -> None:
        genuine = BaseClient._make_api_call

        def call(client, operation: str, request: Answer) -> Answer:
            self.calls.append((operation, request))
            fault = next(self.faults.get(operation, iter(())), None)
            if isinstance(fault, Exception):
                raise fault
            through = functools.partial(genuine, client, operation, request)
            return fault(self, through) if fault else through()

        monkeypatch.setattr(BaseClient, "_make_api_call", call)

    def spoil(self, operation: str, *faults: Exception | Spoil) -> None:
        self.faults[operation] = itertools.chain(self.faults.get(operation, ()), faults)

    def always(self, operation: str, fault: Exception | Spoil) -> None:
        self.faults[operation] = itertools.repeat(fault)

    def requests(self, operation: str) -> list[Answer]:
        return [request for name, request in self.calls if name == operation]


def changed(change: Callable[[Answer], None]) -> Spoil:
    """The genuine answer with something else in it."""

    def spoil(_: Wire, call: Callable[[], Answer]) -> Answer:
        answer = call()
        change(answer)
        return answer

    return spoil


@dataclass
class Guest:
    """The machine's inside, as moto's attachments have it. `lines` are disks that are there too;
    `boot` is what it says of its preparation."""

    cloud: Cloud
    name: str = "guest"
    xen: bool = False
    refusals: int = 0
    lines: list[str] = field(default_factory=lambda: [ROOT])
    boot: str = "ready"
    lies: Callable[[str], str] = str
    before: str | None = None
    closed: int = 0
    broken: int = 0

    def connect(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise HostUnavailable("cannot connect to guest: refused")

    def run(self, script: str, **_: Any) -> Completed:
        if self.broken:
            self.broken -= 1
            raise ConnectionLost("the connection broke")
        if script.endswith(" ready"):  # said_of_guest
            return Completed(0, f"{self.boot}\n".encode(), b"")
        listed = self.lies("\n".join([*self.lines, *self._attached()]))
        if not script.endswith((" before attached", " before ''")):  # said_of_guest
            return Completed(0, listed.encode(), b"")
        if self.before is None and script.endswith(" attached"):
            return Completed(3, b"", b"")
        self.before = self.before if self.before is not None else f"written\n{listed}"
        return Completed(0, self.before.encode(), b"")

    def _attached(self) -> Iterator[str]:
        for index, volume in enumerate(self.cloud.volumes()):
            for held in volume["Attachments"]:
                letter = held["Device"].removeprefix("/dev/sd")
                if not held["Device"].startswith("/dev/sd"):
                    continue
                serial = volume["VolumeId"].replace("-", "")
                node = f"/dev/xvd{letter}" if self.xen else f"/dev/nvme{index + 1}n1"
                nvme = f"{serial}\t{serial}\tAmazon Elastic Block Store"
                rest = f"device/vbd/{index}\t\t" if self.xen else nvme
                yield f"disk\t{node}\t259:{index + 1}\t{volume['Size'] * GIB // 512}\t{rest}"

    def close(self) -> None:
        self.closed += 1


ROOT = "disk\t/dev/nvme0n1\t259:0\t31457280\tvol0000\tvol0000\tAmazon Elastic Block Store"


class Watch(RigOnlooker):
    """Looks on, and may ask to stop at a note."""

    def __init__(self, guest: Guest) -> None:
        super().__init__()
        self.guest = guest
        self.stop_at: str | None = None

    def stopping(self) -> bool:
        return self.stop_at is not None and any(self.stop_at in note for note in self.notes)

    def host(self, access: SshAccess, address: str) -> Any:
        assert access.host_key.startswith("ssh-ed25519 ")
        self.guest.name = address
        return self.guest


def cell(spec: RentSpec = GP2, **more: Any) -> Cell:
    rent = RentSpec(**(spec.model_dump(exclude_defaults=True) | more))
    target = TargetSpec(kind="device", path="")
    return Cell(provider="aws", target=target, rent=rent, profile="quick")


class Cloud:
    """One emulated AWS, and a provider that rents there."""

    def __init__(self, url: str, wire: Wire) -> None:
        self.url = url
        self.wire = wire
        self.provider = AWSProvider(QUICK, ask_caller=lambda: "203.0.113.7/32")
        self.guest = Guest(self)
        self.watch = Watch(self.guest)

    def client(self, service: str = "ec2", region: str = REGION) -> Any:
        return boto3.client(service, region_name=region, endpoint_url=self.url)  # type: ignore[call-overload]

    def impatient(self, *limits: str) -> None:
        """Give some waits up after a moment."""
        timing = dataclasses.replace(self.provider.timing, **dict.fromkeys(limits, 0.2))
        self.provider = AWSProvider(timing, self.provider.ask_caller)

    def resolve(self, spec: RentSpec = GP2, **more: Any) -> Rental:
        return self.provider.resolve(cell(spec, endpoint_url=self.url, **more), SHIPPED)

    def acquire(self, spec: RentSpec = GP2, **more: Any) -> Acquired:
        return self.acquire_of(self.resolve(spec, **more))

    def acquire_of(self, rental: Rental, claim: Claim = CLAIM) -> Acquired:
        return self.provider.acquire(claim, rental, self.watch)

    def instances(self) -> list[Answer]:
        held = self.client().describe_instances()["Reservations"]
        return [item for one in held for item in one["Instances"]]

    def live(self) -> list[Answer]:
        return [i for i in self.instances() if i["State"]["Name"] != "terminated"]

    def volumes(self) -> list[Answer]:
        return list(self.client().describe_volumes()["Volumes"])

    def left(self) -> list[str]:
        """All that a lease may leave, by listing."""
        ec2 = self.client()
        groups = ec2.describe_security_groups()["SecurityGroups"]
        return [
            *(i["InstanceId"] for i in self.live()),
            *(v["VolumeId"] for v in self.volumes()),
            *(g["GroupName"] for g in groups if g["GroupName"] != "default"),
            *(k["KeyName"] for k in ec2.describe_key_pairs()["KeyPairs"]),
        ]

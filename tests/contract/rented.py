"""The providers that the contract is held against, each with the powers its tests need."""

import json
import subprocess

from emulators import guests
from tests.cloud.eager import AWS
from tests.cloud.rented import REGION

from diskbench.model.options import RentSpec
from diskbench.ports import Renter
from diskbench.providers.aws.cloud import AWSProvider
from diskbench.providers.fake import cloud as fake
from diskbench.providers.lab import devices, machines, places
from diskbench.providers.lab.build import LabRecord
from diskbench.providers.lab.cloud import LabProvider
from diskbench.providers.lab.processes import find_groups
from diskbench.providers.lab.request import LabRequest


class CloudRig:
    """What the rigs of clouds share."""

    leftover = "diskbench-{}-forgotten"

    def make(self, lease_id, name):
        """Make a thing with the lease's tags; its kind and id."""
        raise NotImplementedError

    def add_leftover(self, lease_id):
        self.make(lease_id, self.leftover.format(lease_id))

    def add_copy(self, lease_id):
        return self.make(lease_id, "prod-database")


def enter(cloud, monkeypatch, home):
    """Be a user of an emulated cloud, whose keys are below `home`."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**cloud.env, "XDG_DATA_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)


class FakeCloud(CloudRig):
    spec = RentSpec(disk="plain", size_gib=1)
    wrong = (
        RentSpec(),
        RentSpec(disk="plane", size_gib=1),
        RentSpec(disk="plain", size_gib=1, zone="fake-9"),
        RentSpec(disk="plain", size_gib=1, count=2),
    )

    def __init__(self, tmp_path, monkeypatch):
        self.directory = tmp_path / "fake cloud"
        monkeypatch.setenv(fake.VARIABLE, str(self.directory))
        self.provider: Renter = fake.FakeProvider()

    def count(self, lease_id):
        return len(list((self.directory / "resources").glob(f"*{lease_id}*")))

    def ends(self, lease_id):
        files = (self.directory / "resources").glob(f"*{lease_id}*/tags.json")
        return {json.loads(one.read_text())["diskbench-expires"] for one in files}

    def make(self, lease_id, name):
        made = self.directory / "resources" / name
        made.mkdir(parents=True)
        tags = {"diskbench-lease": lease_id, "diskbench-expires": 1.0}
        (made / "tags.json").write_text(json.dumps(tags))
        return name

    def is_there(self, copy):
        return (self.directory / "resources" / copy).exists()


class LabCloud:
    spec = RentSpec(disk="gp2", size_gib=1)
    wrong = (
        RentSpec(),
        RentSpec(disk="gp2"),
        RentSpec(disk="gp22", size_gib=20),
        RentSpec(disk="gp2", size_gib=20_000),
        RentSpec(disk="gp2", size_gib=20, iops=100),
        RentSpec(disk="gp2", size_gib=20, region="us-east-1"),
        RentSpec(disk="gp2", size_gib=20, count=99),
    )

    def __init__(self, directory, monkeypatch):
        self.directory = directory
        monkeypatch.setenv(places.VARIABLE, str(directory))
        self.provider: Renter = LabProvider()

    def count(self, lease_id):
        place = self.directory / lease_id
        images = [loop for loop in devices.find(self.directory) if loop.image.is_relative_to(place)]
        groups = [one for one in find_groups().lease_ids() if one == lease_id]
        return len(images) + len(groups) + place.exists()

    def ends(self, lease_id):
        found = machines.leases()[lease_id]
        return set() if found is None else {found}

    def add_leftover(self, lease_id):
        disks = self.directory / lease_id / "disks"
        disks.mkdir(parents=True, exist_ok=True)
        with (disks / "forgotten.img").open("wb") as image:
            image.truncate(2**20)
        subprocess.run(["losetup", "-f", disks / "forgotten.img"], check=True)

    def add_copy(self, lease_id):
        made = self.directory / "prod-database"
        made.mkdir(parents=True)
        record = LabRecord(lease_id=lease_id, request=LabRequest(expires_at=1.0), made_at=1.0)
        (made / "lease.json").write_text(record.model_dump_json())
        (made / "table.db").write_text("precious")
        return f"directory {made.name}"

    def is_there(self, copy):
        return (self.directory / copy.partition(" ")[2] / "table.db").exists()

    def tear_down(self):
        for lease_id in machines.leases():
            machines.release(lease_id)


class AwsCloud(CloudRig):
    wrong = (
        RentSpec(),
        RentSpec(disk="gp22", size_gib=20),
        RentSpec(disk="gp2", size_gib=20_000),
        RentSpec(disk="gp2", size_gib=20, iops=100),
        RentSpec(disk="io1", size_gib=4, iops=5000),
        RentSpec(disk="gp3", size_gib=20, iops=3000, throughput_mib_per_s=900),
        RentSpec(disk="gp2", size_gib=20, count=99),
    )

    def __init__(self, aws, monkeypatch, home):
        self.aws = aws
        enter(aws, monkeypatch, home)
        self.provider: Renter = AWSProvider(timing=AWS)
        self.spec = RentSpec(disk="gp2", size_gib=1, region=REGION, endpoint_url=aws.endpoint)

    def _things(self, lease_id):
        ec2 = self.aws.client()
        tagged = [{"Name": "tag:diskbench-lease", "Values": [lease_id]}]
        groups = ec2.describe_instances(Filters=tagged)["Reservations"]
        machines = [one for group in groups for one in group["Instances"]]
        return [
            *(one for one in machines if one["State"]["Name"] != "terminated"),
            *ec2.describe_volumes(Filters=tagged)["Volumes"],
            *ec2.describe_key_pairs(Filters=tagged)["KeyPairs"],
            *ec2.describe_security_groups(Filters=tagged)["SecurityGroups"],
            *ec2.describe_network_interfaces(Filters=tagged)["NetworkInterfaces"],
        ]

    def count(self, lease_id):
        return len(self._things(lease_id))

    def ends(self, lease_id):
        carried = [
            {tag["Key"]: tag["Value"] for tag in one.get("Tags") or one["TagSet"]}
            for one in self._things(lease_id)
        ]
        assert len(carried) > 4
        return {float(tags["diskbench-expires"]) for tags in carried} | switches()

    def is_there(self, copy):
        volumes = self.aws.client().describe_volumes()["Volumes"]
        return copy.partition(" ")[2] in {one["VolumeId"] for one in volumes}

    def make(self, lease_id, name):
        tags = {"diskbench-lease": lease_id, "diskbench-expires": "1", "Name": name}
        carried = [{"Key": key, "Value": value} for key, value in tags.items()]
        kind = [{"ResourceType": "volume", "Tags": carried}]
        asked = {"AvailabilityZone": f"{REGION}a", "Size": 1, "VolumeType": "gp2"}
        made = self.aws.client().create_volume(**asked, TagSpecifications=kind)
        return f"volume {made['VolumeId']}"


def switches():
    """When the emulated machines switch themselves off, as their guests know it."""
    found = {guests.ends_at(name) for name in guests.names()}
    assert None not in found
    return {one for one in found if one is not None}

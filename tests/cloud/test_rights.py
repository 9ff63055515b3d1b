"""The rights that `diskbench doctor --print-policy CLOUD` prints: with exactly these a lease goes
from the first question to the last release, and without any one of them something is refused that
names it. On AWS, whose service reference says what a request demands of what it touches, everything
is done once, and each right is taken away from the policy in thought."""

import copy
import dataclasses
import json
import os
import re
import time
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from emulators.aws.policies import allows
from emulators.azure.rights import allows as azure_allows
from emulators.gcp.cloud import Snapshot
from emulators.gcp.server import ACCOUNT
from tests.cloud import rented_azure
from tests.cloud.azure_rig import PREMIUM, Rig
from tests.cloud.conftest import of, renew, table
from tests.cloud.eager import GCP
from tests.cloud.rented import REGION
from tests.cloud.test_vsphere_policies import User as VsphereUser
from tests.contract.clouds import GcpCloud
from tests.contract.rented import AwsCloud

from diskbench.catalog.books import Books
from diskbench.errors import AccessDenied, DiskbenchError, UnknownName
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, LeaseEnd, Scope
from diskbench.providers.aws.client import AwsSessions
from diskbench.providers.aws.doctor import policy
from diskbench.providers.azure import attach, provision
from diskbench.providers.azure import doctor as azure
from diskbench.providers.azure.client import MACHINES
from diskbench.providers.gcp.client import GcpSessions, change
from diskbench.providers.gcp.doctor import OPTIONAL, permissions
from diskbench.providers.gcp.leases import sent
from diskbench.providers.gcp.plugin import GcpOptions
from diskbench.providers.vsphere.doctor import privileges
from diskbench.testing.rig import RigOnlooker, acquire, cell, claim, guest_of, resolved, scope_of

NAMED = "projects/ubuntu-os-cloud/global/images/ubuntu-2404-noble-amd64-v20261101"


class GcpUser(GcpCloud):
    """One who has the role, or all of it but one right."""

    @property
    def scope(self):
        return Scope(provider="gcp", account=self.gcp.cloud.project, endpoint=self.gcp.endpoint)

    @property
    def compute(self):
        return GcpSessions().of_scope(self.scope, GCP)

    def resolved(self, **more):
        typed = self.spec.model_dump(exclude_defaults=True) | {"instance_type": "n2-standard-2"}
        return self.provider.resolve(cell(self, RentSpec(**typed | more)), Books())

    def unknown_region(self):
        with pytest.raises(UnknownName):
            self.resolved(region="mars-north1")

    def placed(self):
        """None can be made here, so that it is refused, but for another reason."""
        with pytest.raises(DiskbenchError) as refused:
            self.provider.acquire(claim("one"), self.resolved(placement="close"), RigOnlooker())
        if isinstance(refused.value, AccessDenied):
            raise refused.value

    def copied(self):
        name = f"projects/{self.gcp.cloud.project}/global/snapshots/filled"
        self.gcp.cloud.snapshots[name] = Snapshot(10)
        self.rented(snapshot="filled")

    def rented(self, **more):
        lease = str(uuid4())  # a second one of that name would be answered as the first was
        self.provider.acquire(claim(lease), self.resolved(**more), RigOnlooker())
        self.provider.release(lease, self.scope)

    def filled(self):
        lease, watch = str(uuid4()), RigOnlooker()
        rental = self.resolved()

        def fill():
            self.provider.acquire(claim(lease), rental, watch)

        self.provider.snapshot(claim(lease), rental, fill, watch)
        self.provider.release(lease, self.scope)

    def repaired(self):
        """As after an attachment of an earlier process that did not ask for autoDelete."""
        request = {
            "zone": "us-central1-a", "instance": "diskbench-one-machine", "autoDelete": True,
            "deviceName": "diskbench-0", "requestId": str(uuid4()),
        }  # fmt: skip
        try:
            change(self.compute, "instances", "setDiskAutoDelete", request, "disk", 30)
        except AccessDenied:
            raise
        except DiskbenchError:
            pass  # it is not there

    def lease(self):
        """From the first question to the last release, with another disk between."""
        self.provider.acquire(claim("one"), self.resolved(), RigOnlooker())
        self.provider.swap(claim("one", turn=2), self.resolved(size_gib=11), RigOnlooker())
        self.provider.release("one", self.scope)

    def grant(self, lacking):
        self.gcp.cloud.roles[ACCOUNT] = frozenset(permissions()) - {lacking}

    def needs(self, right):
        ELSE.get(right, GcpUser.lease)(self)

    def whole(self):
        assert self.gcp.cloud.roles == {ACCOUNT: frozenset(permissions())}
        self.lease()
        for more in ELSE.values():
            more(self)
        self.provider.release("one", self.scope)


ELSE = {
    "compute.images.get": lambda user: user.resolved(image=NAMED),
    "compute.regions.list": GcpUser.unknown_region,
    "compute.resourcePolicies.use": GcpUser.placed,
    "compute.instances.setDiskAutoDelete": GcpUser.repaired,
    "compute.globalOperations.list": lambda user: sent(user.compute, "one"),
    "compute.regionOperations.get": lambda user: user.rented(disk="pd-ssd-regional"),
    "compute.disks.createSnapshot": GcpUser.filled,
    "compute.snapshots.create": GcpUser.filled,
    "compute.snapshots.delete": GcpUser.filled,
    "compute.snapshots.get": GcpUser.copied,
    "compute.snapshots.setLabels": GcpUser.filled,
    "compute.snapshots.useReadOnly": GcpUser.copied,
}
"""Rights that not every lease needs, and what needs them."""

ROLE = tuple(json.loads(azure.policy())["Actions"])
IMAGE = "/subscriptions/00000000-0000-0000-0000-00000d15c0de/resourceGroups/golden/providers"
OWN_IMAGES = (
    f"{IMAGE}/Microsoft.Compute/images/mine",
    f"{IMAGE}/Microsoft.Compute/galleries/shared/images/mine/versions/1.0.0",
)
KEY = f"{IMAGE}/Microsoft.Compute/diskEncryptionSets/mine"
SNAPSHOT = f"{IMAGE}/Microsoft.Compute/snapshots/mine"
NOT_DEMANDED = {
    "Microsoft.Network/locations/operationResults/read":
        "of an operation that answers with a location alone; none of these does in the emulator",
}  # fmt: skip
GOES_ON = {
    "Microsoft.DevTestLab/schedules/write": "the run goes on without the schedule, and says so",
    **dict.fromkeys(azure.DOCTORS, "the doctor warns"),
}


class AzureUser(Rig):
    """One who has the role, or all of it but one right. What a request demands is in
    emulators/azure/rights.py; it is refused as Resource Manager does."""

    def __init__(self, cloud, monkeypatch, home):
        for name, value in cloud.env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("XDG_DATA_HOME", str(home))
        super().__init__(cloud)

    def grant(self, lacking):
        rest = [one for one in ROLE if one != lacking]
        assert not lacking or not azure_allows(rest, lacking)
        self.faults.grant(rest)

    def needs(self, _right=""):
        """Every call of a rental and its end, with a machine that never answers SSH: an image of
        each kind, a disk attached and swapped, a zone without capacity, a later end."""
        for image in (*OWN_IMAGES, "Contoso:appliance:basic:latest"):
            self.resolve(image=image)
        held = {"diskSizeGB": 4, "uniqueId": "none"}
        common = {"name": "mine", "location": rented_azure.REGION, "properties": held}
        for identity in (KEY, SNAPSHOT):  # a disk encryption set and a snapshot of the user's
            kind = "/".join(identity.split("/")[-3:-1])
            self.cloud.save({**common, "id": identity, "type": kind})
        rental = self.resolve(kms_key=KEY, snapshot=SNAPSHOT)
        order = self.provider._order(self.claim(), rental, self.watch)
        self.faults.capacity(zone="1")
        made = self.provisioned(rental)
        for lun, disk in enumerate(made.disks):
            attach._attach_one(order, disk, lun)
        provision.snapshot(order, lambda: None)
        self.provider.found(rental.scope)
        self.extend(7200)
        provision.delete(order.edge, order.path(MACHINES, "machine"))
        self.provider.release("one", rental.scope)

    def whole(self):
        self.grant("")
        rental, acquired = self.resolve(), self.acquire(spec=PREMIUM)
        now = datetime.now(UTC)
        assert self.provider.metrics(rental, acquired, now, now)
        self.extend(7200)
        self.release()


class Vsphere(VsphereUser):
    """One who has the privileges, or all of them but one on a kind of object."""

    def grant(self, lacking):
        kind, _, right = lacking.rpartition(" ")
        rest = [one for one in privileges()[kind] if one != right]
        self.vsphere.grant({**privileges(), kind: rest})

    def needs(self, _right):
        self.lease()

    def whole(self):
        self.lease()


USERS = {"azure": AzureUser, "gcp": GcpUser, "vsphere": Vsphere}
NEEDED = {
    "azure": [one for one in ROLE if one not in {*NOT_DEMANDED, *GOES_ON}],
    "gcp": [one for one in permissions() if one not in OPTIONAL],
    "vsphere": [
        f"{kind} {one}"
        for kind, names in privileges().items()
        for one in names
        if one != "StorageProfile.View"
    ],
}


@pytest.fixture
def user(emulated_cloud, tmp_path, monkeypatch):
    name, cloud = emulated_cloud
    return USERS[name](cloud, monkeypatch, tmp_path / "data")


@of(*USERS)
def test_a_whole_lease_passes_under_exactly_the_printed_rights(user, emulated_cloud):
    user.whole()
    assert emulated_cloud[1].left() == []


@table("right", {f"{cloud} {one}": one for cloud, rights in NEEDED.items() for one in rights})
def test_without_any_one_right_something_is_refused_that_names_it(user, right):
    user.grant(right)
    with pytest.raises(DiskbenchError) as refused:
        user.needs(right)
    name, said = right.split()[-1], f"{refused.value.message} {refused.value.advice}"
    assert re.search(rf"{re.escape(name)}(?!\w)", said, re.IGNORECASE)


@of("gcp")
def test_without_the_right_to_tunnel_the_machine_is_never_reached(user, monkeypatch):
    monkeypatch.setenv("PATH", f"{user.gcp.cloud.programs}{os.pathsep}{os.environ['PATH']}")
    rental = user.resolved(gcp=GcpOptions(iap=True))
    user.grant("iap.tunnelInstances.accessViaIAP")
    user.provider.timing = dataclasses.replace(GCP, ssh_s=2.0)
    with pytest.raises(DiskbenchError, match=r"not authorized|4033|took longer"):
        user.provider.acquire(claim("one"), rental, RigOnlooker())


@of("azure")
def test_every_right_of_the_role_is_demanded_and_no_other(user):
    user.grant("")
    user.needs()
    scope, now = user.scope(), datetime.now(UTC)
    machine = {"resource_id": f"{IMAGE}/{MACHINES}/x", "volumes": []}
    gone = Acquired(address="192.0.2.1", size_bytes=1, emulated=True, facts=machine)
    with pytest.raises(DiskbenchError):  # its machine no longer exists
        user.provider.metrics(user.resolve(), gone, now, now)
    assert all(one.state == "ok" for one in user.provider.examine(scope))
    user.provider.quotas(scope)
    assert all(one.state != "problem" for one in user.provider.rehearse(user.resolve()))
    # The deaf machine has neither schedule nor cache; the run above has.
    demanded = {one.lower() for one in user.faults.demanded}
    wanted = {one.lower() for one in ROLE if one not in NOT_DEMANDED}
    assert demanded == wanted | {one.lower() for one in NOT_DEMANDED} & demanded


@table("right", {f"azure {right}": right for right in azure.DOCTORS})
def test_what_only_the_doctor_reads_is_missed_by_the_doctor_alone(user, right):
    user.grant(right)
    user.needs()
    scope = user.scope()
    states = [one.state for one in user.provider.examine(scope)]
    try:
        user.provider.quotas(scope)
    except AccessDenied as error:
        states.append(error.message)
    assert set(states) != {"ok"}
    assert scope.region == rented_azure.REGION


AWS_KEY = "arn:aws:kms:us-east-1:123456789012:key/1234"
LEASE = "one"
NEVER_SEEN = {
    ("UseRunInstances", "ec2:RunInstances", "arn:aws:ec2:*:*:placement-group/*"):
        "only with --placement",
    ("UseCreateVolume", "ec2:CreateVolume", "arn:aws:ec2:*:*:snapshot/*"):
        "only with --from-snapshot",
    ("UseRunInstances", "ec2:RunInstances", "arn:aws:ec2:*:*:snapshot/*"):
        "for images whose disks EC2 authorizes by their snapshots; the emulator's have none",
}  # fmt: skip


def every_right():
    """Statement, action and resource of everything that the policy allows."""
    return [
        (statement["Sid"], action, resource)
        for statement in json.loads(policy())["Statement"]
        for action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
    ]


def as_list(value):
    return [value] if isinstance(value, str) else value


def without(sid, action, resource):
    """The policy with one right taken away."""
    document = json.loads(policy())
    kept = []
    for statement in document["Statement"]:
        if statement["Sid"] != sid:
            kept.append(statement)
            continue
        others = [one for one in as_list(statement["Action"]) if one != action]
        rest = [one for one in as_list(statement["Resource"]) if one != resource]
        if others:
            kept.append({**statement, "Action": others})
        if rest:
            kept.append({**statement, "Action": action, "Resource": rest})
    return json.dumps({**document, "Statement": kept})


@pytest.fixture(scope="module")
def demanded(emulator, tmp_path_factory):
    """What everything that diskbench does on AWS demanded, under the printed policy; and nothing of
    it was refused."""
    _, aws_server = emulator
    renew("aws", aws_server)
    aws_server.cloud.encrypts_with = AWS_KEY
    with pytest.MonkeyPatch.context() as patched:
        rig = AwsCloud(aws_server, patched, tmp_path_factory.mktemp("data"))
        rig.spec = rig.spec.model_copy(update={"spot": True, "zone": f"{REGION}a"})
        scope = scope_of(rig)
        acquired = acquire(rig, LEASE)
        provider = rig.provider
        end = LeaseEnd(expires_at=4.05e9, left_s=4.05e9 - time.time())
        guest = guest_of(acquired)
        provider.extend(LEASE, scope, end, guest, acquired.made)
        guest.close()
        more = {"snapshot_of_fill": True, "aws": {"fast_snapshot_restore": True}}
        filled = type(rig.spec).model_validate({**rig.spec.model_dump(), **more})
        provider.snapshot(claim(LEASE), resolved(rig, filled), lambda: None, RigOnlooker())
        now = datetime.now(UTC)
        provider.metrics(resolved(rig), acquired, now, now)
        larger = resolved(rig, rig.spec.model_copy(update={"size_gib": 2}))
        swapped = provider.swap(claim(LEASE, turn=2), larger, RigOnlooker())
        leave_what_no_run_makes(aws_server, acquired)
        looked(rig, scope)
        provider.release(LEASE, scope, made=swapped.made)
        provider.release(LEASE, scope, copied=copies(aws_server))
        assert rig.count(LEASE) == 0
        demanded_there = copy.copy(aws_server.cloud.demanded)
        aws_server.cloud.policy = without("MakeCreateVolume", "ec2:CreateVolume",
                                          "arn:aws:ec2:*:*:volume/*")  # fmt: skip
        with pytest.raises(AccessDenied, match="not allowed to do ec2:CreateVolume"):
            acquire(rig, "two")
        provider.release("two", scope)
        decoded = [one for one in aws_server.cloud.demanded if one.action.startswith("sts:")]
    yield [*demanded_there, *decoded]
    renew("aws", aws_server)


def tags(kind, name):
    values = {"diskbench-lease": LEASE, "diskbench-expires": "1", "Name": name}
    return [{"ResourceType": kind, "Tags": [{"Key": k, "Value": v} for k, v in values.items()]}]


def leave_what_no_run_makes(aws, acquired):
    """An address and an interface named for the lease, and copies of its tags."""
    ec2, name = aws.client(), f"diskbench-{LEASE}-left"
    ec2.allocate_address(Domain="vpc", TagSpecifications=tags("elastic-ip", name))
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    ec2.create_network_interface(SubnetId=subnet, TagSpecifications=tags("network-interface", name))
    somebodys = ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1)["VolumeId"]
    ec2.create_snapshot(VolumeId=somebodys, TagSpecifications=tags("snapshot", "copy"))
    ec2.delete_volume(VolumeId=somebodys)
    instance = str(acquired.facts["instance_id"])
    ec2.create_image(
        InstanceId=instance, Name="copy", NoReboot=True, TagSpecifications=tags("image", "copy")
    )


def copies(aws):
    ec2 = aws.client()
    tagged = [{"Name": "tag:diskbench-lease", "Values": [LEASE]}]
    images = ec2.describe_images(Owners=["self"], Filters=tagged)["Images"]
    snapshots = ec2.describe_snapshots(OwnerIds=["self"], Filters=tagged)["Snapshots"]
    return [
        *(f"image {one['ImageId']}" for one in images),
        *(f"snapshot {one['SnapshotId']}" for one in snapshots),
    ]


def looked(rig, scope):
    """What doctor, gc and the catalogue ask."""
    provider = rig.provider
    findings = provider.examine(scope)
    assert [one for one in findings if one.state == "problem"] == []
    rehearsed = provider.rehearse(resolved(rig))
    assert [one for one in rehearsed if one.state == "problem"] == []
    provider.quotas(scope)
    provider.found(scope)
    provider.regions(scope.model_copy(update={"region": None}))
    aws = AwsSessions().at(None, REGION, rig.aws.endpoint)
    aws.edge("pricing", provider.timing).call("get_products", {"ServiceCode": "AmazonEC2"})


@of("aws")
def test_all_that_diskbench_does_is_allowed(demanded):
    assert len(demanded) > 100
    assert [one for one in demanded if not allows(policy(), one)] == []


@table("sid, action, resource", {f"aws {' '.join(one)}": one for one in every_right()})
def test_no_right_can_be_taken_away(demanded, sid, action, resource):
    missed = [one for one in demanded if not allows(without(sid, action, resource), one)]
    if (sid, action, resource) in NEVER_SEEN:
        assert missed == []
        return
    assert missed, f"nothing demanded {action} on {resource}"
    assert {one.action for one in missed} == {action}


@of("aws")
def test_a_key_that_may_not_be_used_is_told_as_the_reason(emulated_cloud, tmp_path, monkeypatch):
    _, aws = emulated_cloud
    rig = AwsCloud(aws, monkeypatch, tmp_path)
    aws.cloud.encrypts_with = AWS_KEY
    aws.cloud.policy = without("LetTheMachineUseTheKey", "kms:CreateGrant", "*")
    with pytest.raises(DiskbenchError) as failed:
        acquire(rig, LEASE)
    assert "key" in str(failed.value)
    assert "somebody" not in str(failed.value)
    rig.provider.release(LEASE, scope_of(rig))
    assert rig.count(LEASE) == 0

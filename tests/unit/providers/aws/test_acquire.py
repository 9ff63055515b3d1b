"""Renting on AWS, against moto: what is made and how, and what happens when something goes wrong:
an error that says what was wrong, and a release after which nothing is left."""

import re

import pytest
from tests.unit.providers.aws.rig import CLAIM, ROOT, changed, refusal

from diskbench.errors import Interrupted, RentalFailed
from diskbench.providers.options import EmulationOptions
from diskbench.units import GIB

pytestmark = pytest.mark.slow  # each rents: some thirty calls, and an `ssh -G`


def fails(cloud, kind, says, *, impatient=None):
    """Acquire, which has to fail so; then release, after which nothing may be left."""
    rental = cloud.resolve()
    if impatient:
        cloud.impatient(impatient)
    with pytest.raises(kind, match=says) as failed:
        cloud.acquire_of(rental)
    cloud.wire.faults.clear()
    cloud.provider.release(CLAIM.lease_id, rental.scope)
    assert cloud.left() == []
    return failed.value


def in_state(**state):
    """The answer to DescribeInstances or DescribeVolumes with another state."""

    def change(answer):
        for held in answer.get("Reservations", []):
            for instance in held["Instances"]:
                instance["State"] = {"Name": state["name"]}
                if "code" in state:
                    instance["StateReason"] = {"Code": state["code"], "Message": state["why"]}
        for volume in answer.get("Volumes", []):
            volume["State"] = state["name"]

    return changed(change)


def test_a_volume_is_rented_attached_found_read_back_and_told_of_without_keys(cloud):
    rental = cloud.resolve(lab=EmulationOptions(time_scale=60))
    acquired = cloud.acquire_of(rental)
    (instance,) = cloud.live()
    data = next(v for v in cloud.volumes() if v["Size"] == 20)
    serial = data["VolumeId"].replace("-", "")
    assert acquired.address == instance["PublicIpAddress"]
    assert acquired.identities == (acquired.identity,) == (serial,)
    assert acquired.size_bytes == 20 * GIB
    assert (acquired.device, acquired.directory) == (acquired.devices[0], None)
    assert acquired.emulated
    facts = acquired.facts
    assert (facts["instance_id"], facts["image"]) == (instance["InstanceId"], instance["ImageId"])
    assert facts["zone_id"].startswith("use1-az")
    assert (facts["hypervisor"], facts["ebs"]["baseline_mb_per_s"]) == ("nitro", 195.3125)
    (volume,) = facts["volumes"]
    assert (volume["type"], volume["size_gib"], volume["attached_as"]) == ("gp2", 20, "/dev/sdf")
    assert cloud.guest.closed == 1
    told = acquired.model_dump_json() + "".join(cloud.watch.notes)
    for text in ("is starting: c6in.large in us-east-1a", "is being made: gp2", "answers at",
                 "is attached as /dev/sdf"):  # fmt: skip
        assert text in told
    for secret in ("PRIVATE", "cloud-config"):
        assert secret not in told
    (ingress,) = cloud.wire.requests("AuthorizeSecurityGroupIngress")
    assert "'CidrIp': '127.0.0.0/8'" in str(ingress), "only the caller's network gets in"
    for operation in ("RunInstances", "CreateVolume"):  # an emulated cloud is told how to behave
        tagged = cloud.wire.requests(operation)[0]["TagSpecifications"][0]["Tags"]
        assert {"Key": "diskbench-lab", "Value": "time_scale=60.0"} in tagged
    # A disk that was there before is never handed over.
    cloud.guest.before = f"disk\t{acquired.device}\t9:9\t1\t{serial}\t{serial}\tx"
    with pytest.raises(RentalFailed, match="existed before"):
        cloud.acquire_of(rental)


def test_a_try_that_was_cut_off_is_taken_up_where_it_stood(cloud):
    rental = cloud.resolve()
    for operation in ("CreateSecurityGroup", "RunInstances", "CreateVolume", "AttachVolume"):
        cloud.wire.spoil(operation, ZeroDivisionError())
        with pytest.raises(ZeroDivisionError):
            cloud.acquire_of(rental)
    cloud.acquire_of(rental)
    assert len(cloud.live()) == 1
    assert len(cloud.volumes()) == 2


def test_a_machine_that_ended_before_is_replaced_under_another_token(cloud):
    rental = cloud.resolve()
    first = cloud.acquire_of(rental)
    cloud.client().terminate_instances(InstanceIds=[first.facts["instance_id"]])
    cloud.guest.before = None
    second = cloud.acquire_of(rental)
    assert second.facts["instance_id"] != first.facts["instance_id"]
    one, two = cloud.wire.requests("RunInstances")
    assert one["ClientToken"] != two["ClientToken"]


def test_group_and_subnet_of_the_user_are_neither_made_nor_deleted(cloud):
    ec2 = cloud.client()
    group = ec2.describe_security_groups()["SecurityGroups"][0]["GroupId"]
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    rental = cloud.resolve(security_group=group, subnet=subnet)
    cloud.acquire_of(rental)
    (launch,) = cloud.wire.requests("RunInstances")
    (interface,) = launch["NetworkInterfaces"]
    assert (interface["Groups"], interface["SubnetId"]) == ([group], subnet)
    assert "AssociatePublicIpAddress" not in interface
    cloud.provider.release(CLAIM.lease_id, rental.scope)
    assert not cloud.wire.requests("CreateSecurityGroup")
    assert not cloud.wire.requests("DeleteSecurityGroup")
    assert ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"]


def test_without_capacity_in_the_first_zone_the_second_is_tried(cloud):
    cloud.wire.spoil("RunInstances", refusal("InsufficientInstanceCapacity", "none", 500))
    acquired = cloud.acquire()
    assert acquired.facts["zone"] == acquired.facts["volumes"][0]["zone"] == "us-east-1b"
    assert any(note.startswith("no capacity in us-east-1a; trying ") for note in cloud.watch.notes)
    one, two = cloud.wire.requests("RunInstances")
    assert one["ClientToken"] != two["ClientToken"]


def test_capacity_that_ends_while_starting_moves_on_too(cloud):
    code = "Server.InsufficientInstanceCapacity"
    state = {"name": "terminated", "code": code, "why": "none"}
    cloud.wire.spoil("DescribeInstances", lambda _, call: call(), lambda _, call: call(),
                     in_state(**state))  # fmt: skip
    assert cloud.acquire().facts["zone"] == "us-east-1b"


def test_an_answer_that_was_lost_makes_nothing_twice(cloud):
    """What has no client token; stock moto knows none of those that there are."""

    def lost(_, call):
        call()
        raise refusal("Unavailable", "later", 503)

    rental = cloud.resolve()
    for operation in ("ImportKeyPair", "CreateSecurityGroup", "AttachVolume"):
        cloud.wire.spoil(operation, lost)
    cloud.acquire_of(rental)
    assert len(cloud.client().describe_key_pairs()["KeyPairs"]) == 1
    cloud.provider.release(CLAIM.lease_id, rental.scope)
    assert cloud.left() == []


def impaired(answer):
    for status in answer["InstanceStatuses"]:
        status["InstanceStatus"]["Status"] = "impaired"


def attaching(answer):
    for volume in answer["Volumes"]:
        for held in volume["Attachments"]:
            held["State"] = "attaching"


@pytest.mark.parametrize(
    ("answer", "guest", "says", "impatient"),
    [
        (("DescribeVolumes", in_state(name="creating")), {},
         r"volume vol-\w+ took longer than 0.2 s: creating", "volume_s"),
        (("DescribeVolumes", in_state(name="error")), {},
         r"volume vol-\w+ is error, not available", None),
        (("DescribeInstances", in_state(name="pending")), {},
         r"instance i-\w+ took longer than 0.2 s: pending", "instance_s"),
        (None, {"refusals": 10**6},
         r"SSH to [\d.]+ took longer than 0.2 s: cannot connect", "ssh_s"),
        (("DescribeInstanceStatus", changed(impaired)), {},
         "status checks of .*: EC2 says system ok, instance impaired", "checks_s"),
        (None, {"boot": "failed apt-get could not reach its mirrors"},
         "could not be prepared: apt-get could not reach its mirrors", None),
        (None, {"boot": "waiting"}, "packages are being installed", "ready_s"),
        (("DescribeVolumes", changed(attaching)), {},
         r"volume vol-\w+ took longer than 0.2 s: attaching", "attach_s"),
        (None, {"lies": lambda _: ROOT}, "not seen in the guest yet", "appear_s"),
        (None, {"lies": lambda text: text.replace(f"\t{20 * GIB // 512}\t", "\t4096\t")},
         "has 2,097,152 bytes", None),
    ],
)  # fmt: skip
def test_what_never_becomes_what_it_should_or_is_another_is_given_up_and_told(
    cloud, answer, guest, says, impatient
):
    if answer:
        cloud.wire.always(*answer)
    for name, value in guest.items():
        setattr(cloud.guest, name, value)
    fails(cloud, RentalFailed, says, impatient=impatient)


def test_a_machine_ended_from_outside_while_ssh_is_waited_for_is_told(cloud):
    cloud.guest.refusals = 10**6
    state = {"name": "shutting-down", "code": "Client.UserInitiatedShutdown", "why": "by hand"}
    ok = [lambda _, call: call()] * 5
    cloud.wire.spoil("DescribeInstances", *ok, in_state(**state))
    fails(cloud, RentalFailed, "is shutting-down: by hand")


def test_a_connection_that_breaks_is_made_again_and_what_is_late_waited_for(cloud):
    late = [refusal(f"Invalid{kind}.NotFound") for kind in ("KeyPair", "Group", "Group")]
    cloud.wire.spoil("RunInstances", *late)
    cloud.guest.broken = 2
    through = [lambda _, call: call()] * 4
    cloud.wire.spoil("DescribeVolumes", *through, changed(attaching), changed(attaching))
    cloud.acquire()
    assert len(cloud.wire.requests("AttachVolume")) == 1
    assert len({one["ClientToken"] for one in cloud.wire.requests("RunInstances")}) == 1


def another_volume(answer):
    answer["Volumes"][0] |= {"VolumeType": "gp3", "Size": 21, "MultiAttachEnabled": True}


def another_machine(answer):
    for instance in (one for held in answer["Reservations"] for one in held["Instances"]):
        instance["InstanceType"] = "c6i.large"
        instance["MetadataOptions"]["HttpTokens"] = "optional"


def slower(answer):
    """Its limits changed since they were looked up."""
    answer["InstanceTypes"][0]["EbsInfo"]["EbsOptimizedInfo"]["BaselineIops"] = 100


@pytest.mark.parametrize(
    ("operation", "change", "says"),
    [
        ("DescribeVolumes", another_volume, "type .* is gp3,|size .* is 21,|attach .* is on,"),
        ("DescribeInstances", another_machine, "is c6i.large, but c6in.large|is optional, but"),
        ("DescribeInstanceTypes", slower, "baseline_iops of c6in.large is 100.0, but 6250.0"),
    ],
)
def test_what_is_other_than_asked_for_fails_the_run(cloud, operation, change, says):
    read_back_after = {
        "DescribeVolumes": "DescribeInstanceTypes", "DescribeInstances": "DescribeInstanceStatus",
    }  # fmt: skip

    def other(answer):
        if read_back_after.get(operation) in (None, cloud.wire.calls[-2][0]):
            change(answer)

    rental = cloud.resolve()
    cloud.acquire_of(rental)
    cloud.wire.always(operation, changed(other))
    with pytest.raises(RentalFailed) as failed:
        cloud.acquire_of(rental)
    for one in says.split("|"):
        assert re.search(one, failed.value.message)


@pytest.mark.parametrize("moment", ["is starting", "is being made", "answers at", "is attached"])
def test_whoever_stops_it_waits_for_nothing(cloud, moment):
    cloud.watch.stop_at = moment
    fails(cloud, Interrupted, "stopped while waiting for the cloud")

"""The emulated clouds refuse, repeat and delay as the real ones document it: by their plain SDKs.

One row for each rule: a cloud that takes what the real one refuses would hide a fault of ours.
"""

from uuid import uuid4

import pytest
from emulators.gcp import discovery, schema
from emulators.gcp.filters import compile_filter
from tests.cloud import rented, rented_azure, rented_gcp
from tests.cloud.rented import ZONE, Login, make_keys
from tests.rigs.waiting import until

OTHER_ZONE = "us-east-1b"


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys"))


# --- AWS


@pytest.fixture
def paced(aws):
    """Changes take many looks: a test sees what is between."""
    before, aws.cloud.pace = aws.cloud.pace, 5
    yield aws
    aws.cloud.pace = before


def test_a_token_stands_for_one_request_and_one_that_failed_is_not_used_up(aws):
    aws.faults.refuse("RunInstances", "InsufficientInstanceCapacity", "none", status=500)
    with rented.refused("InsufficientInstanceCapacity", 500):
        rented.launch(aws, ClientToken="t")
    first = rented.launch(aws, ClientToken="t")
    assert rented.launch(aws, ClientToken="t") == first
    assert rented.launch(aws, ClientToken="u") != first
    asked = {"Size": 4, "VolumeType": "gp3", "AvailabilityZone": ZONE, "ClientToken": "t"}
    aws.client().create_volume(**asked)
    for other in ({"Size": 5}, {"VolumeType": "gp2"}, {"AvailabilityZone": OTHER_ZONE}):
        with rented.refused("IdempotentParameterMismatch"):
            aws.client().create_volume(**asked | other)
    assert len(aws.client().describe_volumes()["Volumes"]) == 3, "and two root disks"


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"VolumeType": "nope", "Size": 4}, "UnknownVolumeType"),
        ({"VolumeType": "gp2", "Size": 16_385}, "InvalidParameterValue"),
        ({"VolumeType": "st1", "Size": 124}, "InvalidParameterValue"),
        ({"VolumeType": "io1", "Size": 4}, "InvalidParameterCombination"),
        ({"VolumeType": "io1", "Size": 4, "Iops": 201}, "InvalidParameterValue"),
        ({"VolumeType": "gp2", "Size": 4, "Iops": 100}, "InvalidParameterCombination"),
        ({"VolumeType": "gp3", "Size": 10, "Iops": 5001}, "InvalidParameterValue"),
        ({"VolumeType": "gp3", "Size": 4, "Throughput": 751}, "InvalidParameterValue"),
        ({"VolumeType": "gp2"}, "MissingParameter"),
        ({"VolumeType": "gp2", "Size": 4, "AvailabilityZone": "nope"}, "InvalidZone.NotFound"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_a_volume_that_is_not_sold_is_refused(aws, asked, code):
    with rented.refused(code):
        aws.client().create_volume(**{"AvailabilityZone": ZONE} | asked)
    assert aws.client().describe_volumes()["Volumes"] == []


ROOT_OF_IO1 = [{"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 4, "VolumeType": "io1"}}]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"ImageId": "ami-0123456789abcdef0"}, "InvalidAMIID.NotFound"),
        ({"KeyName": "nobody"}, "InvalidKeyPair.NotFound"),
        ({"InstanceType": "m6g.large"}, "InvalidParameterValue"),  # of another architecture
        ({"Placement": {"AvailabilityZone": "us-east-1z"}}, "InvalidParameterValue"),
        ({"UserData": "x" * 16_385}, "InvalidParameterValue"),
        ({"BlockDeviceMappings": ROOT_OF_IO1}, "InvalidParameterCombination"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_a_launch_that_cannot_be_is_refused(aws, asked, code):
    plain = {"InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}
    with rented.refused(code):
        aws.client().run_instances(**{"ImageId": rented.ubuntu(aws)} | plain | asked)
    assert aws.left() == []


def test_a_volume_comes_up_and_is_attached_step_by_step(paced):
    instance = rented.launch(paced)
    rented.up(paced, instance)
    made = paced.client().create_volume(AvailabilityZone=ZONE, VolumeType="gp3", Size=4)
    name = made["VolumeId"]
    assert made["State"] == rented.volume_state(paced, name) == "creating"
    with rented.refused("IncorrectState"):
        rented.attach(paced, name, instance)
    until(lambda: rented.volume_state(paced, name) == "available")
    paced.client().attach_volume(VolumeId=name, InstanceId=instance, Device="/dev/sdf")
    assert rented.attachment_state(paced, name) == "attaching"
    until(lambda: rented.attachment_state(paced, name) == "attached")
    assert paced.client().detach_volume(VolumeId=name)["State"] == "detaching"
    with rented.refused("VolumeInUse"):
        paced.client().delete_volume(VolumeId=name)
    until(lambda: rented.volume_state(paced, name) == "available")


def test_a_volume_is_attached_once_in_its_zone_under_a_free_name(aws):
    instance = rented.launch(aws, Placement={"AvailabilityZone": ZONE})
    one, two = rented.volume(aws), rented.volume(aws)
    with rented.refused("IncorrectState"):  # it does not run yet
        rented.attach(aws, one, instance)
    rented.up(aws, instance)
    rented.attach(aws, one, instance)
    for volume, device, code in (
        (one, "/dev/sdg", "VolumeInUse"),
        (two, "/dev/sdf", "InvalidParameterValue"),
        (two, "nonsense", "InvalidParameterValue"),
        (rented.volume(aws, zone=OTHER_ZONE), "/dev/sdg", "InvalidVolume.ZoneMismatch"),
    ):
        with rented.refused(code):
            rented.attach(aws, volume, instance, device)
    with rented.refused("VolumeInUse"):
        aws.client().delete_volume(VolumeId=one)


def test_a_disk_is_busy_while_its_guest_holds_it_and_as_fast_as_its_machine(aws, keys):
    # A t3.micro sustains 500 IOPS on EBS; the disk alone may do 3,000.
    instance = rented.launch(aws, "t3.micro", UserData=keys.user_data)
    guest = Login(aws, "ubuntu", rented.up(aws, instance)["PublicIpAddress"], keys)
    disk = rented.volume(aws)
    rented.attach(aws, disk, instance)
    device = f"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{disk.replace('-', '')}"
    assert 330 <= guest.fio(device)["read"]["iops"] <= 800
    guest.run(f"sudo mkfs.ext4 -q {device} && sudo mount {device} /mnt")
    aws.client().detach_volume(VolumeId=disk)
    until(lambda: rented.attachment_state(aws, disk) == "busy")
    guest.run("sudo umount /mnt")
    until(lambda: rented.attachment_state(aws, disk) is None)


# --- Azure


HERE = {"location": rented_azure.REGION}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (HERE | {"propertise": {}}, "BadRequest"),
        (HERE | {"sku": {"name": "Premium_LSR"}}, "InvalidParameter"),
        (HERE | {"properties": {"diskSizeGB": "4"}}, "InvalidRequestContent"),
        ({"location": "nowhere"}, "LocationNotAvailableForResourceType"),
        (HERE | {"properties": {"diskSizeGB": 4}}, "InvalidParameter"),
        (HERE | {"tags": {"a/b": "c"}}, "InvalidTagNameCharacters"),
    ],
)
def test_a_body_that_azure_does_not_take_is_refused(azure, body, code):
    with rented_azure.refused(code):
        azure.compute.disks.begin_create_or_update(rented_azure.group(azure), "data", body)


@pytest.mark.parametrize(
    ("sku", "size", "more"),
    [
        ("Premium_LRS", 32_768, {}),
        ("Premium_LRS", 256, {"diskIOPSReadWrite": 2000}),
        ("Premium_LRS", 512, {"tier": "P10"}),
        ("Standard_LRS", 512, {"tier": "P30"}),
        ("Premium_LRS", 512, {"burstingEnabled": True}),
        ("PremiumV2_LRS", 20, {}),
        ("PremiumV2_LRS", 20, {"diskIOPSReadWrite": 20_000, "zones": ["1"]}),
        ("UltraSSD_LRS", 2, {"zones": ["1"]}),
    ],
)
def test_a_disk_that_azure_does_not_sell_is_refused(azure, sku, size, more):
    with rented_azure.refused("InvalidParameter"):
        rented_azure.disk(azure, rented_azure.group(azure), sku, size, **more)


def test_disks_that_azure_cannot_attach_are_refused(azure, keys):
    here, zoned = rented_azure.group(azure), {"zones": ["1"]}
    rented_azure.launch(azure, here, keys, **zoned)

    def disk(name, sku="Premium_LRS", size=4, **more):
        return rented_azure.disk(azure, here, sku, size, name=name, **more)

    large, newer = disk("large", size=4096, **zoned), disk("newer", "PremiumV2_LRS", **zoned)
    fast, one, two = disk("fast", "UltraSSD_LRS", **zoned), disk("one", **zoned), disk("two")
    for wanted, code in (
        ([(large, 0, "ReadOnly")], "InvalidParameter"),
        ([(newer, 0, "ReadWrite")], "InvalidParameter"),
        ([(fast, 0, "None")], "InvalidParameter"),  # the machine has no ultraSSDEnabled
        ([(large, 0, "None"), (one, 0, "None")], "InvalidParameter"),
        ([(one, 64, "None")], "InvalidParameter"),
        ([(two, 0, "None")], "BadRequest"),  # of no zone
    ):
        with rented_azure.refused(code):
            rented_azure.attach(azure, here, wanted)
    with rented_azure.refused("OperationNotAllowed", 409):  # a D2s v3 takes four
        rented_azure.attach(azure, here, [(one, lun, "None") for lun in range(5)])
    rented_azure.attach(azure, here, [(large, 0, "None"), (newer, 1, "None")])
    with rented_azure.refused("OperationNotAllowed", 409):
        azure.compute.disks.begin_delete(here, "large")


# --- Google Cloud


def type_url(kind, zone=rented_gcp.ZONE):
    return f"zones/{zone}/diskTypes/{kind}"


def boot(**more):
    params = {"source_image": rented_gcp.UBUNTU, "disk_size_gb": 10} | more
    return {"boot": True, "auto_delete": True, "initialize_params": params}


def machine(kind, zone=rented_gcp.ZONE):
    return {"machine_type": f"zones/{zone}/machineTypes/{kind}"}


@pytest.mark.parametrize(
    ("kind", "size", "more"),
    [
        ("pd-ssd", 9, {}),
        ("pd-ssd", 20, {"provisioned_iops": 3000}),
        ("pd-gold", 20, {}),
        ("local-ssd", 375, {}),
        ("pd-extreme", 500, {"provisioned_iops": 2000}),
        ("hyperdisk-balanced", 4, {"provisioned_iops": 2001}),
        ("hyperdisk-extreme", 64, {"provisioned_throughput": 200}),
        ("hyperdisk-throughput", 2048, {"provisioned_throughput": 181}),
    ],
)
def test_a_disk_that_google_does_not_sell_is_refused(gcp, kind, size, more):
    asked = {"name": "d", "type_": type_url(kind), "size_gb": size} | more
    with rented_gcp.refused(400, "invalid"):
        gcp.call("Disks", "insert_unary", zone=rented_gcp.ZONE, disk_resource=asked)
    assert gcp.left() == []


@pytest.mark.parametrize(
    ("kind", "disk_type"),
    [
        ("n4-standard-4", "pd-balanced"),
        ("c3-standard-8", "pd-standard"),
        ("n2-standard-4", "pd-extreme"),
        ("e2-standard-4", "hyperdisk-balanced"),
    ],
)
def test_a_machine_refuses_disks_it_does_not_take(gcp, kind, disk_type):
    params = {"disk_type": type_url(disk_type), "disk_size_gb": 500}
    new = {"auto_delete": True, "initialize_params": params}
    first = "hyperdisk-balanced" if kind[1] == "4" else "pd-balanced"
    asked = rented_gcp.wanted(disks=[boot(disk_type=type_url(first)), new], **machine(kind))
    with rented_gcp.refused(400, "badRequest") as caught:
        rented_gcp.insert(gcp, asked)
    assert "features are not compatible" in str(caught.value)


@pytest.mark.parametrize(
    "changed",
    [
        machine("n2-standard-5"),
        machine("n2-standard-4", "us-east1-b"),
        {"disks": []},
        {"disks": [boot(disk_size_gb=9)]},
        {"network_interfaces": []},
        {"labels": {"Lease": "a1"}},
        {"scheduling": {"max_run_duration": {"seconds": 60}}},
        {"scheduling": {"instance_termination_action": "BURN"}},
    ],
    ids=str,
)
def test_a_machine_that_google_does_not_make_is_refused(gcp, changed):
    with rented_gcp.refused(400, "invalid"):
        rented_gcp.insert(gcp, rented_gcp.wanted(**changed))
    assert gcp.left() == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": "d", "sizeGB": "20"}, 'Unknown name "sizeGB"'),
        ({"name": "Data"}, "Must be a match of regex"),
        ({"name": "d", "sizeGb": "twenty"}, "TYPE_INT64"),
        ({"name": "d", "labels": ["a"]}, "an object is expected"),
        ({"name": "d", "accessMode": "READ_OFTEN"}, "Not one of"),
        ({"sizeGb": "20"}, "Required field not specified"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_body_that_is_not_as_google_documents_it_is_refused(gcp, body, said):
    status, answer = gcp.http("POST", f"zones/{rented_gcp.ZONE}/disks", body)
    assert (status, said in str(answer["error"]["message"])) == (400, True), answer


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sizeGb": 20}, "TYPE_INT64"),
        ({"status": "SLEEPING"}, "Not one of"),
        ({"colour": "blue"}, "Cannot find field"),
    ],
    ids=str,
)
def test_an_answer_that_google_never_gives_is_caught(wrong, said):
    path = f"/compute/v1/projects/{rented_gcp.PROJECT}/zones/{rented_gcp.ZONE}/disks/d"
    found = discovery.match("GET", path)
    assert schema.answer_problems(found[0], {"name": "d", "sizeGb": "20"}) == []
    (problem,) = schema.answer_problems(found[0], {"name": "d"} | wrong)
    assert said in problem


def test_a_request_id_stands_for_one_request_and_a_refused_one_is_not_used_up(gcp):
    same = {"zone": rented_gcp.ZONE, "request_id": str(uuid4())}
    asked = same | {"disk_resource": {"name": "once", "size_gb": 20}}
    gcp.faults.throttle("disks.insert")
    with rented_gcp.refused(403, "rateLimitExceeded"):
        gcp.call("Disks", "insert_unary", **asked)
    first = gcp.call("Disks", "insert_unary", **asked)
    rented_gcp.well(gcp, first)
    assert gcp.call("Disks", "insert_unary", **asked).name == first.name
    with rented_gcp.refused(400, "invalid"):
        larger = {"disk_resource": {"name": "once", "size_gb": 21}}
        gcp.call("Disks", "insert_unary", **same | larger)


def test_without_a_firewall_rule_nobody_gets_in(gcp, keys):
    row = rented_gcp.launch(gcp, keys)
    address = str(row.network_interfaces[0].access_configs[0].nat_i_p)
    guest = Login(gcp, "ubuntu", address, keys)  # type: ignore[arg-type]
    assert guest.try_run("true").returncode == 255
    rented_gcp.well(gcp, rented_gcp.let_in(gcp, source_ranges=["10.0.0.0/8"]))
    assert guest.try_run("true").returncode == 255
    rented_gcp.well(gcp, rented_gcp.let_in(gcp, name="us"))
    assert guest.try_run("true").returncode == 0


def test_lists_of_google_are_filtered_in_pages_and_over_all_zones(gcp):
    for name in ("a", "b", "c"):
        rented_gcp.disk(gcp, name, labels={"lease": name})
    rented_gcp.disk(gcp, "far", zone="europe-west1-b")

    def listed(zone, **query):
        _, told = gcp.http("GET", "aggregated/disks", **query)
        return [one["name"] for one in told["items"][f"zones/{zone}"].get("disks", [])]

    assert listed(rented_gcp.ZONE, filter="labels.lease=a") == ["a"]
    assert listed(rented_gcp.ZONE, maxResults="2") == ["a", "b"]
    assert listed("europe-west1-b") == ["far"]
    status, refused = gcp.http("GET", "aggregated/disks", filter="labels.lease=")
    assert (status, refused["error"]["errors"][0]["reason"]) == (400, "invalid")


ROWS = [{"name": "a", "labels": {"k": "v"}}, {"name": "b"}]


def test_a_filter_is_read_as_documented():
    for text, names in {
        "": "ab",
        "name=b": "b",
        "labels.k=v": "a",
        "labels.k:*": "a",
        'name eq "[ab]"': "ab",
    }.items():
        assert "".join(row["name"] for row in ROWS if compile_filter(text)(row)) == names

"""`diskbench doctor`, also with --live, against each emulated cloud, and what `gc` finds there that
expired: one story for all clouds, with what differs as data."""

import json
import os
import re

import jsonschema
import pytest
from emulators.aws.policies import UNENCRYPTED, demanding_tags
from emulators.azure import identity
from emulators.azure.cloud import SUBSCRIPTION
from emulators.gcp.server import ACCOUNT
from emulators.vsphere.simulator import ADDRESS as VSPHERE_ADDRESS
from emulators.vsphere.simulator import PASSWORD, USER
from tests.cloud import rented_azure, rented_gcp
from tests.cloud.azure_recordings import Replay, of_file
from tests.cloud.azure_rig import Rig
from tests.cloud.conftest import of as on
from tests.cloud.conftest import table
from tests.cloud.eager import GCP
from tests.cloud.rented import REGION, launch, up, volume
from tests.cloud.rented_gcp import disk
from tests.cloud.rented_vsphere import listed
from tests.cloud.replayed import check_replay, read_recording
from tests.rigs.cli import a_user

from diskbench.cli import main
from diskbench.cli.schema import _schema
from diskbench.model.rental import Scope
from diskbench.providers.azure.doctor import actions
from diskbench.providers.gcp.cloud import GCPProvider
from diskbench.providers.gcp.doctor import permissions
from diskbench.providers.vsphere.doctor import privileges

CIDR = ("--ssh-cidr", "203.0.113.7/32")
AZURE_DISKS = "Microsoft.Compute/disks/write"


class Office:
    """`diskbench doctor` in this process, asked about one emulated cloud by a user with stores of
    their own."""

    def __init__(self, name, cloud, home, capsys, monkeypatch):
        self.name, self.cloud, self.capsys = name, cloud, capsys
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
        monkeypatch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{home}/rows.db")
        monkeypatch.setenv("DISKBENCH_EVIDENCE_URL", (home / "evidence").as_uri())
        monkeypatch.chdir(home)

    def text(self, *flags):
        """Exit code, stdout and stderr."""
        self.capsys.readouterr()
        code = main.main(["doctor", *flags])
        out, err = self.capsys.readouterr()
        return code, out, err

    def asked(self, *flags):
        """Exit code and findings; the document meets its schema."""
        code, out, err = self.text("--output", "json", *flags)
        assert out, err
        document = json.loads(out)
        jsonschema.validate(document, _schema("doctor"))
        return code, document["findings"]

    @property
    def flags(self):
        """What names the cloud."""
        more: tuple[str, ...] = ()
        if self.name == "azure":
            more = ("--region", rented_azure.REGION)
        elif self.name == "vsphere":
            more = ("--ca-file", str(self.cloud.simulator.ca_file))
        return ("--provider", self.name, "--endpoint-url", self.cloud.endpoint, *more)

    @property
    def live(self):
        """What names the cloud and a rental for --live."""
        if self.name == "aws":
            what = ("--region", REGION, "--disk", "gp3", "--size", "20", *CIDR)
        elif self.name == "azure":
            what = ("--disk", "Premium_LRS", "--size", "64", *CIDR)
        elif self.name == "gcp":
            project, region = self.cloud.cloud.project, rented_gcp.REGION
            subnet = f"projects/{project}/regions/{region}/subnetworks/default"
            what = ("--region", region, "--project", project, "--disk", "pd-ssd", "--size", "64",
                    *CIDR, "--subnet", subnet)  # fmt: skip
        else:
            what = ("--datastore", "nvme", "--size", "8")
        return (*self.flags, "--live", *what)

    def problems(self, *flags, check=""):
        """What is found as a problem; the exit code is 2."""
        code, found = self.asked(*flags)
        assert code == 2, found
        return [one for one in found if one["state"] == "problem" and check in one["check"]]


def of(findings, check, where=""):
    """The findings of a check, in a place whose name begins so."""
    return [one for one in findings if one["check"] == check and one["where"].startswith(where)]


@pytest.fixture
def doctor(emulated_cloud, tmp_path, capsys, monkeypatch):
    name, cloud = emulated_cloud
    for variable, value in cloud.env.items():
        monkeypatch.setenv(variable, value)
    return Office(name, cloud, tmp_path, capsys, monkeypatch)


def aws_all(found):
    (who,) = of(found, "credentials")
    assert (who["state"], who["where"]) == ("ok", f"aws {REGION}")
    (allowed,) = of(found, "permissions")
    assert re.match(r"(1[5-9]|2\d) of \1 actions tried are allowed", allowed["told"]), found
    quotas = {one["told"] for one in of(found, "quota")}
    assert "Running On-Demand Standard instances (vCPUs): 64 of 64 left" in quotas
    assert "GiB of gp3: 51,200 of 51,200 left" in quotas


def azure_all(found):
    every = len(actions())
    assert of(found, "permissions")[0]["told"] == f"{every} of {every} actions are allowed"
    quotas = {one["told"] for one in of(found, "quota")}
    assert quotas == {
        "Total Regional vCPUs: 100 of 100 left", "Public IP Addresses: 1,000 of 1,000 left",
    }  # fmt: skip


def gcp_all(found):
    (held,) = of(found, "permissions")
    every = len(permissions())
    assert held["told"] == f"{every} of {every} permissions are granted"
    assert "CPUS: 2,400 of 2,400 left" in {one["told"] for one in of(found, "quota")}


def vsphere_all(found):
    told = [one["told"] for one in of(found, "permissions")]
    assert [line.partition(":")[0] for line in told] == list(privileges())
    assert all("all" in line for line in told)
    assert of(found, "quota") == []


@table(
    "more, who, shows",
    {
        "aws": ((), "arn:aws:", aws_all),
        "azure": ((), "in subscription", azure_all),
        "gcp": (("--region", "europe-west1"), "@", gcp_all),
        "vsphere": ((), "vCenter", vsphere_all),
    },
)
def test_who_may_all_is_told_who_they_are_and_what_is_left(doctor, more, who, shows):
    code, found = doctor.asked(*doctor.flags, *more)
    assert code == 0, found
    assert who in of(found, "credentials")[0]["told"]
    assert of(found, "clock", doctor.name)[0]["state"] == "ok"
    shows(found)
    assert doctor.cloud.left() == [], "nothing was made"


@table(
    "action, told",
    {
        **{
            f"aws {action}": (action, f"ec2:{action}")
            for action in ("RunInstances", "CreateVolume", "ImportKeyPair", "DescribeKeyPairs")
        },
        "azure": (AZURE_DISKS, f"{AZURE_DISKS} is not allowed"),
        "gcp": ("disks.insert", "compute.disks.create is missing"),
    },
)
def test_a_permission_that_is_missing_is_named_and_nothing_is_made(doctor, action, told):
    """EC2 is asked with DryRun; Azure and Google tell without a trial."""
    doctor.cloud.faults.forbid(action)
    (denied,) = doctor.problems(*doctor.flags, check="permissions")
    assert told in denied["told"]
    assert f"--print-policy {doctor.name}" in denied["advice"]
    calls = doctor.cloud.faults.calls(action)
    if doctor.name == "aws" and not action.startswith("Describe"):
        assert all(one.params.get("DryRun") for one in calls)
    assert calls == [] or doctor.name == "aws"
    assert doctor.cloud.left() == []


@on("aws")
def test_what_a_policy_of_the_organisation_demands_is_tried_and_told(doctor):
    aws, tag, key = doctor.cloud, ("--tag", "team=db"), ("--kms-key", "alias/mine")
    made = aws.client("kms").create_key()["KeyMetadata"]["KeyId"]
    aws.client("kms").create_alias(AliasName="alias/mine", TargetKeyId=made)
    aws.cloud.organization = demanding_tags("team")
    code, found = doctor.asked(*doctor.live, *tag, *key)
    assert code == 0, found
    assert "kms:DescribeKey of alias/mine: would be accepted" in str(of(found, "dry run"))
    assert {one["advice"] for one in doctor.problems(*doctor.live, check="dry run")} == {
        "add --tag team=VALUE, or to tags in the settings (diskbench config)"
    }
    aws.cloud.organization = UNENCRYPTED
    problems = doctor.problems(*doctor.live, *tag, check="dry run")
    assert all("add --kms-key KEY" in one["advice"] for one in problems)
    assert len(problems) > 1, "the volume and the launches"
    assert aws.left() == []


@on("aws")
def test_what_a_new_account_lacks_is_told_before_its_first_run(doctor):
    doctor.cloud.cloud.free_plan = True
    doctor.cloud.cloud.spot_role = False
    _, plain = doctor.asked(*doctor.flags)
    told = {one["advice"] for one in of(plain, "permissions") if one["state"] == "warning"}
    assert any("--instance-type m7i-flex.large" in advice for advice in told)
    launch = doctor.cloud.faults.calls("RunInstances")[0]
    assert launch.params["InstanceType"] not in {"t3.micro"}, "the machine that a run takes"
    doctor.cloud.cloud.free_plan = False
    problems = doctor.problems(*doctor.live, "--spot", check="dry run")
    assert any(one["told"].startswith("the role for spot machines") for one in problems)
    assert all("create-service-linked-role" in one["advice"] for one in problems)


@table("login", {"aws": "aws sso login", "azure": "az login", "gcp": "gcloud auth"})
def test_credentials_that_expired_are_the_one_problem(doctor, login):
    doctor.cloud.faults.expire_credentials()
    code, found = doctor.asked(*doctor.flags)
    assert code == 2
    (problem,) = [one for one in found if one["state"] == "problem"]
    assert login in problem["advice"]
    if doctor.name != "azure":
        assert problem["check"] == "credentials"
    if doctor.name == "aws":
        assert of(found, "permissions") == of(found, "quota") == []


@on("vsphere")
def test_a_wrong_password_is_the_one_problem(doctor, tmp_path):
    user = a_user(tmp_path)  # in a process of its own: pyVim leaves the refused connection open
    user.extra_env = doctor.cloud.env | {"VSPHERE_PASSWORD": "wrong"}
    done = user.run("doctor", *doctor.flags, "--output", "json")
    assert done.returncode == 2
    (problem,) = [o for o in json.loads(done.stdout)["findings"] if o["state"] == "problem"]
    assert (problem["check"], "VSPHERE_USER" in problem["advice"]) == ("credentials", True)


@on("aws")
def test_what_is_rented_counts_and_a_matrix_that_takes_more_than_is_left_is_told_before(
    doctor, tmp_path
):
    up(doctor.cloud, launch(doctor.cloud, "m5.large"))
    volume(doctor.cloud, "gp3", 100)  # and 8 GiB of the root disk
    matrix = tmp_path / "many.yaml"
    matrix.write_text(
        "name: many\n"
        f"defaults: {{provider: aws, region: {REGION}, disk: gp3, size: 100, profile: quick, "
        f"endpoint_url: '{doctor.cloud.endpoint}', instance_type: m5.4xlarge, replicates: 9}}\n"
        "limits: {max_parallel: 9}\n"
    )
    code, found = doctor.asked(*doctor.flags, "--matrix", str(matrix))
    assert code == 2, found
    (problem,) = [one for one in found if one["state"] == "problem"]
    assert problem["where"] == f"aws {REGION}"
    assert problem["told"] == (
        "Running On-Demand Standard instances (vCPUs): 62 of 64 left, the matrix takes 144 at once"
    )
    (disks,) = [one["told"] for one in of(found, "quota") if "gp3" in one["told"]]
    assert disks == "GiB of gp3: 51,092 of 51,200 left, the matrix takes 900 at once"


def forbid_constraints(gcp):
    gcp.cloud.roles[ACCOUNT] -= {"orgpolicy.policy.get"}


@table(
    "checks, told, harm",
    {
        "azure quotas that may not be seen": (
            ["quota"],
            "",
            lambda azure: azure.faults.forbid("Microsoft.Compute/locations/usages/read"),
        ),
        "gcp a quota that is used up": (
            ["quota"],
            "CPUS: 0 of 0 left: none can be rented until something is given back",
            lambda gcp: gcp.faults.quota("CPUS", 0),
        ),
        "gcp --project somebody-elses": (["permissions"], ""),
        "gcp constraints that cannot be read": (
            ["permissions", "constraints"],
            "",
            forbid_constraints,
        ),
    },
)
def test_what_is_used_up_or_cannot_be_seen_is_one_warning(doctor, request, checks, told, harm):
    if harm:
        harm(doctor.cloud)
    words = request.node.callspec.id.split()[1:]
    code, found = doctor.asked(*doctor.flags, *(words if words[0] == "--project" else ()))
    assert code == 0
    for check in checks:
        (warning,) = [one for one in of(found, check) if one["state"] != "ok"]
        assert warning["state"] == "warning"
        assert told in warning["told"]


@table(
    "name, state, says",
    {
        "gcp no external address": ("compute.vmExternalIpAccess", "warning", "--iap"),
        "gcp OS Login": ("compute.requireOsLogin", "problem", "does not use OS Login"),
        "gcp shielded": ("compute.requireShieldedVm", "ok", ""),
    },
)
def test_a_constraint_of_the_organisation_is_named(doctor, name, state, says):
    doctor.cloud.cloud.constraints.enforced.add(name)
    code, found = doctor.asked(*doctor.flags)
    (told,) = of(found, "constraints")
    assert told["state"] == state
    assert f"constraints/{name} is enforced" in told["told"]
    assert says in told["advice"]
    assert code == (2 if state == "problem" else 0)


@on("vsphere")
def test_who_may_not_even_ask_is_told_so(doctor):
    doctor.cloud.fault("HasPrivilegeOnEntities", "NoPermission", times=1)
    code, found = doctor.asked(*doctor.flags)
    assert code == 2
    assert [one["state"] for one in of(found, "permissions")] == ["problem"]


# What gc finds that expired; of AWS, region by region, test_gc_aws.py.


@table("region", {"azure eastus": "eastus", "azure westus3": "westus3"})
def test_gc_finds_the_expired_of_every_region_of_azure(doctor, region):
    """In one listing of the subscription: a resource group goes with all that is in it."""
    azure = doctor.cloud
    rig = Rig(azure)
    tags = {"diskbench-lease": "old", "diskbench-expires": "1"}
    made = {"location": region, "tags": tags}
    azure.resources.resource_groups.create_or_update("diskbench-old", made)
    static = {"publicIPAllocationMethod": "Static"}
    address = {"location": region, "sku": {"name": "Standard"}, "properties": static}
    addresses = azure.network.public_ip_addresses
    addresses.begin_create_or_update("diskbench-old", "diskbench-old-ip", address).result()
    anywhere = rig.scope().model_copy(update={"region": None})
    (found,) = rig.provider.found(anywhere)
    assert (found.lease_id, found.scope.region, found.expires_at) == ("old", region, 1.0)
    named = {"resource-group diskbench-old", "publicIPAddresses diskbench-old-ip"}
    assert set(found.resources) == named
    rig.provider.release("old", found.scope)
    assert azure.left() == []


@on("gcp")
def test_gc_finds_the_expired_of_every_region_of_google_in_one_listing(doctor):
    labels = {"diskbench-lease": "old", "diskbench-expires": "1"}
    zones = ("us-central1-a", "us-east1-b", "europe-west1-c")
    for zone in zones:
        disk(doctor.cloud, name="diskbench-old-disk-0", zone=zone, labels=labels)
    provider = GCPProvider(timing=GCP)
    (found,) = provider.found(Scope(provider="gcp", endpoint=doctor.cloud.endpoint))
    assert set(found.resources) == {f"disk {zone}/diskbench-old-disk-0" for zone in zones}
    provider.release("old", found.scope)
    assert doctor.cloud.left() == []


# --live: every request of a rental is tried where the cloud lets it be tried.


def aws_tried(aws, tried):
    for action in ("RunInstances", "CreateVolume", "CreateSecurityGroup", "ImportKeyPair"):
        assert any(action in one["told"] for one in tried)
        assert all(one.params.get("DryRun") for one in aws.faults.calls(action))
        assert aws.faults.calls(action)


def azure_tried(azure, tried):
    assert any("a deployment of" in one["told"] for one in tried)
    changing = {"PUT", "PATCH", "DELETE"}  # validation of a deployment is none of them
    assert [one.action for one in azure.faults.asked if one.method in changing] == []


def gcp_tried(gcp, tried):
    assert any("subnetworks/default" in one["told"] for one in tried)
    reads = {"get", "list", "aggregatedList", "getFromFamily", "testIamPermissions"}
    assert {one.method.rpartition(".")[2] for one in gcp.faults.asked} <= reads


def vsphere_tried(vsphere, tried):
    assert [one for one in tried if "privileges on the datastore" in one["told"]]
    assert [one for one in tried if "on the datastore nvme" in one["told"]]
    assert listed(vsphere) == []


@table(
    "shows", {"aws": aws_tried, "azure": azure_tried, "gcp": gcp_tried, "vsphere": vsphere_tried}
)
def test_live_tries_a_whole_rental_and_makes_nothing(doctor, tmp_path, shows):
    code, found = doctor.asked(*doctor.live)
    tried = of(found, "dry run")
    assert {one["state"] for one in tried} == {"ok"}, tried
    shows(doctor.cloud, tried)
    assert doctor.cloud.left() == []
    assert code == 0, found
    recording = json.loads((tmp_path / f"diskbench-live-{doctor.name}.json").read_text())
    assert recording["provider"] == doctor.name
    assert len(recording["exchanges"]) > (20 if doctor.name == "aws" else 0)


@table("way", {"gcp a tunnel": "--iap", "gcp a private address": "--no-public-ip"})
def test_live_asks_no_public_address_of_a_machine_that_has_none(doctor, way, monkeypatch):
    monkeypatch.setenv("PATH", f"{doctor.cloud.cloud.programs}{os.pathsep}{os.environ['PATH']}")
    doctor.cloud.faults.forbid("subnetworks.useExternalIp")
    live = [word for word in doctor.live if word not in CIDR]
    code, found = doctor.asked(*live, way)
    assert {one["state"] for one in of(found, "dry run")} == {"ok"}, found
    (missing,) = [one for one in of(found, "permissions") if one["state"] != "ok"]
    assert (missing["state"], code) == ("warning", 0)


@table(
    "harm, told, advice",
    {
        "aws a right": (lambda it: it.faults.forbid("RunInstances"), "ec2:RunInstances", "aws"),
        "azure a right": (lambda it: it.faults.forbid(AZURE_DISKS), AZURE_DISKS, "azure"),
        "azure a quota": (lambda it: setattr(it.faults, "quota_cores", 1), "quota"),
        "gcp a right on the subnetwork": (
            lambda it: it.faults.forbid("subnetworks.useExternalIp"),
            "compute.subnetworks.useExternalIp is missing",
            "gcp",
        ),
        "vsphere a placement": (
            lambda it: it.fault("CheckRelocate_Task", "NoPermission", times=1),
            "the template",
        ),
    },
)
def test_live_names_what_would_be_refused(doctor, tmp_path, harm, told, advice):
    """`advice` is whose policy it says to print."""
    harm(doctor.cloud)
    refused = doctor.problems(*doctor.live, check="dry run")
    assert told in refused[0]["told"]
    assert advice is None or f"--print-policy {advice}" in refused[0]["advice"]
    if doctor.name == "aws":
        assert all(told in one["told"] for one in refused)
        check_replay(doctor, read_recording(tmp_path / "diskbench-live-aws.json"), code=2)
    elif doctor.name != "azure":
        assert len(refused) == 1


@on("aws")
def test_live_checks_parameters_and_not_only_rights(doctor):
    """EC2 checks a launch with DryRun as it does one without, but for capacity."""
    assert doctor.problems(*doctor.live, "--subnet", "subnet-0123456789abcdef0")
    assert doctor.cloud.left() == []


@on("aws")
def test_live_of_what_rents_nothing_or_names_no_disk_is_refused(doctor):
    for name, says in (("local", "--live cannot be used with --provider local"), ("aws", "--disk")):
        code, _, err = doctor.text("--provider", name, "--live")
        assert (code, says in err) == (2, True)


KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIAABCDEFGHIJKLMNOP",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "AWS_SESSION_TOKEN": "FwoGZXIvYXdzEBYaDHqa0AP",
}


@table(
    "private",
    {
        "aws": lambda aws: (
            aws.client("sts").get_caller_identity()["Account"], *KEYS.values(), "wJalrXUtnFEMI",
            "203.0.113.7", "private key", "uthorization",
        ),
        "azure": lambda _: (
            SUBSCRIPTION, identity.CLIENT, identity.SECRET, "203.0.113.7", "private key",
            "bearer", "emulated-token",
        ),
        "gcp": lambda gcp: (
            gcp.cloud.project, json.loads(gcp.cloud.credentials.read_text())["client_email"],
            "203.0.113.7", "private key", "bearer",
        ),
        "vsphere": lambda _: (
            USER, USER.partition("@")[0], PASSWORD, VSPHERE_ADDRESS, "DC0_", "<password>",
        ),
    },
)  # fmt: skip
def test_a_recording_holds_nothing_private_and_is_replayed(doctor, tmp_path, monkeypatch, private):
    """Those of Azure and vSphere are not replayed: a login stands in no recording. Azure's, which a
    user attaches, is compared with the emulator as the SDK's own recordings are."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    doctor.asked(*doctor.live)
    file = tmp_path / f"diskbench-live-{doctor.name}.json"
    text = file.read_text().lower()
    for secret in private(doctor.cloud):
        assert secret.lower() not in text, secret
    if doctor.name in ("aws", "gcp"):
        monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
        before = len(doctor.cloud.faults.asked)
        check_replay(doctor, read_recording(file))
        assert len(doctor.cloud.faults.asked) == before, "the replay asked the emulator"
    elif doctor.name == "azure":
        replay = Replay(doctor.cloud)
        replay.play(of_file(file))
        assert (bool(replay.compared), replay.differences) == (True, [])

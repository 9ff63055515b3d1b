"""The servers that guests ask refuse what the clouds' own refuse."""

import json

import pytest
from emulators.aws.imds import Imds
from emulators.azure.imds import AzureImds
from emulators.azure.wire_server import Health, WireServer
from emulators.gcp.metadata_server import MetadataServer, waits
from emulators.guest_side import Asked

TTL = {"x-aws-ec2-metadata-token-ttl-seconds": "60"}
GOOGLE = {"metadata-flavor": "Google"}
AZURE = {"metadata": "true"}
VERSION = {"api-version": "2021-02-01"}
WIRE = {"x-ms-version": "2012-11-30"}


def test_ec2_wants_a_token_first():
    imds = Imds({"meta-data/instance-id": "i-0", "meta-data/placement/region": "here"})
    path = "/latest/meta-data/instance-id"
    assert imds.answer(Asked("GET", path)).status == 401
    assert imds.answer(Asked("PUT", "/latest/api/token")).status == 400
    token = imds.answer(Asked("PUT", "/latest/api/token", headers=TTL)).body.decode()
    shown = {"x-aws-ec2-metadata-token": token}
    assert imds.answer(Asked("GET", path, headers=shown)).body == b"i-0"
    listed = imds.answer(Asked("GET", "/2021-03-23/meta-data/", headers=shown)).body
    assert listed.decode().split() == ["instance-id", "placement/"]
    assert imds.answer(Asked("GET", "/latest/user-data", headers=shown)).status == 404


def test_google_wants_its_header_and_refuses_guest_attributes():
    server = MetadataServer({"instance": {"id": 7, "networkInterfaces": [{"mac": "a"}]}})
    path = "/computeMetadata/v1/instance/id"
    assert server.answer(Asked("GET", path)).status == 403
    assert server.answer(Asked("GET", path, headers=GOOGLE)).body == b"7"
    below = Asked("GET", "/computeMetadata/v1/", {"recursive": "true"}, GOOGLE)
    assert json.loads(server.answer(below).body) == server.tree
    keys = "/computeMetadata/v1/instance/guest-attributes/hostkeys/ssh-rsa"
    assert server.answer(Asked("PUT", keys, headers=GOOGLE)).status == 403


def test_google_holds_an_answer_back_while_nothing_changes():
    wanted = {"wait_for_change": "true", "timeout_sec": "60"}
    server = MetadataServer({"instance": {"id": 7}})
    first = server.answer(Asked("GET", "/computeMetadata/v1/instance/id", wanted, GOOGLE))
    again = wanted | {"last_etag": first.headers["ETag"]}
    assert waits(Asked("GET", "/", wanted | {"last_etag": "NONE"})) == 0
    assert waits(Asked("GET", "/", again)) == 60


@pytest.mark.parametrize(
    ("query", "headers", "status"), [(VERSION, AZURE, 200), (VERSION, {}, 400), ({}, AZURE, 400)]
)
def test_azure_wants_a_header_and_a_version(query, headers, status):
    imds = AzureImds({"compute": {"vmId": "v"}})
    path = "/metadata/instance/compute/vmId"
    assert imds.answer(Asked("GET", path, query, headers)).status == status


def test_the_wire_server_takes_reports_down_in_order():
    wire = WireServer("machine")
    report = b"<Health><State>NotReady</State><SubStatus>Provisioning</SubStatus></Health>"
    assert wire.answer(Asked("POST", "/machine", {"comp": "health"}, WIRE, report)).status == 200
    assert wire.health == [Health("NotReady", "Provisioning")]
    assert wire.answer(Asked("GET", "/machine/", {"comp": "goalstate"})).status == 400
    told = wire.answer(Asked("GET", "/machine/", {"comp": "goalstate"}, WIRE))
    assert b"<ContainerId>machine</ContainerId>" in told.body

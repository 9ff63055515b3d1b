"""`diskbench doctor --provider vsphere --live` against VMware's simulator."""

from __future__ import annotations

import ssl

import pytest
from emulators.vsphere.authority import make_certificates
from emulators.vsphere.simulator import ADDRESS, PASSWORD, USER
from tests.cloud.doctored import of
from tests.cloud.rented_vsphere import listed
from tests.cloud.replayed import check_replay, read_recording
from tests.cloud.test_doctor_vsphere import doctor as doctor  # a fixture

pytestmark = pytest.mark.slow
_ENVELOPE = (
    '<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope '
    'xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xmlns:xsd="http://www.w3.org/2001/XMLSchema"><soapenv:Body>{}</soapenv:Body></soapenv:Envelope>'
)
_SESSION = (
    '<LoginResponse xmlns="urn:vim25"><returnval><key>session</key><userName>user</userName>'
    "<fullName>user</fullName><loginTime>2026-01-01T00:00:00Z</loginTime>"
    "<lastActiveTime>2026-01-01T00:00:00Z</lastActiveTime><locale>en</locale>"
    "<messageLocale>en</messageLocale></returnval></LoginResponse>"
)
_VERSIONS = (
    '<?xml version="1.0" encoding="UTF-8"?><namespaces version="1.0"><namespace>'
    "<name>urn:vim25</name><version>{}</version></namespace></namespaces>"
)


@pytest.fixture
def flags(vsphere) -> tuple[str, ...]:
    return (
        "--provider", "vsphere", "--live", "--endpoint-url", vsphere.endpoint,
        "--ca-file", str(vsphere.simulator.ca_file), "--datastore", "nvme", "--size", "8",
    )  # fmt: skip


def test_privileges_and_placement_are_checked_and_nothing_is_made(vsphere, doctor, flags):
    before = listed(vsphere)
    code, found = doctor.asked(*flags)
    tried = of(found, "dry run")
    assert {one["state"] for one in tried} == {"ok"}, tried
    assert [one for one in tried if "privileges on the datastore" in one["told"]]
    assert [one for one in tried if "on the datastore nvme" in one["told"]]
    assert listed(vsphere) == before
    assert vsphere.left() == []
    assert code == 0, found


def test_a_placement_that_may_not_be_checked_is_named(vsphere, doctor, flags):
    vsphere.fault("CheckRelocate_Task", "NoPermission", times=1)
    code, found = doctor.asked(*flags)
    assert code == 2
    (refused,) = [one for one in of(found, "dry run") if one["state"] == "problem"]
    assert "the template" in refused["told"]


def test_the_recording_holds_nothing_private_and_is_replayed(doctor, flags, tmp_path):
    doctor.asked(*flags)
    file = tmp_path / "diskbench-live-vsphere.json"
    text = file.read_text()
    for private in (USER, USER.partition("@")[0], PASSWORD, ADDRESS, "DC0_", "<password>"):
        assert private.lower() not in text.lower(), private
    recording = read_recording(file)

    def login(method, path, body, base):  # noqa: ARG001 - an Extra
        if path.endswith(".xml"):
            return 200, {"Content-Type": "text/xml"}, _VERSIONS.format("8.0.2.0").encode()
        if b"<Login " in body or b"<Login>" in body:
            return 200, {"Content-Type": "text/xml"}, _ENVELOPE.format(_SESSION).encode()
        if b"<Logout" in body:
            answer = '<LogoutResponse xmlns="urn:vim25"/>'
            return 200, {"Content-Type": "text/xml"}, _ENVELOPE.format(answer).encode()
        return None

    ca_file, served = make_certificates(tmp_path / "tls", ADDRESS)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served)
    check_replay(
        doctor, recording, "--ca-file", str(ca_file), tls=context, extra=login, address=ADDRESS
    )

"""A guest proves its cloud to nobody but the metadata service's own word for its id."""

import subprocess
import sys
import textwrap

import pytest

from diskbench.hosts.facts import vouched, with_machine_type
from diskbench.model.facts import CloudFacts, HostFacts
from diskbench.ports import Completed
from diskbench.providers.aws.plugin import GUEST

EC2 = CloudFacts(vendor="aws", product="c6in.large")
METADATA_SERVICE = textwrap.dedent("""
    import http.server, json, sys
    TOKEN = "the-token"
    class Imds(http.server.BaseHTTPRequestHandler):
        def do_PUT(self):
            asked = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
            self.answer(200 if self.path == "/latest/api/token" and asked else 400, TOKEN)
        def do_GET(self):
            asked, _, version = self.path.partition("?api-version=")
            if version and asked in ("/metadata/instance/compute/" + n for n in ("vmId", "vmSize")):
                known = self.headers.get("Metadata") == "true"
                return self.answer(200 if known else 400, sys.argv[1])
            if self.path == "/computeMetadata/v1/instance/machine-type":
                known = self.headers.get("Metadata-Flavor") == "Google"
                return self.answer(200 if known else 403, "projects/1/machineTypes/" + sys.argv[1])
            if self.path == "/computeMetadata/v1/instance/id":
                known = self.headers.get("Metadata-Flavor") == "Google"
                return self.answer(200 if known else 403, sys.argv[1])
            if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
                return self.answer(401, "")
            if self.path == "/latest/meta-data/instance-type":
                return self.answer(200, sys.argv[1])
            self.answer(200, json.dumps({"instanceId": sys.argv[1], "region": "us-east-1"}))
        def answer(self, code, text):
            self.send_response(code)
            self.end_headers()
            self.wfile.write(text.encode())
        def log_message(self, *_):
            pass
    server = http.server.HTTPServer(("169.254.169.254", 80), Imds)
    print("up", flush=True)
    server.serve_forever()
""")
IN_A_NETWORK_OF_ITS_OWN = textwrap.dedent("""
    ip link set lo up
    ip address add 169.254.169.254/32 dev lo
    if [ -n "$1" ]; then
        "$2" -c "$3" "$1" > "$5" & service=$!
        while ! grep -q up "$5" 2>/dev/null; do kill -0 $service || exit 9; done
    fi
    sh -c "$4"; code=$?
    [ -z "$1" ] || kill $service
    exit $code
""")


class Guest:
    """A host whose scripts run in a network namespace with a metadata service, or without one."""

    def __init__(self, directory, instance_id="") -> None:
        self.directory, self.instance_id = directory, instance_id

    def run(self, script, **_):
        argv = ["unshare", "-n", "sh", "-c", IN_A_NETWORK_OF_ITS_OWN, "sh"]
        service = [self.instance_id, sys.executable, METADATA_SERVICE]
        done = subprocess.run(
            [*argv, *service, script, self.directory / "said"], capture_output=True, timeout=240
        )
        assert done.returncode != 9, "the metadata service did not start"
        return Completed(done.returncode, done.stdout, done.stderr)


AZURE = CloudFacts(vendor="azure", product="Virtual Machine")
GOOGLE = CloudFacts(vendor="gcp", product="Google Compute Engine")


@pytest.mark.parametrize(
    ("cloud", "told", "instance_id", "trusted"),
    [
        (EC2, "i-0abc", "i-0abc", True),
        (EC2, "i-0other", "i-0abc", False),
        (EC2, "", "i-0abc", False),  # without a metadata service
        (AZURE, "0a1b-2c3d", "0a1b-2c3d", True),
        (AZURE, "0A1B-2C3D", "0a1b-2c3d", True),
        (AZURE, "x", "0a1b-2c3d", False),
        (GOOGLE, "123456", "123456", True),
        (GOOGLE, "1234567", "123456", False),
    ],
)
def test_a_guest_is_believed_whose_metadata_knows_it(tmp_path, cloud, told, instance_id, trusted):
    assert vouched(Guest(tmp_path, told), cloud, cloud.vendor, instance_id) is trusted


def test_what_firmware_or_control_plane_denies_is_not_even_asked():
    for cloud in (CloudFacts(vendor="qemu"), CloudFacts()):
        assert not vouched(None, cloud, "aws", "i-0abc")
    assert not vouched(None, EC2, "lab", "i-0abc")
    assert not vouched(None, EC2, "aws", None)


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[]", b'{"instanceId": null}'])
def test_an_answer_that_is_no_identity_document_proves_nothing(answer):
    class Odd:
        def run(self, script, **_):
            assert script == GUEST.proof
            return Completed(0, answer, b"")

    assert not vouched(Odd(), EC2, "aws", "i-0abc")


class TestVsphere:
    """A machine of vSphere's shows the UUID that vCenter gave it."""

    machine = CloudFacts(vendor="vsphere", product="VMware7,1")
    uuid = "421d0f2e-3c5b-7a69-8877-665544332211"

    def shows(self, text):
        class Firmware:
            def run(self, _script, *, root, **_):
                assert root, "nobody else may read it"
                return Completed(0, f"{text}\n".encode(), b"")

        return vouched(Firmware(), self.machine, "vsphere", self.uuid)

    def test_its_uuid_is_believed_in_both_byte_orders_and_no_other(self):
        assert self.shows(self.uuid.upper())
        assert self.shows("2e0f1d42-5b3c-697a-8877-665544332211")
        for text in ("421d0f2e-3c5b-7a69-8877-665544332212", "", "Not Specified"):
            assert not self.shows(text)


@pytest.mark.parametrize(
    ("vendor", "machine"),
    [("aws", "m5.large"), ("azure", "Standard_D2s_v5"), ("gcp", "n2-standard-8")],
)
def test_a_machine_asks_its_clouds_metadata_service_for_its_type(tmp_path, vendor, machine):
    facts = HostFacts(cloud=CloudFacts(vendor=vendor))
    assert with_machine_type(Guest(tmp_path, machine), facts).cloud.instance_type == machine
    assert with_machine_type(Guest(tmp_path), facts) == facts, "no service, no type"


@pytest.mark.parametrize("answer", [b"", b"<html>x</html>", b"a b", b"../x y", b"x" * 80, b"\xff"])
def test_an_answer_that_is_no_name_of_a_machine_type_is_none(answer):
    class Odd:
        def run(self, *_, **__):
            return Completed(0, answer, b"")

    facts = HostFacts(cloud=EC2)
    assert with_machine_type(Odd(), facts) == facts


def test_what_the_firmware_says_or_no_cloud_is_not_asked():
    told = CloudFacts(vendor="aws", instance_type="m5.large")
    for cloud in (CloudFacts(), CloudFacts(vendor="qemu"), told):
        assert with_machine_type(None, HostFacts(cloud=cloud)).cloud == cloud

"""What tests do with an emulated Compute Engine, by plain google-cloud-compute."""

import time
from contextlib import contextmanager

import pytest
from emulators.gcp import server
from emulators.gcp.cloud import PROJECT
from tests.cloud.rented import Emulated

REGION, ZONE = server.REGION, server.ZONE
UBUNTU = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64"
TOKEN = "somebody@example.com"  # noqa: S105 - the emulator takes the token for the name


class Gcp(Emulated):
    """A running emulator of Compute Engine."""

    @property
    def env(self):
        return server.environment(self.cloud)

    def client(self, kind):
        """A client of google-cloud-compute (`Disks`)."""
        from google.api_core.client_options import ClientOptions
        from google.cloud import compute_v1
        from google.oauth2.credentials import Credentials

        if kind not in self.clients:
            self.clients[kind] = getattr(compute_v1, f"{kind}Client")(
                credentials=Credentials(TOKEN),  # type: ignore[no-untyped-call]
                client_options=ClientOptions(api_endpoint=self.endpoint),
            )
        return self.clients[kind]

    def call(self, kind, method, **request):
        """One call, never repeated; for what changes anything, its operation as it began."""
        request.setdefault("project", PROJECT)
        return getattr(self.client(kind), method)(request=request, retry=None, timeout=120)

    def http(self, verb, path, body=None, *, token=TOKEN, **query):
        """A request as it is written, for what no client would send: status and JSON."""
        import json
        from urllib.error import HTTPError
        from urllib.parse import urlencode
        from urllib.request import Request, urlopen

        url = f"{self.endpoint}/compute/v1/projects/{PROJECT}/{path}?{urlencode(query)}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = Request(url, data, headers, method=verb)  # noqa: S310 - loopback
        try:
            with urlopen(request, timeout=120) as answer:  # noqa: S310
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    def left(self):
        """Everything rented, and everything of it on this machine."""
        return server.left(self.cloud)


def done(gcp, operation, within_s=240):
    """The operation at its end, however it ended."""
    deadline = time.monotonic() + within_s
    while operation.status.name != "DONE":
        assert time.monotonic() < deadline
        kind, where = "GlobalOperations", {}
        if operation.zone:
            kind, where = "ZoneOperations", {"zone": operation.zone.rpartition("/")[2]}
        operation = gcp.call(kind, "wait", operation=operation.name, **where)
    return operation


def well(gcp, operation):
    """The operation at its end, which is a good one."""
    found = done(gcp, operation)
    assert not found.error.errors, found.error
    return found


def disk(gcp, name="data", kind="pd-ssd", size=20, zone=ZONE, **more):
    """A disk; its URL."""
    asked = {"name": name, "type_": f"zones/{zone}/diskTypes/{kind}", "size_gb": size, **more}
    made = gcp.call("Disks", "insert_unary", zone=zone, disk_resource=asked)
    return str(well(gcp, made).target_link)


def wanted(keys=None, name="machine", zone=ZONE, **more):
    """The body of an instance."""
    items = [{"key": "enable-oslogin", "value": "FALSE"}]
    if keys is not None:
        items.append({"key": "user-data", "value": keys.user_data})
    image = {"source_image": UBUNTU, "disk_size_gb": 10}
    boot = {"boot": True, "auto_delete": True, "initialize_params": image}
    asked = {
        "name": name,
        "machine_type": f"zones/{zone}/machineTypes/n2-standard-4",
        "disks": [boot],
        "network_interfaces": [{"access_configs": [{"type_": "ONE_TO_ONE_NAT"}]}],
        "metadata": {"items": items},
        "tags": {"items": ["let-in"]},
    }
    return asked | more


def insert(gcp, asked, zone=ZONE, **more):
    """The operation that makes an instance."""
    return gcp.call("Instances", "insert_unary", zone=zone, instance_resource=asked, **more)


def launch(gcp, keys=None, **more):
    """A running instance."""
    asked = wanted(keys, **more)
    well(gcp, insert(gcp, asked))
    return instance(gcp, asked["name"])


def instance(gcp, name="machine", zone=ZONE):
    return gcp.call("Instances", "get", zone=zone, instance=name)


def let_in(gcp, **more):
    """The operation that makes a firewall rule for this machine's SSH."""
    asked = {
        "name": "ssh", "source_ranges": ["127.0.0.0/8"], "target_tags": ["let-in"],
        "allowed": [{"I_p_protocol": "tcp", "ports": ["22"]}], **more,
    }  # fmt: skip
    return gcp.call("Firewalls", "insert_unary", firewall_resource=asked)


def delete(gcp, name="machine", zone=ZONE):
    return gcp.call("Instances", "delete_unary", zone=zone, instance=name)


@contextmanager
def refused(status, reason):
    """The block ends with Compute's error of that HTTP status and reason."""
    from google.api_core.exceptions import GoogleAPICallError

    with pytest.raises(GoogleAPICallError) as caught:
        yield caught
    assert caught.value.code == status, caught.value
    assert reason in {one.get("reason") for one in caught.value.errors}, caught.value.errors

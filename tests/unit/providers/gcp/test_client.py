"""The one place where Compute Engine is called: at the endpoint that was named and nowhere else."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.cloud.eager import GCP

from diskbench.errors import InvalidValue, RentalFailed, Throttled
from diskbench.providers.gcp.client import Compute, GceTiming, GcpSessions, change
from diskbench.providers.gcp.errors import is_missing


class Wire:
    """Answers in order; the last one for ever."""

    def __init__(self):
        self.asked = []
        self.answers = []

    def serve(self, handler):
        length = int(handler.headers.get("content-length") or 0)
        body = json.loads(handler.rfile.read(length) or b"null")
        self.asked.append((handler.command, handler.path, body))
        status, told = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        data = told if isinstance(told, bytes) else json.dumps(told).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


@pytest.fixture
def wire():
    made = Wire()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            made.serve(self)

        def do_POST(self):
            made.serve(self)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        made.endpoint = f"http://127.0.0.1:{server.server_address[1]}"  # type: ignore[attr-defined]
        yield made
        server.shutdown()
        thread.join()


@pytest.fixture
def compute(wire, monkeypatch):
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    return GcpSessions().at("my-project", wire.endpoint, GCP)  # type: ignore[attr-defined]


def refusal(status, reason):
    told = {"code": status, "message": "no", "errors": [{"reason": reason, "message": "no"}]}
    return status, {"error": told}


RUNNING = {"name": "op-1", "status": "RUNNING", "operationType": "insert"}
ZONAL = {**RUNNING, "zone": "https://www.googleapis.com/compute/v1/projects/my-project/zones/z1"}
PROJECT = "/compute/v1/projects/my-project"


def test_a_request_and_its_answer_are_as_google_has_them(compute, wire):
    answer = {"name": "d", "sizeGb": "20", "status": "READY"}
    wire.answers = [(200, answer)]
    assert compute.call("disks", "get", {"zone": "z1", "disk": "d/../x"}) == answer
    # Another's project, and a name that would lead elsewhere.
    compute.call("images", "getFromFamily", {"project": "a.b:c", "family": "f"})
    asked = [(verb, path) for verb, path, _ in wire.asked]
    image = "/compute/v1/projects/a.b:c/global/images/family/f"
    assert asked == [("GET", f"{PROJECT}/zones/z1/disks/d%2F..%2Fx"), ("GET", image)]


def test_an_operation_is_asked_for_where_it_was_started(compute, wire):
    wire.answers = [(200, ZONAL), (200, ZONAL), (200, {**ZONAL, "status": "DONE"})]
    request = {"zone": "z1", "diskResource": {"name": "d"}, "requestId": "x"}
    change(compute, "disks", "insert", request, "disk d", 60)
    paths = [path.partition("?")[0].partition("/zones/z1/")[2] for _, path, _ in wire.asked]
    assert paths == ["disks", "operations/op-1", "operations/op-1"]
    assert wire.asked[0][2] == {"name": "d"}
    assert "requestId=x" in wire.asked[0][1]
    wire.answers, wire.asked = [(200, RUNNING), (200, {**RUNNING, "status": "DONE"})], []
    change(compute, "firewalls", "insert", {"firewallResource": {"name": "f"}}, "firewall f", 60)
    assert wire.asked[1][1].startswith(f"{PROJECT}/global/operations/op-1")


@pytest.mark.parametrize(
    "spoilt",
    [
        refusal(503, "backendError"),
        refusal(403, "rateLimitExceeded"),
        (200, b"<html>"),
        (200, b"[]"),
    ],
)
def test_a_call_that_fails_on_the_way_is_repeated(compute, wire, spoilt):
    wire.answers = [spoilt, spoilt, (200, {"name": "d"})]
    assert compute.call("disks", "get", {"zone": "z1", "disk": "d"}) == {"name": "d"}
    assert len(wire.asked) == 3


def test_a_call_that_google_refuses_is_not_repeated_and_an_endless_operation_given_up(
    compute, wire
):
    wire.answers = [refusal(404, "notFound")]
    with pytest.raises(InvalidValue) as refused:
        compute.call("disks", "get", {"zone": "z1", "disk": "d"})
    assert is_missing(refused.value)
    assert len(wire.asked) == 1
    wire.answers = [(200, ZONAL)]
    with pytest.raises(RentalFailed, match=r"disk d took longer than 0.2 s: insert is running"):
        change(compute, "disks", "insert", {"zone": "z1"}, "disk d", 0.2)


def test_all_pages_of_a_listing_and_all_zones_are_one(compute, wire):
    wire.answers = [
        (200, {"items": [{"name": "a"}], "nextPageToken": "more"}),
        (200, {"items": [{"name": "b"}]}),
    ]
    assert [item["name"] for item in compute.listed("firewalls")] == ["a", "b"]
    assert "pageToken=more" in wire.asked[1][1]
    empty = {"warning": {"code": "NO_RESULTS_ON_PAGE"}}
    items = {"zones/a": {"disks": [{"name": "d"}]}, "zones/b": empty}
    wire.answers = [(200, {"items": items})]
    assert compute.listed_everywhere("disks") == [{"name": "d"}]


UNREACHABLE = {"items": {"zones/b": {"warning": {"code": "UNREACHABLE"}}}}


@pytest.mark.parametrize("answer", [UNREACHABLE, {"items": {}, "unreachables": ["zones/b"]}])
def test_a_zone_that_did_not_answer_does_not_pass_for_an_empty_one(compute, wire, answer):
    wire.answers = [(200, answer)]
    hasty = Compute(compute.login, GceTiming(retry_s=0.1, first_retry_s=0.01, nap_s=0.01))
    with pytest.raises(Throttled, match="no data about zones/b"):
        hasty.listed_everywhere("disks")

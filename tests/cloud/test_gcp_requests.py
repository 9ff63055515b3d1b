"""What the emulated Compute Engine takes and gives, held to Google's discovery document."""

from __future__ import annotations

from typing import Any

import pytest
from emulators.gcp import discovery, schema
from tests.cloud.rented_gcp import (
    PROJECT,
    ZONE,
    Gcp,
    new_request_id,
    refused,
    well,
)

DISKS = f"zones/{ZONE}/disks"
PD_SSD = f"zones/{ZONE}/diskTypes/pd-ssd"


def message_of(gcp: Gcp, verb: str, path: str, body: object = None, **query: str) -> str:
    """With what words a request is refused, as 400."""
    status, answer = gcp.http(verb, path, body, **query)
    assert status == 400, answer
    return str(answer["error"]["message"])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": "d", "sizeGB": "20"}, 'Unknown name "sizeGB"'),
        ({"name": "Data"}, "Must be a match of regex"),
        ({"name": "d", "sizeGb": "twenty"}, "TYPE_INT64"),
        ({"name": "d", "sizeGb": str(2**63)}, "out of range"),
        ({"name": "d", "labels": ["a"]}, "an object is expected"),
        ({"name": "d", "accessMode": "READ_OFTEN"}, "Not one of"),
        ({"sizeGb": "20"}, "Required field not specified"),
        ({"name": "d", "labelFingerprint": "%%"}, "Base64"),
        ({"name": "d", "enableConfidentialCompute": "no"}, "TYPE_BOOL"),
        ({"name": "d", "labels": {"Team": "storage"}}, "Must be a match of regex"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_body_that_is_not_as_documented_is_refused(gcp: Gcp, body: Any, said: str) -> None:
    assert said in message_of(gcp, "POST", DISKS, body)


def test_an_integer_of_64_bits_is_a_string_in_answers_and_may_be_a_number_in_requests(
    gcp: Gcp,
) -> None:
    status, _ = gcp.http("POST", DISKS, {"name": "d", "sizeGb": 20, "type": PD_SSD})
    assert status == 200
    _, told = gcp.http("GET", f"{DISKS}/d")
    assert told["sizeGb"] == "20"
    assert isinstance(told["id"], str)


def test_a_parameter_that_nobody_documented_is_refused(gcp: Gcp) -> None:
    assert 'Unknown name "zone_name"' in message_of(gcp, "GET", DISKS, zone_name=ZONE)


def test_a_parameter_that_does_not_match_its_pattern_is_refused(gcp: Gcp) -> None:
    assert "field 'disk'" in message_of(gcp, "GET", f"{DISKS}/Data_1")


def test_who_does_not_say_who_he_is_is_refused(gcp: Gcp) -> None:
    status, answer = gcp.http("GET", "zones", token="")
    assert (status, answer["error"]["status"]) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sizeGb": 20}, "TYPE_INT64"),
        ({"status": "SLEEPING"}, "Not one of"),
        ({"colour": "blue"}, "Cannot find field"),
    ],
    ids=str,
)
def test_an_answer_that_google_never_gives_is_caught(wrong: Any, said: str) -> None:
    path = f"/compute/v1/projects/{PROJECT}/{DISKS}/d"
    found = discovery.match("GET", path)
    assert found is not None
    method, _ = found
    assert schema.answer_problems(method, {"name": "d", "sizeGb": "20"}) == []
    (problem,) = schema.answer_problems(method, {"name": "d"} | wrong)
    assert said in problem


# The same request twice.


def test_a_request_with_the_same_id_is_done_once(gcp: Gcp) -> None:
    asked = {
        "zone": ZONE,
        "disk_resource": {"name": "once", "size_gb": 20},
        "request_id": new_request_id(),
    }
    first = gcp.call("Disks", "insert_unary", **asked)
    assert gcp.call("Disks", "insert_unary", **asked).name == first.name
    well(gcp, first)
    assert gcp.call("Disks", "insert_unary", **asked).name == first.name


def test_the_id_of_another_request_is_refused(gcp: Gcp) -> None:
    same = new_request_id()
    for size, is_refused in ((20, False), (21, True)):
        asked = {"zone": ZONE, "disk_resource": {"name": "once", "size_gb": size}}
        if is_refused:
            with refused(400, "invalid"):
                gcp.call("Disks", "insert_unary", **asked, request_id=same)
        else:
            gcp.call("Disks", "insert_unary", **asked, request_id=same)


def test_a_request_that_was_refused_has_not_used_its_id_up(gcp: Gcp) -> None:
    asked = {"zone": ZONE, "disk_resource": {"name": "x", "size_gb": 20}}
    asked["request_id"] = new_request_id()
    gcp.faults.throttle("disks.insert")
    with refused(403, "rateLimitExceeded"):
        gcp.call("Disks", "insert_unary", **asked)
    well(gcp, gcp.call("Disks", "insert_unary", **asked))


@pytest.mark.parametrize("request_id", ["one", "00000000-0000-0000-0000-000000000000"])
def test_a_request_id_is_a_uuid(gcp: Gcp, request_id: str) -> None:
    with refused(400, "invalid"):
        gcp.call("Disks", "delete_unary", zone=ZONE, disk="d", request_id=request_id)

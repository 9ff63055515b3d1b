"""Lists of the emulated Compute Engine: filtered, in pages, and over all zones."""

from __future__ import annotations

import contextlib

import pytest
from emulators.gcp.call import Refusal
from emulators.gcp.filters import compile_filter
from hypothesis import given
from hypothesis import strategies as st
from tests.cloud.rented_gcp import ZONE, Gcp, disk, refused

DISKS = f"zones/{ZONE}/disks"


def test_lists_take_what_the_filter_says(gcp: Gcp) -> None:
    disk(gcp, "mine", labels={"lease": "a1"})
    disk(gcp, "other", labels={"lease": "a2"})
    for text in ("labels.lease=a1", '(labels.lease = "a1") AND (name:mi*)', "name != other"):
        found = gcp.call("Disks", "list", zone=ZONE, filter=text)
        assert [one.name for one in found] == ["mine"]


def test_a_filter_that_is_none_is_refused(gcp: Gcp) -> None:
    with refused(400, "invalid"):
        gcp.call("Disks", "list", zone=ZONE, filter="labels.lease=")


def test_lists_come_in_pages(gcp: Gcp) -> None:
    for name in ("a", "b", "c"):
        disk(gcp, name)
    _, first = gcp.http("GET", DISKS, maxResults="2")
    assert [one["name"] for one in first["items"]] == ["a", "b"]
    found = gcp.call("Disks", "list", zone=ZONE, max_results=2)
    assert [one.name for one in found] == ["a", "b", "c"]


def test_an_aggregated_list_names_every_zone_and_warns_of_empty_ones(gcp: Gcp) -> None:
    disk(gcp, "far", zone="europe-west1-b")
    _, told = gcp.http("GET", "aggregated/disks")
    assert [one["name"] for one in told["items"]["zones/europe-west1-b"]["disks"]] == ["far"]
    assert told["items"][f"zones/{ZONE}"]["warning"]["code"] == "NO_RESULTS_ON_PAGE"


WORDS = (
    "a", "name", "n", "eq", "ne", "=", "!=", ":", "<", "(", ")", "'['", "'", '"', "*", "AND", "OR",
    "NOT",
)  # fmt: skip
ROWS = [{"name": "a", "n": 1, "labels": {"k": "v"}}, {"name": "b", "n": 2}]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", "ab"),
        ("labels.k:*", "a"),
        ("NOT labels.k:*", "b"),
        ("labels.k!=v", "b"),
        ("name eq '[ab]'", "ab"),
        ("name ne a", "b"),
        ("n > 1", "b"),
        ("n <= 1 OR name=b", "ab"),
        ("(n=1) (labels.k=v)", "a"),
        ("n=1 AND labels.k=w", ""),
    ],
)
def test_a_filter_is_read_as_documented(text: str, names: str) -> None:
    assert "".join(row["name"] for row in ROWS if compile_filter(text)(row)) == names


@pytest.mark.slow
@given(st.lists(st.sampled_from(WORDS)))
def test_any_text_is_a_filter_or_refused(words: list[str]) -> None:
    with contextlib.suppress(Refusal):
        test = compile_filter(" ".join(words))
        assert {test(row) for row in ROWS} <= {True, False}

"""What permissions that Azure lists allow, whose a token is, and which usages are quotas."""

import base64
import json
from typing import Any

import pytest

from diskbench.providers.azure.doctor import _claims, actions, allowed, quotas

DISKS = "Microsoft.Compute/disks/write"


def role(*names: str, without: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"actions": list(names), "notActions": list(without)}


@pytest.mark.parametrize(
    ("roles", "may"),
    [
        ([role("*")], True),
        ([role("Microsoft.Compute/*")], True),
        ([role("microsoft.compute/DISKS/write")], True),
        ([role("*/write")], True),
        ([role("*/read")], False),
        ([role("*", without=("Microsoft.Compute/disks/*",))], False),
        ([role("*", without=("Microsoft.Compute/disks/*",)), role(DISKS)], True),
        ([role("*/read"), role("Microsoft.Network/*")], False),
        ([], False),
        ([{"actions": None, "notActions": None}], False),
    ],
)
def test_an_action_is_allowed_by_any_role_that_does_not_take_it_out_again(roles, may):
    assert allowed(roles, DISKS) is may


def test_a_contributor_may_all_that_the_role_asks_for():
    without = tuple(f"Microsoft.Authorization/*/{verb}" for verb in ("Delete", "Write"))
    contributor = role("*", without=without)
    assert [one for one in actions() if not allowed([contributor], one)] == []


def test_the_claims_of_a_token_are_read_and_anything_else_is_borne():
    told = base64.urlsafe_b64encode(json.dumps({"upn": "me@here"}).encode()).decode().rstrip("=")
    assert _claims(f"header.{told}.signature") == {"upn": "me@here"}
    for text in ("", "opaque", "a.b.c", "a.!!.c", "a.W10.c"):
        assert _claims(text) == {}


def test_only_usages_that_renting_counts_against_are_quotas():
    def usage(name: str, limit: int, used: int) -> dict[str, Any]:
        words = {"value": name, "localizedValue": f"{name} shown"}
        return {"name": words, "limit": limit, "currentValue": used}

    listed = [usage("cores", 100, 3), usage("standardDSv5Family", 10, 0), usage("images", 5, 0)]
    total, family = quotas(listed, "eastus")
    assert (total.kind, total.of, total.limit, total.used) == ("vcpus", (), 100, 3)
    assert (family.kind, family.of) == ("vcpus", ("standardDSv5Family",))
    assert total.name == "cores shown"

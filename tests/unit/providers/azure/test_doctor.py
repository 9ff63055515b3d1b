"""What permissions that Azure lists allow, whose a token is, and which usages are quotas."""

import base64
import json

from diskbench.providers.azure.doctor import _claims, actions, allowed, quotas

DISKS = "Microsoft.Compute/disks/write"


def role(*names, without=()):
    return {"actions": list(names), "notActions": list(without)}


def test_an_action_is_allowed_by_any_role_that_does_not_take_it_out_again():
    for name in ("*", "Microsoft.Compute/*", "microsoft.compute/DISKS/write", "*/write"):
        assert allowed([role(name)], DISKS)
    all_but_disks = role("*", without=("Microsoft.Compute/disks/*",))
    assert allowed([all_but_disks, role(DISKS)], DISKS)
    for one in (all_but_disks, role("*/read"), {"actions": None, "notActions": None}):
        assert not allowed([one], DISKS)
    assert not allowed([role("*/read"), role("Microsoft.Network/*")], DISKS)
    assert not allowed([], DISKS)


def test_a_contributor_may_all_and_the_claims_of_any_token_are_borne_and_usages_are_quotas():
    def usage(name, limit, used):
        words = {"value": name, "localizedValue": f"{name} shown"}
        return {"name": words, "limit": limit, "currentValue": used}

    listed = [usage("cores", 100, 3), usage("standardDSv5Family", 10, 0), usage("images", 5, 0)]
    total, family = quotas(listed, "eastus")
    assert (total.kind, total.of, total.limit, total.used) == ("vcpus", (), 100, 3)
    assert (family.kind, family.of) == ("vcpus", ("standardDSv5Family",))
    assert total.name == "cores shown"
    without = tuple(f"Microsoft.Authorization/*/{verb}" for verb in ("Delete", "Write"))
    contributor = role("*", without=without)
    assert [one for one in actions() if not allowed([contributor], one)] == []
    told = base64.urlsafe_b64encode(json.dumps({"upn": "me@here"}).encode()).decode().rstrip("=")
    assert _claims(f"header.{told}.signature") == {"upn": "me@here"}
    for text in ("", "opaque", "a.b.c", "a.!!.c", "a.W10.c"):
        assert _claims(text) == {}

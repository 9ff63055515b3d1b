"""What the doctor says of privileges on many objects, and what the page says of them."""

import re
from pathlib import Path

from diskbench.providers.vsphere.doctor import judged, privileges

ROOT = Path(__file__).parents[4]
BOTH = ("Datastore.AllocateSpace", "Datastore.Browse")


def granted(*names: str) -> dict[str, bool]:
    return {name: name in names for name in BOTH}


def test_one_object_must_grant_all_and_what_is_missing_on_the_best_of_them_is_named():
    (told,) = judged("datastore", BOTH, [granted(), granted(*BOTH), granted(BOTH[0])])
    assert (told.state, told.told) == ("ok", "datastore: all 2 privileges on 1 of 3")
    (told,) = judged("datastore", BOTH, [granted(), granted(BOTH[0])])
    assert (told.state, told.told) == ("problem", "datastore: Datastore.Browse is missing")
    assert "--print-policy vsphere" in told.advice
    assert judged("datastore", BOTH, [granted(BOTH[0]), granted(BOTH[1])])[0].state == "problem"
    assert judged("datastore", BOTH, [])[0].state == "problem"
    (told,) = judged("vCenter", ("StorageProfile.View",), [{"StorageProfile.View": False}])
    assert told.state == "warning"
    assert "--storage-policy needs" in told.told


def test_the_page_names_the_same_privileges_on_the_same_objects():
    text = (ROOT / "docs/vsphere.md").read_text()
    rows = re.findall(r"^\| ([a-zC ]+?)(?:, for [^|]*)? \| (`[A-Z].*) \|$", text, re.M)
    shown: dict[str, set[str]] = {}
    for kind, names in rows:
        shown.setdefault(kind, set()).update(re.findall(r"`([\w.]+)`", names))
    assert {kind: tuple(sorted(names)) for kind, names in shown.items()} == privileges()

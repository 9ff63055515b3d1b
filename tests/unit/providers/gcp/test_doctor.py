"""The role allows what the program calls and nothing more, and the page shows it; which of a
region's quotas renting counts against."""

import ast
import re
from pathlib import Path

import yaml

import diskbench.providers.gcp as package
from diskbench.providers.gcp.doctor import NEEDS, OPTIONAL, permissions, policy, quotas

ROOT = Path(__file__).parents[4]
BY_FUNCTION = {
    "listed": "list", "listed_everywhere": "list", "offered": "list", "describe": "get",
    "found": "get",
}  # fmt: skip
"""What our own functions call of the collection that they are given."""
INDIRECT = {
    "instances.delete", "disks.delete", "firewalls.delete", "snapshots.delete", "disks.insert",
    "regionDisks.delete", "regionDisks.get", "regionDisks.insert",
    "zoneOperations.get", "regionOperations.get", "globalOperations.get",
}  # fmt: skip
"""What is called by a name that is made of a resource's place or of a loop."""


def called():
    """Every method of the API that the adapter's code names."""
    found = set(INDIRECT)
    for file in Path(package.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                found |= set(_of_call(node))
    return found


def _of_call(node):
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    words = [str(a.value) for a in node.args if isinstance(a, ast.Constant)]
    if name in {"call", "change"} and len(words) >= 2:
        yield f"{words[0]}.{words[1]}"
    elif name == "_change" and words:
        yield f"instances.{words[0]}"
    elif name in BY_FUNCTION and words:
        named = [k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)]
        yield f"{words[0]}.{named[0] if name == 'found' and named else BY_FUNCTION[name]}"


def test_the_role_allows_what_is_called_and_the_page_shows_it_as_it_is_printed():
    assert called() == set(NEEDS)
    role = yaml.safe_load(policy())
    needed = {f"compute.{permission}" for names in NEEDS.values() for permission in names}
    wanted = sorted(needed | OPTIONAL.keys())
    assert role["includedPermissions"] == wanted == list(permissions())
    assert len(wanted) <= 100, 'more than "projects.testIamPermissions" takes'
    (text,) = re.findall(r"```yaml\n(.*?)\n```", (ROOT / "docs/gcp.md").read_text(), re.DOTALL)
    assert text == policy()


def test_totals_families_and_disks_are_told_apart():
    def told(**limits):
        return [{"metric": name, "limit": one, "usage": 8.0} for name, one in limits.items()]

    limits = {"CPUS": 24, "C3_CPUS": 8, "PREEMPTIBLE_CPUS": 0, "COMMITTED_CPUS": 0}
    listed = told(**limits, SSD_TOTAL_GB=500, SNAPSHOTS=10_000)
    project = told(CPUS_ALL_REGIONS=12, NETWORKS=5)
    found = {one.name: one for one in quotas(listed, project, "us-east1")}
    assert set(found) == {
        "CPUS", "C3_CPUS", "PREEMPTIBLE_CPUS", "SSD_TOTAL_GB", "CPUS_ALL_REGIONS",
        "CPUS_PER_VM_FAMILY",
    }  # fmt: skip
    assert (found["CPUS"].kind, found["CPUS"].used) == ("vcpus", 8)
    assert {"n1", "e2"} < set(found["CPUS"].of)
    assert (found["CPUS_ALL_REGIONS"].of, found["CPUS_ALL_REGIONS"].limit) == ((), 12)
    assert {"n4", "c4", "c4d", "z3", "h4d"} < set(found["CPUS_PER_VM_FAMILY"].of)
    assert found["CPUS_PER_VM_FAMILY"].limit is None
    counted = [family for one in found.values() if one.kind == "vcpus" for family in one.of]
    assert len(counted) == len(set(counted)), "a family counts in one of them"
    assert (found["C3_CPUS"].kind, found["C3_CPUS"].of) == ("vcpus", ("c3",))
    assert found["PREEMPTIBLE_CPUS"].kind == "spot-vcpus"
    assert found["SSD_TOTAL_GB"].of == ("pd-balanced", "pd-ssd", "pd-extreme")
    assert {one.region for one in found.values()} == {"us-east1"}

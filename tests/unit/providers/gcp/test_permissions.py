"""The role that the page shows allows what the program calls, and nothing more."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

import diskbench.providers.gcp as package

ROOT = Path(__file__).parents[4]
NEEDS = {
    "projects.get": ["projects.get"],
    "regions.get": ["regions.get"],
    "regions.list": ["regions.list"],
    "machineTypes.list": ["machineTypes.list"],
    "diskTypes.list": ["diskTypes.list"],
    "images.get": ["images.get"],
    "images.getFromFamily": ["images.getFromFamily"],
    "networks.get": ["networks.get"],
    "subnetworks.get": ["subnetworks.get"],
    "zoneOperations.get": ["zoneOperations.get"],
    "globalOperations.get": ["globalOperations.get"],
    "globalOperations.list": ["globalOperations.list"],
    "firewalls.list": ["firewalls.list"],
    "firewalls.insert": ["firewalls.create", "networks.updatePolicy"],
    "firewalls.delete": ["firewalls.delete", "networks.updatePolicy"],
    "instances.list": ["instances.list"],
    "instances.get": ["instances.get"],
    "instances.insert": [
        "instances.create", "instances.setLabels", "instances.setMetadata", "instances.setTags",
        "disks.create", "disks.setLabels", "images.useReadOnly", "subnetworks.use",
        "subnetworks.useExternalIp", "resourcePolicies.use",
    ],
    "instances.delete": ["instances.delete", "disks.delete"],
    "instances.attachDisk": ["instances.attachDisk", "instances.use", "disks.use"],
    "instances.setDiskAutoDelete": ["instances.setDiskAutoDelete"],
    "disks.list": ["disks.list"],
    "disks.get": ["disks.get"],
    "disks.insert": ["disks.create", "disks.setLabels"],
    "disks.delete": ["disks.delete"],
}  # fmt: skip
"""What each call needs (Compute Engine API reference, "IAM permissions" of each method)."""
BY_FUNCTION = {
    "listed": "list", "listed_everywhere": "list", "offered": "list", "describe": "get",
    "_insert": "insert",
}  # fmt: skip
"""What our own functions call of the collection that they are given."""
DELETED = {"instances.delete", "disks.delete", "firewalls.delete"}
"""teardown.py goes through the three in a loop."""


def called() -> set[str]:
    """Every method of the API that the adapter's code names."""
    found = set(DELETED)
    for file in Path(package.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                found |= set(_of_call(node))
    return found


def _of_call(node: ast.Call) -> Iterator[str]:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    words = [str(a.value) for a in node.args if isinstance(a, ast.Constant)]
    if name in {"call", "change"} and len(words) >= 2:
        yield f"{words[0]}.{words[1]}"
    elif name == "_asked":
        yield f"images.{words[0]}"
    elif name in BY_FUNCTION and words:
        yield f"{words[0]}.{BY_FUNCTION[name]}"


def allowed() -> set[str]:
    (text,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/gcp.md").read_text(), re.DOTALL)
    role: list[str] = yaml.safe_load(text)["includedPermissions"]
    assert role == sorted(role)
    return set(role)


def test_every_call_is_known_with_what_it_needs() -> None:
    assert called() == set(NEEDS)


def test_the_role_allows_what_is_called() -> None:
    needed = {f"compute.{permission}" for names in NEEDS.values() for permission in names}
    assert needed == allowed()

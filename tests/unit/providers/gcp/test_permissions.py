"""The role allows what the program calls and nothing more, and the page shows it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

import diskbench.providers.gcp as package
from diskbench.providers.gcp.policy import NEEDS, OPTIONAL, permissions, policy

ROOT = Path(__file__).parents[4]
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
    elif name == "_look_up":
        yield f"images.{words[0]}"
    elif name in BY_FUNCTION and words:
        yield f"{words[0]}.{BY_FUNCTION[name]}"


def test_every_call_is_known_with_what_it_needs() -> None:
    assert called() == set(NEEDS)


def test_the_role_allows_what_is_called() -> None:
    role = yaml.safe_load(policy())
    needed = {f"compute.{permission}" for names in NEEDS.values() for permission in names}
    wanted = sorted(needed | OPTIONAL.keys())
    assert role["includedPermissions"] == wanted == list(permissions())


def test_the_page_shows_the_role_as_it_is_printed() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)\n```", (ROOT / "docs/gcp.md").read_text(), re.DOTALL)
    assert text == policy()


def test_the_doctor_can_ask_about_all_of_it_at_once() -> None:
    """Resource Manager, "projects.testIamPermissions": at most 100."""
    assert len(permissions()) <= 100

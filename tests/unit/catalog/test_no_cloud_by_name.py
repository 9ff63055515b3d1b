"""No code outside the providers' folders decides by the name of a provider with a catalogue.

What differs between providers stands in their plugin (diskbench/plugin.py) and in their catalogue's
files (catalog/yaml_loader.py); a branch on a name would leave out the provider of somebody else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import diskbench
from diskbench.catalog.yaml_loader import catalogues

ROOT = Path(diskbench.__file__).parent
NAMES = frozenset(catalogues())
_OWN_CODE = ("providers/", "store/migrations/")
"""Code of providers, and the past that migrations keep."""
_OTHER_MEANINGS = {"store/urls.py", "store/evidence.py"}
"""Where the word names something else: schemes of URLs of object stores."""
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in ROOT.rglob("*.py")
    if not path.relative_to(ROOT).as_posix().startswith(_OWN_CODE)
    and path.relative_to(ROOT).as_posix() not in _OTHER_MEANINGS
)


def names_in(node: ast.AST) -> set[str]:
    """Names of providers among the constants of an expression."""
    return {
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value in NAMES
    }


def branches(tree: ast.Module) -> Iterator[str]:
    """Where a module compares something with a provider's name, looks something up by one, or keeps
    a table or set of them."""
    for node in ast.walk(tree):
        found: set[str] = set()
        if isinstance(node, ast.Compare):
            found = set().union(*map(names_in, (node.left, *node.comparators)))
        elif isinstance(node, ast.MatchValue | ast.MatchOr):
            found = names_in(node)
        elif isinstance(node, ast.Dict):
            found = set().union(*(names_in(key) for key in node.keys if key is not None), set())
        elif isinstance(node, ast.Set | ast.Tuple | ast.List):
            found = set().union(*(names_in(one) for one in node.elts), set())
        elif isinstance(node, ast.Call):
            found = set().union(*map(names_in, node.args), set())
        elif isinstance(node, ast.Subscript):
            found = names_in(node.slice)
        if found:
            yield f"line {node.lineno}: {', '.join(sorted(found))}"


def test_nothing_is_decided_by_the_name_of_a_provider() -> None:
    found = {}
    for name in FILES:
        text = (ROOT / name).read_text(encoding="utf-8")
        if any(f"{one}{quote}" in text for one in NAMES for quote in "'\""):
            found[name] = list(branches(ast.parse(text)))
    assert {name: told for name, told in found.items() if told} == {}


@pytest.mark.parametrize(
    "text",
    [
        'if cloud == "aws":\n    pass\n',
        'x = 1 if "azure" != cloud else 2\n',
        'found = cloud in {"gcp", "vsphere"}\n',
        'match cloud:\n    case "aws" | "gcp":\n        pass\n',
        'UNITS = {"azure": 10**6}\n',
        'book = limits("azure", "temp-disk", 1)\n',
        'CLOUDS = ("aws", "azure", "gcp")\n',
        'unit = units["azure"]\n',
    ],
)
def test_the_scan_finds_a_branch(text: str) -> None:
    assert list(branches(ast.parse(text)))

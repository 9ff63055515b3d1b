"""A variable, an argument or a field is named for what it holds: not one of VAGUE."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import diskbench

SOURCE = Path(diskbench.__file__).parent
VAGUE = {
    "one": "name what it is one of: row, disk, machine, match, entry",
    "found": "name what was found: disk, lease, problem, match, a list of items",
    "told": "name what is said: message, summary, reason; or who reported it: reported, described",
}
PAST = "store/migrations/versions"
"""Committed migrations are never edited."""
PUBLIC = {
    ("model/finding.py", "Finding.told"),
    ("providers/error_table.py", "ErrorRow.found"),
    ("providers/skeleton/leases.py", "Tagged.told"),
}
"""Fields that providers of other packages set (docs/contributing/provider.md), or that `doctor`
prints."""


def names(source: str) -> Iterator[tuple[int, str]]:
    """The line and the name of every variable, argument and attribute that is bound: a field with
    the name of its class."""
    tree = ast.parse(source)
    fields = {
        id(line.target): f"{node.name}.{line.target.id}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, fields.get(id(node), node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def vague(path: str, source: str) -> list[str]:
    """What is named so in one file, with what to do."""
    return [
        f"{path}:{line}: {name!r}: {VAGUE[last]}"
        for line, name in names(source)
        if (last := name.rpartition(".")[2].lstrip("_")) in VAGUE and (path, name) not in PUBLIC
    ]


def test_no_name_hides_what_it_holds() -> None:
    findings = [
        finding
        for path in sorted(SOURCE.rglob("*.py"))
        if PAST not in path.as_posix()
        for finding in vague(str(path.relative_to(SOURCE)), path.read_text())
    ]
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "for one in range(3): pass",
        "with open('x') as one: pass",
        "sizes = [one.size for one in disks]",
        "if found := read(): pass",
        "def size(one): pass",
        "size = lambda one: one.size",
        "def told(*, told=None): pass",
        "class Disk:\n    found: int",
        "class Disk:\n    _told = 0",
        "self.found = 1",
    ],
)
def test_each_way_to_bind_a_name_is_seen(source: str) -> None:
    assert len(vague("x.py", source)) == 1


def test_calls_keywords_and_attributes_of_others_are_no_names_of_ours() -> None:
    source = "leases = provider.found(scope, told='one').found"
    assert vague("x.py", source) == []


def test_every_public_field_is_still_there() -> None:
    paths = {path for path, _ in PUBLIC}
    named = {(path, name) for path in paths for _, name in names((SOURCE / path).read_text())}
    assert named >= PUBLIC

"""What test modules hold: each of pytest's processes imports all of them, and keeps it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from types import ModuleType

MIB = 2**20
MOST = 16 * MIB
"""Bytes that the texts of one module may take; larger ones are made by the test that reads them."""


def size_of(value: object, depth: int = 3) -> int:
    """Bytes of a text, or of the texts in a collection, in it and so on."""
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    if depth == 0 or not isinstance(value, Collection):
        return 0
    if isinstance(value, Mapping):
        return sum(size_of(one, depth - 1) for one in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return sum(size_of(one, depth - 1) for one in value)
    return 0


def held(module: ModuleType) -> int:
    """Bytes of the texts that a module's names refer to."""
    return sum(size_of(value) for name, value in vars(module).items() if name[:2] != "__")


def test_no_module_of_tests_holds_much() -> None:
    modules = [one for name, one in list(sys.modules.items()) if name.startswith("tests.")]
    large = {one.__name__: held(one) // MIB for one in modules if held(one) > MOST}
    assert large == {}, "MiB; make it in the test that reads it"


def test_what_a_module_holds_is_counted() -> None:
    module = ModuleType("made")
    module.HOSTILE = {"a": [b"x" * MIB], "b": ("y" * MIB, 1)}  # type: ignore[attr-defined]
    module.MADE = {"a": lambda: b"x" * MIB}  # type: ignore[attr-defined]
    assert held(module) == 2 * MIB

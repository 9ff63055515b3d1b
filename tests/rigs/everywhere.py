"""A function replaced wherever diskbench has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.rigs.dying import holders

if TYPE_CHECKING:
    from types import ModuleType


def replace_everywhere(monkeypatch: Any, module: ModuleType, name: str, new: Any) -> None:
    """Replace `module.name`, in every module that imported it, until the test ends."""
    for holder in holders(getattr(module, name), name):
        monkeypatch.setattr(holder, name, new)

"""Figures refreshed from a cloud's own APIs, as patches for the shipped files: pure.

A patch has the form of the file that it patches, so that the rules of that file apply to the
result: a figure without a listed source is refused. catalog/books.py applies overlays to the files;
store/overlays.py reads and writes them.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import field_validator

from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MACHINES: Final = "machines.yaml"
PRICES: Final = "prices.yaml"
REFRESHED_FILES: Final = frozenset({MACHINES, PRICES})
"""The files of a provider that an overlay may patch. Its other files stay as shipped."""
FORMAT: Final = 2
"""Format number of overlays; format 1 patched files that each cloud had in a form of its own."""


class Overlay(Frozen):
    """The patches of one provider's files, by the files' names; `made_on` is the day of the
    answers, `region` that of the prices."""

    format: Literal[2] = FORMAT
    cloud: str
    region: str
    made_on: str
    patches: dict[str, dict[str, Any]]

    @field_validator("patches")
    @classmethod
    def _files_can_be_patched(cls, patches: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        if unknown := patches.keys() - REFRESHED_FILES:
            raise ValueError(
                f"{', '.join(sorted(unknown))} cannot be refreshed; "
                f"only {', '.join(sorted(REFRESHED_FILES))} can"
            )
        return patches


def digest_of(overlays: Sequence[Overlay]) -> str | None:
    """Return a digest of the overlays that does not depend on their order; None without overlays
    (the shipped catalogue)."""
    if not overlays:
        return None
    in_order = sorted(overlays, key=lambda overlay: overlay.cloud)
    dumped = [overlay.model_dump(mode="json") for overlay in in_order]
    text = json.dumps(dumped, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return `below` patched with `above`: mappings are merged, other values replaced."""
    result = dict(below)
    for key, value in above.items():
        held = result.get(key)
        are_mappings = isinstance(held, dict) and isinstance(value, dict)
        result[key] = merged(held, value) if are_mappings else value  # type: ignore[arg-type]
    return result

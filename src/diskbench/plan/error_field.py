"""Which place of a cell an error is about, and the error in the words of a matrix file: pure.

What an error is about is its `field`. Its text names the flags of `diskbench run` (`--size 20.5`),
since the rules of the flags are those of the fields: shown for a matrix, flags are called as their
fields. Nothing is decided by the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from diskbench.model.matrix import MAPPING_FIELDS
from diskbench.plan.matrix_model import cell_model
from diskbench.plan.rent_flags import field_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.errors import DiskbenchError

_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def in_fields(text: str) -> str:
    """`text` with the names of fields in place of flags."""

    def named(found: re.Match[str]) -> str:
        field = field_of(found[0])
        return field if field in cell_model().model_fields else found[0]

    return _FLAG.sub(named, text)


def blamed(error: DiskbenchError, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The field of a cell that an error is about, and for one of a mapping its key; () for an error
    that is about none of the `fields` that the cell has."""
    name, _, key = error.field.partition(".")
    if name in MAPPING_FIELDS and key:
        return name, key
    return (name,) if name in fields else ()

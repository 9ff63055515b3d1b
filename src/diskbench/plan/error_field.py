"""Which place of a cell an error is about, and the error in the words of a matrix file: pure.

An error names its subject in `field`. Its text names the flags of `diskbench run` (`--size 20.5`),
because flags and fields share their rules; for a matrix the flags in the text are replaced by the
field names. No decision depends on the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from diskbench.model.matrix import MAPPING_FIELDS
from diskbench.plan.matrix_model import cell_model
from diskbench.plan.rent_options import field_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.errors import DiskbenchError

_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def in_fields(text: str) -> str:
    """Return `text` with each flag replaced by the name of its field."""

    def field_name(match: re.Match[str]) -> str:
        field = field_of(match[0])
        return field if field in cell_model().model_fields else match[0]

    return _FLAG.sub(field_name, text)


def fields_of(error: DiskbenchError, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the field of a cell that an error is about, followed by the key if the field is a
    mapping; () if the error is about none of the cell's `fields`."""
    name, _, key = error.field.partition(".")
    if name in MAPPING_FIELDS and key:
        return name, key
    return (name,) if name in fields else ()

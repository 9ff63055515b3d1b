"""Which field of a cell an error is about, and the error in the words of a matrix file: pure.

Errors name the flags of `diskbench run` (`--size 20.5`), since the rules of the flags are those of
the fields. Here flags become fields, and the field that is named first is the one to look at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from diskbench.errors import UnknownName
from diskbench.model.matrix import CellFields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.errors import DiskbenchError

_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
_OF_FLAG = {"set": "parameters", "label": "labels"}
_WORDS = {"size": "size", "iops": "iops", "throughput": "throughput", "zone": "zone"}
"""Words by which the catalogue speaks of a field: `gp2: size 20,000 GiB is not sold`."""


def field_of_flag(flag: str) -> str:
    """The field that a flag, without its dashes, sets."""
    return _OF_FLAG.get(flag, flag.replace("-", "_"))


def in_fields(text: str) -> str:
    """`text` with the names of fields in place of flags."""

    def named(found: re.Match[str]) -> str:
        field = field_of_flag(found[1])
        return field if field in CellFields.model_fields else found[0]

    return _FLAG.sub(named, text)


def blamed(error: DiskbenchError, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The field that an error is about, and for one of a mapping its key; () where no field is.

    A name that does not exist is looked for among the values; else the first flag counts, then
    a field that the message begins with, then a word for one, then any value that is shown.
    """
    inside = _in_a_mapping(error, fields)
    if inside:
        return inside
    if isinstance(error, UnknownName):
        for name, value in fields.items():
            if error.value in {str(value), str(value).partition(":")[2]}:
                return (name,)
    flags = (field_of_flag(flag) for flag in _FLAG.findall(error.message))
    words = error.message.split()
    found = next((name for name in flags if name in fields), None)
    found = found or next((word for word in words[:2] if word in fields), None)
    found = found or _by_word(error.message.lower(), fields)
    found = found or next(
        (
            name
            for name, value in fields.items()
            if isinstance(value, str) and value in error.message
        ),
        None,
    )
    return (found,) if found else ()


def _in_a_mapping(error: DiskbenchError, fields: Mapping[str, Any]) -> tuple[str, ...]:
    if isinstance(error, UnknownName) and error.kind.startswith("parameter of"):
        return "parameters", error.value
    for key in dict(fields.get("parameters") or {}):
        if error.message.startswith(f"parameter {key}="):
            return "parameters", key
    return ("labels",) if error.message.startswith("label key") else ()


def _by_word(message: str, fields: Mapping[str, Any]) -> str | None:
    said = [(message.find(word), name) for word, name in _WORDS.items() if name in fields]
    return next((name for at, name in sorted(said) if at >= 0), None)

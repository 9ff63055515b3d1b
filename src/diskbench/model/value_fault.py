"""Why a model refused a value, in words for people: pure.

pydantic's own text ("Input should be a valid integer, unable to parse string as an integer") names
neither the value nor a remedy, so nothing shows it to a user.
"""

import re

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from diskbench.errors import DiskbenchError
from diskbench.visible import quoted

_KINDS = {
    "string": "text", "int": "a whole number", "float": "a number", "finite": "a finite number",
    "bool": "true or false", "tuple": "a list", "list": "a list", "dict": "a mapping",
    "model": "a mapping", "datetime": "a date and time", "date": "a date", "url": "a URL",
    "path": "a path",
}  # fmt: skip
"""What pydantic's error types begin with → what the value must be."""
_BOUNDS = {"gt": "greater than", "ge": "at least", "lt": "less than", "le": "at most"}
"""The names of pydantic's bounds, in words."""
_LENGTHS = {"min_length": "at least", "max_length": "at most"}
_MOST = 8
"""Errors of one value that are described; the others are counted."""


def value_fault(error: ErrorDetails) -> tuple[str, str]:
    """Describe one error of a pydantic.ValidationError by its type, value and bounds: the reason,
    which begins with the value (`'many' is not a whole number`), and what would do or ""."""
    kind, value = error["type"], error["input"]
    if kind == "missing":
        return "a value is missing", ""
    if kind == "extra_forbidden":
        return "there is no such field", ""
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", "")))
        return f"{shown(value)} is not one of {', '.join(known)}", ""
    if kind == "value_error":
        raised = error.get("ctx", {})["error"]
        if isinstance(raised, ValidationError):  # of one value in a list
            return value_fault(raised.errors(include_url=False)[0])
        if isinstance(raised.__cause__, DiskbenchError):
            return raised.__cause__.message, raised.__cause__.advice
        return str(raised), ""
    name, _, ending = kind.partition("_")
    if ending in {"type", "from_float", "parsing", "number", "attributes_type"} and name in _KINDS:
        return f"{shown(value)} is not {_KINDS[name]}", ""
    bounds = error.get("ctx", {})
    if kind == "json_invalid":
        return f"is not JSON: {bounds['error']}", ""
    if kind == "string_pattern_mismatch":
        return f"{shown(value)} does not match {bounds['pattern']}", ""
    words = [f"{word} {bounds[name]}" for name, word in _BOUNDS.items() if name in bounds]
    words += [f"{word} {bounds[name]} long" for name, word in _LENGTHS.items() if name in bounds]
    advice = f"it must be {' and '.join(words)}" if words else ""
    return f"{shown(value)} is {'out of range' if words else 'not valid'}", advice


def value_faults(error: Exception, subject: str) -> str:
    """Describe each error of a ValidationError with its field (`steps.0.size: 'x' is not a number`,
    `subject` stands for no field); return the text of another exception."""
    if not isinstance(error, ValidationError):
        return str(error)
    errors, known = error.errors(include_url=False), []
    for detail in errors[:_MOST]:
        field = ".".join(map(str, detail["loc"])) or subject
        known.append(f"{field}: {', '.join(filter(None, value_fault(detail)))}")
    return "; ".join([*known, *([f"and {len(errors) - _MOST} more"] if errors[_MOST:] else [])])


def shown(value: object) -> str:
    """Return a value as a message quotes it; a mapping or a list by its kind alone."""
    match value:
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case bool():
            return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else repr(value)

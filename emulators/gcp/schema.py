"""Values against the schemas of the discovery document.

Wordings: as the service refuses (google.rpc "Cannot find field" for unknown names, Compute's own
"Invalid value for field" for the rest).
"""

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from emulators.gcp.discovery import Method, common_parameters, schemas

_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
_SYSTEM = frozenset({"$alt", "$prettyPrint", "$fields"})
"""The common parameters under the names that Google's newer clients use."""


def request_problems(method: Method, path: dict[str, str], query: dict[str, str]) -> list[str]:
    """What is wrong with the parameters of a request."""
    found = []
    for name, said in method.parameters.items():
        value = (path if said["location"] == "path" else query).get(name)
        if value is None:
            if said.get("required"):
                found.append(f"Required field '{name}' not specified")
        elif not _parameter_fits(said, value):
            found.append(f"Invalid value for field '{name}': '{value}'.")
    known = method.parameters.keys() | common_parameters().keys() | _SYSTEM
    unknown = 'Invalid JSON payload received. Unknown name "{}": Cannot bind query parameter.'
    return found + [unknown.format(name) for name in query if name not in known]


def body_problems(method: Method, body: Any) -> list[str]:
    """What is wrong with the body of a request."""
    if method.request is None:
        return ["This method takes no body."] if body else []
    return list(_problems({"$ref": method.request}, body, "resource", method.name))


def answer_problems(method: Method, answer: Any) -> list[str]:
    """What is wrong with an answer of ours."""
    if method.response is None:
        return []
    return list(_problems({"$ref": method.response}, answer, "answer", None))


def settable(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """The value without what only the service sets; it ignores that in requests."""
    taken = _settable({"$ref": name}, value)
    assert isinstance(taken, dict)
    return taken


def _settable(said: dict[str, Any], value: Any) -> Any:
    said = _resolved(said)
    if isinstance(value, list):
        return [_settable(said["items"], one) for one in value]
    if not isinstance(value, dict) or "properties" not in said:
        return value
    known = said["properties"]
    return {
        key: _settable(known[key], one) for key, one in value.items() if not _is_output(known[key])
    }


def _is_output(said: dict[str, Any]) -> bool:
    return bool(said.get("readOnly")) or said.get("description", "").startswith("[Output Only]")


def _resolved(said: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schemas()[said["$ref"]] if "$ref" in said else said
    return found


def _problems(said: dict[str, Any], value: Any, where: str, method: str | None) -> Iterator[str]:
    """`method` names the method of a request; None for an answer, which must be stricter."""
    said = _resolved(said)
    match said.get("type"):
        case "object":
            yield from _of_object(said, value, where, method)
        case "array":
            if not isinstance(value, list):
                yield f"Invalid value at '{where}': a list is expected"
                return
            for i, one in enumerate(value):
                yield from _problems(said["items"], one, f"{where}[{i}]", method)
        case "boolean":
            if not isinstance(value, bool):
                yield f"Invalid value at '{where}' (TYPE_BOOL), {value!r}"
        case "integer" | "number":
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                yield f"Invalid value at '{where}' (TYPE_INT32), {value!r}"
            elif not _in_range(said, value):
                yield f"Invalid value at '{where}' (TYPE_INT32), Value out of range: {value}"
        case "string":
            yield from _of_string(said, value, where, method)


def _of_object(said: dict[str, Any], value: Any, where: str, method: str | None) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"Invalid value at '{where}': an object is expected"
        return
    known = said.get("properties", {})
    for key, one in value.items():
        if key in known:
            if method is None or not _is_output(known[key]):
                yield from _problems(known[key], one, f"{where}.{key}", method)
        elif "additionalProperties" in said:
            yield from _problems(said["additionalProperties"], one, f"{where}.{key}", method)
        else:
            yield (
                f"Invalid JSON payload received. Unknown name \"{key}\" at '{where}': "
                "Cannot find field."
            )
    for key, one in known.items():
        needed = one.get("annotations", {}).get("required", ())
        if method is not None and f"compute.{method}" in needed and key not in value:
            yield f"Invalid value for field '{where}.{key}': ''. Required field not specified"


def _of_string(said: dict[str, Any], value: Any, where: str, method: str | None) -> Iterator[str]:
    form = said.get("format")
    if form in {"int64", "uint64"}:
        # Written as a string; a number is taken from a client, and never given to one.
        as_number = isinstance(value, int) and not isinstance(value, bool) and method is not None
        if not as_number and not (isinstance(value, str) and re.fullmatch(r"-?\d+", value)):
            yield f"Invalid value at '{where}' (TYPE_INT64), {value!r}"
        elif not _in_range(said, int(value)):
            yield f"Invalid value at '{where}' (TYPE_INT64), Value out of range: {value}"
        return
    if not isinstance(value, str):
        yield f"Invalid value at '{where}' (TYPE_STRING), {value!r}"
    elif "enum" in said and value not in said["enum"]:
        yield f"Invalid value for field '{where}': '{value}'. Not one of {said['enum']}."
    elif "pattern" in said and not _pattern(said["pattern"]).fullmatch(value):
        yield (
            f"Invalid value for field '{where}': '{value}'. Must be a match of regex "
            f"'{said['pattern']}'"
        )
    elif form == "byte" and not _is_base64(value):
        yield f"Invalid value at '{where}' (TYPE_BYTES), Base64 decoding failed for {value!r}"


def _parameter_fits(said: dict[str, Any], value: str) -> bool:
    if "pattern" in said and not _pattern(said["pattern"]).fullmatch(value):
        return False
    if "enum" in said and value not in said["enum"]:
        return False
    match said.get("type"):
        case "boolean":
            return value in {"true", "false"}
        case "integer":
            return bool(re.fullmatch(r"-?\d+", value)) and _in_range(said, int(value))
    return True


def _in_range(said: dict[str, Any], value: float) -> bool:
    low, high = _RANGES.get(said.get("format", ""), (float("-inf"), float("inf")))
    low = max(low, float(said.get("minimum", low)))
    high = min(high, float(said.get("maximum", high)))
    return low <= value <= high


def _is_base64(value: str) -> bool:
    try:
        base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error:
        return False
    return True


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)

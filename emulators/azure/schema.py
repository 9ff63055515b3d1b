"""Every body against the models that the SDK itself ships: names, types and enumerations.

Read-only members are taken and dropped, as Azure does: who reads, changes and writes sends them.
"""

import enum
import importlib
import types
import typing
from functools import cache
from typing import Any

from emulators.azure.call import Refusal

_OPEN = {"VirtualMachineSizeTypes"}
"""The SDK's list ends in 2019; the sizes' own module says which there are."""


def check(module: str, model: str, body: Any) -> None:
    """Raise Refusal for a body that `model` of azure.mgmt.`module` does not allow."""
    for code, message in _complaints(_model(module, model), body, ""):
        raise Refusal(code, message)


@cache
def _model(module: str, name: str) -> type:
    models = importlib.import_module(f"azure.mgmt.{module}.models")
    found: type = getattr(models, name)
    return found


@cache
def _members(model: Any) -> dict[str, Any]:
    """Rest name → type of all members. The map of a model is made with its first object."""
    fields = model.__new__(model)._attr_to_rest_field
    hints: dict[str, Any] = {}
    for one in reversed(model.__mro__):
        if not one.__module__.endswith(".models._models"):
            continue
        package = importlib.import_module(one.__module__.removesuffix("._models"))
        space = {**vars(importlib.import_module(one.__module__)), "_models": package}
        for attribute, written in one.__annotations__.items():
            if attribute in fields:
                hints[attribute] = _read(written, space)
    return {fields[key]._rest_name: hints.get(key, Any) for key in fields}


def _read(written: Any, space: dict[str, Any]) -> Any:
    """The annotation as a type: they name classes of their own package as text."""
    if isinstance(written, str):
        return _read(eval(written, space), space)  # noqa: S307 - the SDK's own annotations
    if isinstance(written, typing.ForwardRef):
        return _read(written.__forward_arg__, space)
    if arguments := typing.get_args(written):
        read = tuple(_read(one, space) for one in arguments)
        origin = typing.get_origin(written)
        return typing.Union[read] if origin is typing.Union else origin[read]  # noqa: UP007
    return written


def _complaints(wanted: Any, value: Any, path: str) -> list[tuple[str, str]]:
    if value is None or wanted is Any:
        return []
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in {typing.Union, types.UnionType}:
        return _one_of([one for one in arguments if one is not type(None)], value, path)
    if origin is list:
        if not isinstance(value, list):
            return [_unreadable(value, "an array", path)]
        each = ((arguments[0], item, f"{path}[{i}]") for i, item in enumerate(value))
        return [one for given in each for one in _complaints(*given)]
    if origin is dict:
        if not isinstance(value, dict):
            return [_unreadable(value, "a map", path)]
        each = ((arguments[1], item, f"{path}.{key}") for key, item in value.items())
        return [one for given in each for one in _complaints(*given)]
    if hasattr(wanted, "_attr_to_rest_field") or hasattr(wanted, "_deserialize"):
        return _of_model(wanted, value, path)
    return _scalar(wanted, value, path)


def _of_model(model: type, value: Any, path: str) -> list[tuple[str, str]]:
    if not isinstance(value, dict):
        return [_unreadable(value, f"a {model.__name__}", path)]
    members = _members(model)
    found = []
    for name, item in value.items():
        here = f"{path}.{name}".lstrip(".")
        if name not in members:
            what = f"member '{name}' on object of type '{model.__name__}'"
            found.append(("BadRequest", f"Could not find {what}. Path '{here}'."))
        else:
            found += _complaints(members[name], item, here)
    return found


def _one_of(kinds: list[Any], value: Any, path: str) -> list[tuple[str, str]]:
    """Enumerations stand as `str | Enum`: their values count, whatever their case."""
    enums = [one for one in kinds if isinstance(one, type) and issubclass(one, enum.Enum)]
    if any(one.__name__ in _OPEN for one in enums):
        return []
    if enums and isinstance(value, str):
        allowed = [member.value for one in enums for member in one]
        if value.lower() in {str(one).lower() for one in allowed}:
            return []
        names = ", ".join(map(str, allowed))
        why = f"The value '{value}' of parameter '{path}' is not one of {names}."
        return [("InvalidParameter", why)]
    tried = [_complaints(one, value, path) for one in kinds]
    return min(tried, key=len, default=[])


def _scalar(wanted: Any, value: Any, path: str) -> list[tuple[str, str]]:
    fits = {
        bool: lambda: isinstance(value, bool),
        int: lambda: isinstance(value, int) and not isinstance(value, bool),
        float: lambda: isinstance(value, int | float) and not isinstance(value, bool),
        str: lambda: isinstance(value, str),
    }
    if wanted in fits and not fits[wanted]():
        return [_unreadable(value, f"of type {wanted.__name__}", path)]
    return []


def _unreadable(value: Any, wanted: str, path: str) -> tuple[str, str]:
    why = f"'{value!r} is not {wanted}. Path '{path}'.'"
    started = "The request content was invalid and could not be deserialized"
    return "InvalidRequestContent", f"{started}: {why}"

"""The form of a matrix file: its model, its JSON schema for editors, and a check that reports every
wrong key and value with its line. Pure.

Each wrong key or value is reported and then removed; then the rest is read, so that one mistake
does not hide another.

A stored matrix (model/matrix.py) accepts any option, since its provider may not be installed where
it is read. A file is checked against the options of the installed providers, so that a misspelt
option is reported with its line. The schema is pydantic's, with names that the model cannot know
(of providers, profiles and disks), and with axes as they are written rather than as they are
stored.
"""

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from diskbench.model.expectation import Promise
from diskbench.model.matrix import MAPPING_FIELDS, CellFields, Flag, Limits, Matrix, Number, Whole
from diskbench.model.options import Option, all_options, rent_options
from diskbench.model.value_fault import shown, value_fault
from diskbench.plugin import Plugin
from diskbench.yaml_lines import Document, Mistake, Place, read_yaml

_MAX_PASSES = 20
_OF_A_KIND = ("_type", "_parsing", "_from_float")
"""How the types of pydantic's errors end for a value of another kind."""
SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
_FIELDS = {"$ref": "#/$defs/CellFields"}
_NOISE: dict[str, type] = {"title": str, "default": type(None)}
_KINDS: dict[type, Any] = {int: Whole, float: Number, bool: Flag, str: str}
"""The strict type of an option's value in a file: no text in place of a number."""
_UNIT = "MiB/s (MB/s where the provider sells those)"
"""Of an option of every cloud."""


def read_form(text: str) -> tuple[Document, Matrix | None, list[Mistake], set[Place]]:
    """Read the matrix in `text`: the file as far as it could be read, the matrix (None if nothing
    could be read), every mistake of its form, and the places of removed parts."""
    document = read_yaml(text)
    mistakes = list(document.mistakes)
    data = document.data
    if not isinstance(data, dict):
        if not mistakes:
            mistakes.append(Mistake(1, f"a matrix is a mapping, not {shown(data)}", "see `name:`"))
        return document, None, mistakes, set()
    data = deepcopy(data)
    wrong = set(document.dropped)
    for _ in range(_MAX_PASSES):
        try:
            read = matrix_model().model_validate(data)
        except ValidationError as error:
            by_place: dict[Place, ErrorDetails] = {}
            for detail in error.errors(include_url=False):
                by_place.setdefault(_place(detail, document), detail)
            for place, detail in by_place.items():
                if _is_there(data, place):  # and not within a part that was removed
                    mistakes.append(Mistake(document.line_of(place), *_message_of(detail, place)))
                    wrong.add(place)
                    _take_out(data, place)
            continue
        given = read.model_dump(exclude_unset=True, exclude_none=True)
        matrix = Matrix.model_validate(given)  # as it is stored, whatever is installed
        return document, matrix, mistakes, wrong
    return document, None, mistakes, wrong


def _place(error: ErrorDetails, document: Document) -> Place:
    """Return the place of an error in the file. An axis value that is not a mapping has the place
    of its field; the union members that pydantic tried are left out."""
    place: Place = tuple(error["loc"])
    if error["type"] == "missing":
        return place
    known = document.known(place)
    is_scalar = place[:1] == ("axes",) and len(known) == 3 and len(place) == 4
    if is_scalar and error["type"] == "extra_forbidden" and place[3] == place[1]:
        return known[:2]
    return known


def _message_of(error: ErrorDetails, place: Place) -> tuple[str, str]:
    kind, value = error["type"], error["input"]
    name = shown_place(place)
    if kind == "missing":
        return f"{name} is missing", f"add `{place[-1]}:`"
    if kind == "extra_forbidden":
        return _unknown(place)
    if kind == "string_pattern_mismatch":
        allowed = "use lower-case letters, digits, dots and dashes"
        return f"{name}: {shown(value)} is not a name", allowed
    if kind.endswith(_OF_A_KIND) and any(part in {"parameters", "labels"} for part in place[-2:]):
        return f"{name}: {shown(value)} is not text, a number, or true or false", ""
    reason, advice = value_fault(error)
    return f"{name}: {reason}", advice


def _unknown(place: Place) -> tuple[str, str]:
    *within, key = place
    if within == ["axes"]:
        advice = "name it after one, or give mappings of fields as its values"
        return f"the axis {str(key)!r} is not the name of a field", advice
    models: dict[Place, type[BaseModel]] = {(): Matrix, ("limits",): Limits}
    model = models.get(place[:-1]) or (Promise if within[-1] == "promise" else cell_model())
    known = [field.alias or name for name, field in model.model_fields.items()]
    where = shown_place(place[:-1])
    few = f"known: {', '.join(known)}" if len(known) <= 15 else "known: diskbench matrix schema"
    return f"unknown key {str(key)!r}" + (f" in {where}" if where else ""), few


def shown_place(place: Place) -> str:
    """Return a place as text: `axes.disk[1].size`."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _take_out(data: dict[str, Any], place: Place) -> None:
    """Remove a place from the data, or replace it by a valid neutral value."""
    if place in {(), ("name",)}:
        data["name"] = "unnamed"
        return
    holder = _holder(data, place)
    if isinstance(holder, list):
        holder[int(place[-1])] = {}
    elif isinstance(holder, dict):
        holder.pop(place[-1], None)


def _is_there(data: dict[str, Any], place: Place) -> bool:
    """Whether a place is still in the data; `name` counts as present even when it is missing."""
    try:
        holder = _holder(data, place)
    except (KeyError, IndexError, TypeError):
        return False
    return not place or place == ("name",) or isinstance(holder, list) or place[-1] in holder


def _holder(data: Any, place: Place) -> Any:  # noqa: ANN401 - whatever YAML holds
    for part in place[:-1]:
        data = data[part]
    return data


@functools.cache
def cell_model() -> type[CellFields]:
    """Return the model of a cell in a file: common fields, then each provider's own options."""
    fields: dict[str, Any] = {
        option.name: (
            _bounded(option) | None,
            Field(None, description=option.about.format(unit=_UNIT)),
        )
        for option in rent_options()
        if option.name not in CellFields.model_fields and not option.repeats
    }
    for name, several in _own().items():
        kinds = dict.fromkeys(_bounded(option) for _, option in several)
        kind = functools.reduce(lambda first, other: first | other, kinds)
        fields[name] = (kind | None, Field(None, description=_about(several)))
    closed = {"extra": "forbid"}
    return create_model("CellFields", __base__=CellFields, __cls_kwargs__=closed, **fields)


@functools.cache
def matrix_model() -> type[Matrix]:
    """Return the model of a matrix file: `cell_model` replaces the stored model's CellFields."""
    cell = cell_model()
    kinds: dict[str, Any] = {
        "defaults": cell,
        "axes": dict[str, tuple[cell, ...]],  # type: ignore[valid-type]  # made when it is called
        "include": tuple[cell, ...],  # type: ignore[valid-type]
        "exclude": tuple[cell, ...],  # type: ignore[valid-type]
    }
    stored = Matrix.model_fields
    fields: dict[str, Any] = {name: (kind, copy(stored[name])) for name, kind in kinds.items()}
    for kind, info in fields.values():
        info.annotation = kind
    fields["defaults"][1].default = cell()
    return create_model("Matrix", __base__=Matrix, **fields)


def own_values() -> dict[str, tuple[str, ...]]:
    """Return the values that an editor may propose for provider options, by option."""
    values = {
        name: tuple(dict.fromkeys(value for _, option in several for value in option.values))
        for name, several in _own().items()
    }
    return {name: proposed for name, proposed in values.items() if proposed}


def _own() -> dict[str, list[tuple[Plugin, Option]]]:
    """Return the options that are not common fields of a cell, by name, with their providers."""
    known = {*CellFields.model_fields, *(option.name for option in rent_options())}
    options: dict[str, list[tuple[Plugin, Option]]] = {}
    for plugin, option in all_options():
        if option.name not in known:
            options.setdefault(option.name, []).append((plugin, option))
    return options


def _bounded(option: Option) -> Any:  # noqa: ANN401 - a type
    kind = _KINDS[option.kind]
    return Annotated[kind, *option.bounds] if option.bounds else kind


def _about(several: list[tuple[Plugin, Option]]) -> str:
    titles: dict[str, list[str]] = defaultdict(list)
    for plugin, option in several:
        titles[option.about].append(plugin.title)
    return " ".join(f"{', '.join(names)}: {about}" for about, names in titles.items())


def matrix_schema(known: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the schema. `known` lists field values that an editor should propose. Other values
    stay allowed: profiles may be paths, and a provider may sell more than the catalogue lists."""
    schema = matrix_model().model_json_schema()
    fields = schema["$defs"]["CellFields"]["properties"]
    for name, values in known.items():
        fields[name] = {
            "anyOf": [{"enum": list(values)}, {"type": "string"}],
            "description": fields[name]["description"],
        }
    schema = _plain(schema)
    fields = schema["$defs"]["CellFields"]["properties"]
    several = {"type": "array", "minItems": 1}
    axes = {}
    for name in cell_model().model_fields:
        kinds = [_FIELDS, fields[name]] if name in MAPPING_FIELDS else [fields[name], _FIELDS]
        about = f"Values of {name}, or mappings of several fields."
        axes[name] = {**several, "items": {"anyOf": kinds}, "description": about}
    schema["properties"]["axes"] = {
        "type": "object",
        "description": schema["properties"]["axes"]["description"],
        "properties": axes,
        "additionalProperties": {**several, "items": _FIELDS},
    }
    return {"$schema": SCHEMA_ID, **schema}


def _plain(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a schema node without the null type of optional fields and pydantic's titles."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {
        key: _plain(value)
        for key, value in node.items()
        if not isinstance(value, _NOISE.get(key, ()))
    }
    kinds = plain.get("anyOf")
    if isinstance(kinds, list) and {"type": "null"} in kinds:
        kinds = [kind for kind in kinds if kind != {"type": "null"}]
        del plain["anyOf"]
        plain = {**kinds[0], **plain} if len(kinds) == 1 else {**plain, "anyOf": kinds}
    return plain

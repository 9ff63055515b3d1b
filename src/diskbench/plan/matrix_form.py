"""Check the form of a matrix file: report every wrong key and value with its line. Pure.

Each wrong key or value is reported and then replaced by what was probably meant (`sise` by `size`,
`20g` by 20), or removed. Then the rest is read, so that one mistake does not hide another.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from diskbench.model.expectation import Promise
from diskbench.model.matrix import Limits, Matrix
from diskbench.model.value_fault import near, nearest, shown, value_fault
from diskbench.plan.matrix_model import cell_model, matrix_model, stored_matrix
from diskbench.yaml_lines import Document, Mistake, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from diskbench.plan.combinations import Place

_MAX_PASSES = 20
_NAME = "unnamed"
_OF_A_KIND = ("_type", "_parsing", "_from_float")
"""How the types of pydantic's errors end for a value of another kind."""


@dataclass(frozen=True)
class Form:
    """A file as far as it could be read, with wrong parts replaced by what was probably meant.
    `wrong` are the places of removed parts; `matrix` is None if nothing could be read."""

    document: Document
    matrix: Matrix | None
    mistakes: tuple[Mistake, ...]
    wrong: frozenset[Place]


def read_form(text: str) -> Form:
    """Read the matrix in `text`, with every mistake of its form."""
    document = read_yaml(text)
    mistakes = list(document.mistakes)
    data = document.data
    if not isinstance(data, dict):
        if not mistakes:
            mistakes.append(Mistake(1, f"a matrix is a mapping, not {shown(data)}", "see `name:`"))
        return Form(document, None, tuple(mistakes), frozenset())
    data = copy.deepcopy(data)
    wrong = set(document.dropped)
    for _ in range(_MAX_PASSES):
        try:
            matrix = stored_matrix(matrix_model().model_validate(data))
        except ValidationError as error:
            for place, (mistake, meant) in _mistake_by_place(
                error.errors(include_url=False), document
            ).items():
                if not _is_there(data, place):
                    continue  # its place changed with a corrected key: reported in the next pass
                mistakes.append(mistake)
                if not _mend(data, place, meant, document):
                    wrong.add(place)
                    _take_out(data, place)
            continue
        return Form(document, matrix, tuple(mistakes), frozenset(wrong))
    return Form(document, None, tuple(mistakes), frozenset(wrong))


@dataclass(frozen=True)
class _Meant:
    """What was probably meant: another key, or another value."""

    key: str | None = None
    value: object = None


def _mistake_by_place(
    errors: Iterable[ErrorDetails], document: Document
) -> dict[Place, tuple[Mistake, _Meant]]:
    """Return each error once, by its place."""
    by_place: dict[Place, tuple[Mistake, _Meant]] = {}
    for error in errors:
        place = _place(error, document)
        if place not in by_place:
            message, advice, meant = _words(error, place)
            by_place[place] = Mistake(document.line_of(place), message, advice), meant
    return by_place


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


def _words(error: ErrorDetails, place: Place) -> tuple[str, str, _Meant]:
    """Return the message, the advice, and what was probably meant."""
    kind, value = error["type"], error["input"]
    name, nothing = shown_place(place), _Meant()
    if kind == "missing":
        return f"{name} is missing", f"add `{place[-1]}:`", nothing
    if kind == "extra_forbidden":
        return _unknown(place)
    if kind == "string_pattern_mismatch":
        allowed = "use lower-case letters, digits, dots and dashes"
        return f"{name}: {shown(value)} is not a name", allowed, nothing
    if kind.endswith(_OF_A_KIND) and any(part in {"parameters", "labels"} for part in place[-2:]):
        return f"{name}: {shown(value)} is not text, a number, or true or false", "", nothing
    fault = value_fault(error)
    return f"{name}: {fault.reason}", fault.advice, _Meant(value=fault.meant)


def _unknown(place: Place) -> tuple[str, str, _Meant]:
    key = str(place[-1])
    if place[:1] == ("axes",) and len(place) == 2:
        known = list(cell_model().model_fields)
        advice = near(key, known) or "name it after one, or give mappings of fields as its values"
        meant = _Meant(key=nearest(key, known))
        return f"the axis {key!r} is named after no field", advice, meant
    known = _keys(place[:-1])
    where = shown_place(place[:-1])
    few = f"known: {', '.join(known)}" if len(known) <= 12 else "known: diskbench matrix schema"
    message = f"unknown key {key!r}" + (f" in {where}" if where else "")
    return message, near(key, known) or few, _Meant(key=nearest(key, known))


def _keys(place: Place) -> list[str]:
    """Return the known keys of a mapping at `place`."""
    model: type[BaseModel]
    if not place:
        model = Matrix
    elif place == ("limits",):
        model = Limits
    elif place[-1] == "promise":
        model = Promise
    else:
        model = cell_model()
    return [field.alias or name for name, field in model.model_fields.items()]


def shown_place(place: Place) -> str:
    """Return a place as text: `axes.disk[1].size`."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _mend(data: dict[str, Any], place: Place, meant: _Meant, document: Document) -> bool:
    """Replace a wrong part by what was meant; False if that is not known."""
    holder = _holder(data, place)
    if meant.key is not None and isinstance(holder, dict) and meant.key not in holder:
        holder[meant.key] = holder.pop(place[-1])
        for old, line in list(document.lines.items()):
            if old[: len(place)] == place:
                document.lines[*place[:-1], meant.key, *old[len(place) :]] = line
        return True
    if meant.value is not None:
        holder[place[-1]] = meant.value
        return True
    return False


def _take_out(data: dict[str, Any], place: Place) -> None:
    """Remove a place from the data, or replace it by a valid neutral value."""
    if place in {(), ("name",)}:
        data["name"] = _NAME
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

"""The model of a matrix file: the fields of a cell and the options of every provider: pure.

A stored matrix (model/matrix.py) accepts any option, since its provider may not be installed where
it is read. A file is checked against the options of the installed providers, so that a misspelt
option is reported with its line.
"""

from __future__ import annotations

import functools
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field, create_model

from diskbench.model.matrix import CellFields, Flag, Matrix, Number, Whole
from diskbench.model.options import all_options

if TYPE_CHECKING:
    from diskbench.model.options import Option
    from diskbench.plugin import Plugin

_KINDS: dict[type, Any] = {int: Whole, float: Number, bool: Flag, str: str}
"""The strict type of an option's value in a file: no text in place of a number."""


class _Closed(CellFields):
    """Fields of a cell, and no others."""

    model_config = ConfigDict(extra="forbid")


@functools.cache
def cell_model() -> type[CellFields]:
    """Return the model of a cell in a file: common fields, then each provider's own options."""
    fields: dict[str, Any] = {}
    for name, several in _own().items():
        kinds = dict.fromkeys(_bounded(option) for _, option in several)
        kind = functools.reduce(lambda first, other: first | other, kinds)
        fields[name] = (kind | None, Field(None, description=_about(several)))
    return create_model("CellFields", __base__=_Closed, **fields)


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
    fields: dict[str, Any] = {}
    for name, kind in kinds.items():
        info = copy(Matrix.model_fields[name])
        info.annotation = kind
        if name == "defaults":
            info.default = cell()
        fields[name] = (kind, info)
    return create_model("Matrix", __base__=Matrix, **fields)


def stored_matrix(read: Matrix) -> Matrix:
    """Convert a matrix that was read with `matrix_model` to its stored form."""
    values = {name: getattr(read, name) for name in Matrix.model_fields}
    return Matrix.model_validate(
        {
            **values,
            "defaults": _stored(read.defaults),
            "axes": {axis: tuple(map(_stored, values)) for axis, values in read.axes.items()},
            "include": tuple(map(_stored, read.include)),
            "exclude": tuple(map(_stored, read.exclude)),
        }
    )


def own_values() -> dict[str, tuple[str, ...]]:
    """Return the values that an editor may propose for provider options, by option."""
    return {
        name: tuple(dict.fromkeys(value for _, option in several for value in option.values))
        for name, several in _own().items()
        if any(option.values for _, option in several)
    }


def _stored(fields: CellFields) -> CellFields:
    return CellFields.model_validate(fields.given())


def _own() -> dict[str, list[tuple[Plugin, Option]]]:
    """Return the options that are not common fields of a cell, by name, with their providers."""
    options: dict[str, list[tuple[Plugin, Option]]] = {}
    for plugin, option in all_options():
        if option.name not in CellFields.model_fields:
            options.setdefault(option.name, []).append((plugin, option))
    return options


def _bounded(option: Option) -> Any:  # noqa: ANN401 - a type
    kind = _KINDS[option.kind]
    return Annotated[kind, *option.bounds] if option.bounds else kind


def _about(several: list[tuple[Plugin, Option]]) -> str:
    """Describe an option: its providers, and its meaning for each."""
    titles: dict[str, list[str]] = {}
    for plugin, option in several:
        titles.setdefault(option.about, []).append(plugin.title)
    return " ".join(f"{', '.join(names)}: {about}" for about, names in titles.items())

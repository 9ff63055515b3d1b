"""Axes to combinations of fields, as a matrix of GitHub Actions makes them: pure.

The axes are multiplied and combinations that match `exclude` are dropped. Then each entry of
`include` extends the combinations whose axes it does not contradict; if there are none, it becomes
a combination of its own. Each field keeps its position in the file, so that errors can point to it.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from diskbench.errors import InvalidValue
from diskbench.limits import INCLUDE_CHECKS
from diskbench.model.matrix import HOW, MAPPING_FIELDS, CellFields, Matrix
from diskbench.model.options import options_of_model
from diskbench.yaml_lines import Place

MAX_COMBINATIONS = 10_000
"""More cells than anybody would pay for, yet few enough to plan at once; our choice."""


HOW_TO_MEASURE = frozenset(
    {"filesystem", *(o.field for o in options_of_model(CellFields) if o.panel == HOW)}
)
"""Fields that have the same meaning for every provider."""


@dataclass(frozen=True)
class Combination:
    """The fields of one combination and the place of each. `own` are the fields from its axes (or
    from `include`, if it exists only there), which `include` may not change. `parts` are the
    places of the axis values and `include` entries that it is made of."""

    fields: Mapping[str, Any]
    places: Mapping[str, Place]
    own: Mapping[str, Any]
    parts: tuple[Place, ...]

    @property
    def at(self) -> Place:
        """The place to point to when no single field is wrong."""
        return self.parts[-1] if self.parts else ("defaults",)


def combinations(matrix: Matrix) -> tuple[Combination, ...]:
    """Return all combinations in the order of the file. Raises InvalidValue if two axes set the
    same field, and for more than MAX_COMBINATIONS combinations."""
    for first, second, field, _ in overlaps(matrix):
        raise InvalidValue(
            f"the axes {first!r} and {second!r} both set {field!r}",
            advice="let one axis set it, with a mapping of both fields",
        )

    def is_left(combination: Combination) -> bool:
        return not any(_matches(entry, combination.fields) for entry in matrix.exclude)

    return tuple(_extended(matrix, list(filter(is_left, _product(matrix)))))


def overlaps(matrix: Matrix) -> Iterator[tuple[str, str, str, Place]]:
    """Yield `(axis, other axis, field, place)` for each field that two axes set."""
    axis_of: dict[str, str] = {}
    for axis, values in matrix.axes.items():
        places: dict[str, Place] = {}
        for index, value in enumerate(values):
            for field, content in value.given().items():
                place: Place = ("axes", axis, index, field)
                if field in MAPPING_FIELDS:
                    places.update({f"{field}.{key}": (*place, key) for key in dict(content)})
                else:
                    places.setdefault(field, place)
        for field, place in places.items():
            if field in axis_of:
                yield axis_of[field], axis, field, place
            axis_of.setdefault(field, axis)


def idle_excludes(matrix: Matrix) -> Iterator[int]:
    """Yield the index of each `exclude` entry that matches no combination."""
    crossed = products(matrix)
    for index, entry in enumerate(matrix.exclude):
        if not any(_matches(entry, fields) for fields in crossed):
            yield index


def products(matrix: Matrix) -> list[Mapping[str, Any]]:
    """Return the fields of each combination of the axes, with defaults, before `exclude`."""
    return [combination.fields for combination in _product(matrix)]


def _product(matrix: Matrix) -> Iterator[Combination]:
    if not matrix.axes and matrix.include:
        return
    count = math.prod(len(values) for values in matrix.axes.values())
    if count > MAX_COMBINATIONS:
        raise InvalidValue(
            f"the axes make {count:,} combinations", advice=f"at most {MAX_COMBINATIONS:,} are run"
        )
    axes = [
        [(axis, index, value.given()) for index, value in enumerate(values)]
        for axis, values in matrix.axes.items()
    ]
    for chosen in itertools.product(*axes):
        own: dict[str, Any] = {}
        places: dict[str, Place] = {}
        for axis, index, value in chosen:
            places |= {name: ("axes", axis, index, name) for name in value}
            own = merged(own, value)
        parts = tuple(("axes", axis, index) for axis, index, _ in chosen)
        yield _over_defaults(matrix, own, places, parts)


def _over_defaults(
    matrix: Matrix, own: Mapping[str, Any], places: Mapping[str, Place], parts: tuple[Place, ...]
) -> Combination:
    """Return a combination of these fields and the defaults that apply. For another provider than
    that of the defaults only those about measuring apply: regions and disks differ between
    providers."""
    under = matrix.defaults.given()
    theirs = under.get("provider")
    if theirs is not None and own.get("provider", theirs) != theirs:
        under = {name: value for name, value in under.items() if name in HOW_TO_MEASURE}
    places = {**{name: ("defaults", name) for name in under}, **places}
    return Combination(merged(under, own), places, own, parts)


def _extended(matrix: Matrix, originals: list[Combination]) -> Iterator[Combination]:
    """Yield the combinations with what `include` adds to them, then the entries that extend
    none."""
    extended, alone = list(originals), list[Combination]()
    if (checks := len(originals) * len(matrix.include)) > INCLUDE_CHECKS:
        raise InvalidValue(
            f"{len(matrix.include):,} entries of include are compared with {len(originals):,} "
            f"combinations: {checks:,} comparisons",
            advice=f"at most {INCLUDE_CHECKS:,} are made: use fewer entries or shorter axes",
        )
    for index, entry in enumerate(matrix.include):
        own = entry.given()
        at: Place = ("include", index)
        places: dict[str, Place] = {name: (*at, name) for name in own}
        fitting = [n for n, original in enumerate(originals) if _extends(own, original)]
        for n in fitting:
            old = extended[n]
            theirs = {name: place for name, place in places.items() if name not in old.own}
            fields, parts = merged(old.fields, own), (*old.parts, at)
            extended[n] = Combination(fields, {**old.places, **theirs}, old.own, parts)
        if not fitting:
            alone.append(_over_defaults(matrix, own, places, (at,)))
    yield from (*extended, *alone)


def _extends(entry: Mapping[str, Any], original: Combination) -> bool:
    """Whether an entry contradicts no axis of a combination. One that names another provider never
    extends it."""
    provider = original.fields.get("provider")
    return bool(entry.get("provider", provider) == provider) and not any(
        name in original.own and original.own[name] != value for name, value in entry.items()
    )


def _matches(entry: CellFields, fields: Mapping[str, Any]) -> bool:
    """Whether a combination has all fields of an entry; in a mapping, only the keys it names."""
    excluded = entry.given()
    return bool(excluded) and all(
        all(dict(fields.get(name) or {}).get(key) == want for key, want in dict(value).items())
        if name in MAPPING_FIELDS
        else fields.get(name) == value
        for name, value in excluded.items()
    )


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `under` overridden by `over`; mappings are merged key by key."""
    result = {**under, **over}
    for name in MAPPING_FIELDS & under.keys() & over.keys() - {"promise"}:
        result[name] = {**under[name], **over[name]}
    return result

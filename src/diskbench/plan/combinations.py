"""Axes to combinations of fields, as a matrix of GitHub Actions makes them: pure.

The axes are multiplied and combinations that match `exclude` are dropped. Then each entry of
`include` extends the combinations whose axes it does not contradict; if there are none, it becomes
a combination of its own. Each field keeps its position in the file, so that errors can point to it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from diskbench.errors import InvalidValue
from diskbench.limits import INCLUDE_CHECKS
from diskbench.model.matrix import MAPPING_FIELDS, CellFields, Matrix

Place = tuple[str | int, ...]
"""A position in a matrix file: `("axes", "disk", 1, "size")`."""

MAX_COMBINATIONS = 10_000
"""More cells than anybody would pay for, yet few enough to plan at once; our choice."""


HOW_TO_MEASURE = frozenset(
    {"profile", "parameters", "runs", "replicates", "labels", "filesystem", "if_busy", "fail_if"}
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
    combined = [
        combination for combination in _product(matrix) if not _excluded(matrix, combination)
    ]
    extended, alone = _included(matrix, combined)
    return tuple(_over_defaults(matrix, combination) for combination in (*extended, *alone))


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


def products(matrix: Matrix) -> list[dict[str, Any]]:
    """Return the fields of each combination of the axes, with defaults, before `exclude`."""
    return [_effective(matrix, combination) for combination in _product(matrix)]


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
        fields: dict[str, Any] = {}
        places: dict[str, Place] = {}
        for axis, index, value in chosen:
            places |= {name: ("axes", axis, index, name) for name in value}
            fields = merged(fields, value)
        parts = tuple(("axes", axis, index) for axis, index, _ in chosen)
        yield Combination(fields, places, fields, parts)


def _included(
    matrix: Matrix, originals: list[Combination]
) -> tuple[list[Combination], list[Combination]]:
    """Return the combinations with what `include` added, and the entries that extend none."""
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
        places = {name: (*at, name) for name in own}
        fitting = [
            n
            for n, original in enumerate(originals)
            if not _contradicts(own, original.own) and not _moves(matrix, own, original)
        ]
        for n in fitting:
            old = extended[n]
            extended[n] = Combination(
                merged(old.fields, own),
                {**old.places, **{k: v for k, v in places.items() if k not in old.own}},
                old.own,
                (*old.parts, at),
            )
        if not fitting:
            alone.append(Combination(own, places, own, (at,)))
    return extended, alone


def _contradicts(fields: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    return any(name in own and own[name] != value for name, value in fields.items())


def _moves(matrix: Matrix, fields: Mapping[str, Any], combination: Combination) -> bool:
    """Whether an entry names another provider: then it never extends the combination."""
    provider = _effective(matrix, combination).get("provider")
    return bool(fields.get("provider", provider) != provider)


def _over_defaults(matrix: Matrix, combination: Combination) -> Combination:
    places = {name: ("defaults", name) for name in _defaults(matrix, combination)}
    return Combination(
        _effective(matrix, combination),
        {**places, **combination.places},
        combination.own,
        combination.parts,
    )


def _effective(matrix: Matrix, combination: Combination) -> dict[str, Any]:
    return merged(_defaults(matrix, combination), combination.fields)


def _defaults(matrix: Matrix, combination: Combination) -> dict[str, Any]:
    """Return the defaults that apply to a combination. For another provider than that of the
    defaults only those about measuring apply: regions and disks differ between providers."""
    fields = matrix.defaults.given()
    theirs = fields.get("provider")
    if theirs is None or combination.fields.get("provider", theirs) == theirs:
        return fields
    return {name: value for name, value in fields.items() if name in HOW_TO_MEASURE}


def _excluded(matrix: Matrix, combination: Combination) -> bool:
    fields = _effective(matrix, combination)
    return any(_matches(entry, fields) for entry in matrix.exclude)


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

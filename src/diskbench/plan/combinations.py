"""Axes to combinations of fields, as a matrix of GitHub Actions makes them: pure.

The product of the axes is taken, what `exclude` matches is left out, then each entry of `include`
extends the combinations whose axes it does not contradict, or is one of its own where there are
none. Each field remembers where in the file it was given, so that a mistake can be shown there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.errors import InvalidValue
from diskbench.limits import INCLUDE_CHECKS
from diskbench.model.matrix import MAPPING_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.matrix import CellFields, Matrix

Place = tuple[str | int, ...]
"""Where something stands in a file: `("axes", "disk", 1, "size")`."""

MAX_COMBINATIONS = 10_000
"""More than anybody pays for, and few enough to be planned at once; our choice."""


HOW_TO_MEASURE = frozenset(
    {"profile", "parameters", "runs", "replicates", "labels", "filesystem", "if_busy"}
)
"""Fields that mean the same to every provider."""


@dataclass(frozen=True)
class Combination:
    """Fields that go together, and the place of each; `own` are those of its axes (of `include`
    for one that is its own), which `include` may not change. `parts` are the values of axes and
    the entries of `include` that it is made of."""

    fields: Mapping[str, Any]
    places: Mapping[str, Place]
    own: Mapping[str, Any]
    parts: tuple[Place, ...]

    @property
    def at(self) -> Place:
        """Where to point at when no single field is to blame."""
        return self.parts[-1] if self.parts else ("defaults",)


def combinations(matrix: Matrix) -> tuple[Combination, ...]:
    """All combinations in the order of the file. Raises InvalidValue for axes that set the same
    field, and for more than MAX_COMBINATIONS."""
    for first, second, field, _ in overlaps(matrix):
        raise InvalidValue(
            f"the axes {first!r} and {second!r} both set {field!r}",
            advice="let one axis set it, with a mapping of the fields that go together",
        )
    kept = [one for one in _product(matrix) if not _excluded(matrix, one)]
    extended, alone = _included(matrix, kept)
    return tuple(_over_defaults(matrix, one) for one in (*extended, *alone))


def overlaps(matrix: Matrix) -> Iterator[tuple[str, str, str, Place]]:
    """`(axis, other axis, field, place)` of each field that two axes set."""
    seen: dict[str, str] = {}
    for axis, values in matrix.axes.items():
        named: dict[str, Place] = {}
        for index, value in enumerate(values):
            for field, content in value.given().items():
                place: Place = ("axes", axis, index, field)
                if field in MAPPING_FIELDS:
                    named.update({f"{field}.{key}": (*place, key) for key in dict(content)})
                else:
                    named.setdefault(field, place)
        for field, place in named.items():
            if field in seen:
                yield seen[field], axis, field, place
            seen.setdefault(field, axis)


def idle_excludes(matrix: Matrix) -> Iterator[int]:
    """Entries of `exclude` that match no combination."""
    found = products(matrix)
    for index, entry in enumerate(matrix.exclude):
        if not any(_matches(entry, fields) for fields in found):
            yield index


def products(matrix: Matrix) -> list[dict[str, Any]]:
    """The fields of each combination of the axes, over the defaults, before `exclude`."""
    return [_effective(matrix, one) for one in _product(matrix)]


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
        for axis, index, given in chosen:
            places |= {name: ("axes", axis, index, name) for name in given}
            fields = merged(fields, given)
        parts = tuple(("axes", axis, index) for axis, index, _ in chosen)
        yield Combination(fields, places, fields, parts)


def _included(
    matrix: Matrix, originals: list[Combination]
) -> tuple[list[Combination], list[Combination]]:
    """The originals with what was added to them, and the entries that are of their own."""
    extended, alone = list(originals), list[Combination]()
    if (checks := len(originals) * len(matrix.include)) > INCLUDE_CHECKS:
        raise InvalidValue(
            f"{len(matrix.include):,} entries of include are compared with {len(originals):,} "
            f"combinations: {checks:,} comparisons",
            advice=f"at most {INCLUDE_CHECKS:,} are made: use fewer entries or shorter axes",
        )
    for index, entry in enumerate(matrix.include):
        given = entry.given()
        at: Place = ("include", index)
        places = {name: (*at, name) for name in given}
        fitting = [
            n
            for n, one in enumerate(originals)
            if not _contradicts(given, one.own) and not _moves(matrix, given, one)
        ]
        for n in fitting:
            old = extended[n]
            extended[n] = Combination(
                merged(old.fields, given),
                {**old.places, **{k: v for k, v in places.items() if k not in old.own}},
                old.own,
                (*old.parts, at),
            )
        if not fitting:
            alone.append(Combination(given, places, given, (at,)))
    return extended, alone


def _contradicts(given: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    return any(name in own and own[name] != value for name, value in given.items())


def _moves(matrix: Matrix, given: Mapping[str, Any], one: Combination) -> bool:
    """Whether an entry names another provider: then it is no extension, whatever the axes are."""
    here = _effective(matrix, one).get("provider")
    return bool(given.get("provider", here) != here)


def _over_defaults(matrix: Matrix, one: Combination) -> Combination:
    places = {name: ("defaults", name) for name in _defaults(matrix, one)}
    return Combination(_effective(matrix, one), {**places, **one.places}, one.own, one.parts)


def _effective(matrix: Matrix, one: Combination) -> dict[str, Any]:
    return merged(_defaults(matrix, one), one.fields)


def _defaults(matrix: Matrix, one: Combination) -> dict[str, Any]:
    """The defaults that lie under a combination: for one of another provider than theirs, those
    that say how to measure, since regions and disks of one mean nothing to another."""
    given = matrix.defaults.given()
    theirs = given.get("provider")
    if theirs is None or one.fields.get("provider", theirs) == theirs:
        return given
    return {name: value for name, value in given.items() if name in HOW_TO_MEASURE}


def _excluded(matrix: Matrix, one: Combination) -> bool:
    fields = _effective(matrix, one)
    return any(_matches(entry, fields) for entry in matrix.exclude)


def _matches(entry: CellFields, fields: Mapping[str, Any]) -> bool:
    """Whether a combination has all fields of an entry; of a mapping, the keys that it names."""
    given = entry.given()
    return bool(given) and all(
        all(dict(fields.get(name) or {}).get(key) == want for key, want in dict(value).items())
        if name in MAPPING_FIELDS
        else fields.get(name) == value
        for name, value in given.items()
    )


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`under` with `over` on top; mappings are merged key by key."""
    found = {**under, **over}
    for name in MAPPING_FIELDS & under.keys() & over.keys() - {"promise"}:
        found[name] = {**under[name], **over[name]}
    return found

"""Check the meaning of a matrix cell by cell, and report every mistake with its line. Pure.

Facts from outside (a provider's check of a cell, a profile's parameters) come through `World`. An
error names its subject in `field`. Its text names the flags of `diskbench run` (`--size 20.5`),
because flags and fields share their rules; for a matrix the flags in the text are replaced by the
field names. No decision depends on the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from diskbench.errors import DiskbenchError, UnknownName, UserError
from diskbench.fio.profiles import Profile, check_override
from diskbench.model.matrix import DEFAULT_PROFILE, MAPPING_FIELDS, CellFields, Matrix
from diskbench.model.spec import Cell
from diskbench.plan import combinations
from diskbench.plan.matrix import Block, block, check_cells, duplicates
from diskbench.plan.matrix_form import Form, cell_model, shown_place
from diskbench.plan.rent_options import field_of
from diskbench.plan.until import until_mistake_of, until_mistakes
from diskbench.plugins import plugin_names
from diskbench.yaml_lines import Mistake


class World(Protocol):
    """The facts that a matrix is checked against."""

    def profile(self, name: str) -> Profile:
        """The profile; raises UserError."""
        ...

    def check(self, cell: Cell) -> None:
        """Raise UserError for a cell that the provider refuses without querying its API."""
        ...

    def check_shared(self, cell: Cell) -> None:
        """Raise UserError for a cell that cannot share its machine with others."""
        ...


def mistakes_in(form: Form, world: World) -> list[Mistake]:
    """Return every mistake in a file, in the order of its lines."""
    mistakes = list(form.mistakes)
    if form.matrix is not None:
        mistakes += _Checker(form, form.matrix, world).mistakes()
    return sorted(set(mistakes))


class _Checker:
    def __init__(self, form: Form, matrix: Matrix, world: World) -> None:
        self._form, self._matrix, self._world = form, matrix, world
        self._wrong = set(form.wrong)

    def mistakes(self) -> Iterator[Mistake]:
        yield from self._unknown_names()
        yield from self._axes()
        if any(place in self._wrong for place in (("axes",), ("include",))):
            return
        crossed = list(combinations.overlaps(self._matrix))
        for first, second, field, place in crossed:
            message = f"the axes {first!r} and {second!r} both set {field!r}"
            yield self._at(place, message, "let one axis set it, with a mapping of both fields")
        if crossed:
            return
        yield from self._excludes()
        try:
            made = combinations.combinations(self._matrix)
            check_cells(made, self._matrix)
        except UserError as error:
            yield self._at(("axes",), error.message, error.advice)
            return
        if not made and not self._wrong:
            yield self._at(("exclude",), "no cell is left", "exclude less")
        blocks: list[Block] = []
        for combination in made:
            yield from self._cell(combination, blocks)
        for earlier, later in duplicates(blocks):
            line = self._form.document.line_of(earlier.combination.at)
            yield self._at(
                later.combination.at,
                f"{later.name} occurs twice, first in line {line}",
                "use `replicates` to repeat a cell, or leave one of them out",
            )
        if not self._wrong:
            yield from self._limits(blocks)

    def _unknown_names(self) -> Iterator[Mistake]:
        """Yield unknown providers and profiles, once for each place that names them."""
        for place, fields in self._all_fields():
            known = plugin_names()
            if fields.provider is not None and fields.provider not in known:
                unknown = UnknownName("provider", fields.provider, known, field="provider")
                yield self._error((*place, "provider"), unknown)
            if fields.profile is not None and place[0] != "exclude":
                try:
                    self._world.profile(fields.profile)
                except UserError as error:
                    yield self._error((*place, "profile"), error)

    def _all_fields(self) -> Iterator[tuple[combinations.Place, CellFields]]:
        matrix = self._matrix
        yield ("defaults",), matrix.defaults
        for axis, values in matrix.axes.items():
            for index, value in enumerate(values):
                yield ("axes", axis, index), value
        for index, value in enumerate(matrix.include):
            yield ("include", index), value
        for index, value in enumerate(matrix.exclude):
            yield ("exclude", index), value

    def _axes(self) -> Iterator[Mistake]:
        for axis, values in self._matrix.axes.items():
            if not values:
                self._wrong.add(("axes", axis))
                yield self._at(("axes", axis), f"axes.{axis} has no value", "leave it out")

    def _excludes(self) -> Iterator[Mistake]:
        """Yield `exclude` entries that match nothing; usually one value is misspelt."""
        wrong_fields = {str(part) for place in self._wrong for part in place[-2:]}
        for index in combinations.idle_excludes(self._matrix):
            entry = self._matrix.exclude[index].given()
            axis_is_wrong = any(at[:1] == ("axes",) and len(at) <= 3 for at in self._wrong)
            if entry and not wrong_fields & entry.keys() and not axis_is_wrong:
                yield self._idle(("exclude", index), entry)

    def _idle(self, place: combinations.Place, entry: dict[str, Any]) -> Mistake:
        crossed = combinations.products(self._matrix)
        nothing = f"{shown_place(place)} matches nothing: no combination"
        for name, value in entry.items():
            known = {_text(fields[name]): fields[name] for fields in crossed if name in fields}
            if name in MAPPING_FIELDS or value in known.values():
                continue
            there = f"there is {', '.join(sorted(known))}" if known else f"none has any {name}"
            return self._at((*place, name), f"{nothing} has {name} {_text(value)}", there)
        return self._at(place, f"{nothing} has all of it together", "leave it out, or change it")

    def _is_tainted(self, combination: combinations.Combination) -> bool:
        """Whether a combination depends on a field that was already reported. Further errors of it
        would only be consequences."""
        for place in self._wrong:
            if any(place[: len(part)] == part for part in combination.parts):
                return True
            if (place[:1] == ("axes",) and len(place) == 2) or place == ("defaults",):
                return True
            if place[:1] == ("defaults",):
                from_default = combination.places.get(str(place[1]), place)[:1] == ("defaults",)
                if from_default:
                    return True
        return False

    def _cell(
        self, combination: combinations.Combination, blocks: list[Block]
    ) -> Iterator[Mistake]:
        tainted = self._is_tainted(combination)
        known = combination.fields.get("provider") in plugin_names()
        if known and (wrong := until_mistake_of(combination, self._matrix.limits)):
            yield self._at(*wrong)
            return
        try:
            made = block(combination, self._matrix)
            self._world.check(made.cells[-1])
            if self._matrix.reuse_host and made.cells[-1].rent is not None:
                self._world.check_shared(made.cells[-1])
        except UserError as error:
            # An unknown name is wrong whatever the other fields are.
            if not tainted or isinstance(error, UnknownName):
                yield self._about(combination, error)
            return
        if tainted:
            return
        blocks.append(made)
        profile = self._world.profile(combination.fields.get("profile") or DEFAULT_PROFILE)
        for key, value in made.cells[0].parameters:
            try:
                check_override(profile, key, value)
            except UserError as error:
                yield self._about(combination, error)

    def _about(self, combination: combinations.Combination, error: DiskbenchError) -> Mistake:
        path, places = fields_of(error, combination.fields), combination.places
        if not path:
            place = places.get("disk") or places.get("provider") or combination.at
            return self._mistake(place, error)
        place = places.get(path[0], combination.at)
        if len(path) > 1:
            # A mapping may be given in several places: the key identifies the right one.
            holders = [("defaults",), *combination.parts]
            keys: list[combinations.Place] = [(*at, *path) for at in reversed(holders)]
            keys += [(*at, path[1]) for at in reversed(holders)]
            place = next((at for at in keys if at in self._form.document.lines), place)
        return self._mistake(place, error)

    def _limits(self, blocks: Sequence[Block]) -> Iterator[Mistake]:
        for place, message, advice in until_mistakes(self._matrix):
            yield self._at(place, message, advice)
        known = {block_.partition for block_ in blocks}
        known |= {block_.cells[0].provider for block_ in blocks}
        for limit in ("per", "calls_per_minute"):
            for key in getattr(self._matrix.limits, limit):
                if key not in known and not self._wrong:
                    message = f"limits.{limit}: no cell is in {key!r}"
                    there = f"there is {', '.join(sorted(known))}"
                    yield self._at(("limits", limit, key), message, there)

    def _error(self, place: combinations.Place, error: UserError) -> Mistake:
        """Return the mistake of a single name. Combinations that depend on it are not checked."""
        self._wrong.add(self._form.document.known(place))
        return self._mistake(place, error)

    def _mistake(self, place: combinations.Place, error: DiskbenchError) -> Mistake:
        advice = error.short_advice if isinstance(error, UnknownName) else error.advice
        return self._at(place, in_fields(error.message), in_fields(advice))

    def _at(self, place: combinations.Place, message: str, advice: str = "") -> Mistake:
        return Mistake(self._form.document.line_of(place), message, advice)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def in_fields(text: str) -> str:
    """Return `text` with each flag replaced by the name of its field."""

    def field_name(match: re.Match[str]) -> str:
        field = field_of(match[0])
        return field if field in cell_model().model_fields else match[0]

    return _FLAG.sub(field_name, text)


def fields_of(error: DiskbenchError, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the field of a cell that an error is about, followed by the key if the field is a
    mapping; () if the error is about none of the cell's `fields`."""
    name, _, key = error.field.partition(".")
    if name in MAPPING_FIELDS and key:
        return name, key
    return (name,) if name in fields else ()

"""What a matrix means, checked cell by cell: every mistake with its line, all together. Pure.

What must be asked of others (which providers there are, what a provider says of a cell, what a
profile takes) is asked through `World`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from diskbench.errors import DiskbenchError, UnknownName, UserError
from diskbench.fio.template import read_value
from diskbench.model.matrix import MAPPING_FIELDS, Matrix
from diskbench.plan.combinations import combinations, idle_excludes, overlaps, products
from diskbench.plan.error_field import blamed, in_fields
from diskbench.plan.matrix import DEFAULT_PROFILE, Block, block, check_cells, duplicates
from diskbench.plan.matrix_form import near, nearest, shown_place
from diskbench.plan.until import until_mistake_of, until_mistakes
from diskbench.yaml_lines import Mistake

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.fio.profiles import Profile
    from diskbench.model.matrix import CellFields
    from diskbench.model.spec import Cell
    from diskbench.plan.combinations import Combination, Place
    from diskbench.plan.matrix_form import Form


class World(Protocol):
    """What a matrix is checked against."""

    def providers(self) -> Sequence[str]:
        """The names of all providers."""
        ...

    def rents(self, provider: str) -> bool:
        """Whether the provider makes machines."""
        ...

    def profile(self, name: str) -> Profile:
        """The profile; raises UserError."""
        ...

    def check(self, cell: Cell) -> None:
        """Raise UserError for what the provider refuses without looking."""
        ...

    def check_shared(self, cell: Cell) -> None:
        """Raise UserError for a cell that cannot share its machine with others."""
        ...


def mistakes_in(form: Form, world: World) -> list[Mistake]:
    """Everything that is wrong with a file, in the order of its lines."""
    found = list(form.mistakes)
    if form.matrix is not None:
        found += _Checker(form, form.matrix, world).mistakes()
    return sorted(set(found))


class _Checker:
    def __init__(self, form: Form, matrix: Matrix, world: World) -> None:
        self._form, self._matrix, self._world = form, matrix, world
        self._wrong = set(form.wrong)
        self._meant: dict[tuple[str, str], str] = {}
        """What was probably meant by a name that does not exist."""

    def mistakes(self) -> Iterator[Mistake]:
        yield from self._names()
        yield from self._axes()
        if any(place in self._wrong for place in (("axes",), ("include",))):
            return
        crossed = list(overlaps(self._matrix))
        for first, second, field, place in crossed:
            yield self._at(
                place,
                f"the axes {first!r} and {second!r} both set {field!r}",
                "let one axis set it, with a mapping of the fields that go together",
            )
        if crossed:
            return
        yield from self._excludes()
        try:
            made = combinations(self._matrix)
            check_cells(made, self._matrix)
        except UserError as error:
            yield self._at(("axes",), error.message, error.advice)
            return
        if not made and not self._wrong:
            yield self._at(("exclude",), "no cell is left", "exclude less")
        blocks: list[Block] = []
        for one in made:
            yield from self._cell(self._as_meant(one), blocks)
        for earlier, later in duplicates(blocks):
            yield self._at(
                later.combination.at,
                f"{later.name} is there twice, first in line {self._line(earlier.combination.at)}",
                "use `replicates` to repeat a cell, or leave one of them out",
            )
        if not self._wrong:
            yield from self._limits(blocks)

    def _names(self) -> Iterator[Mistake]:
        """Providers and profiles that do not exist: told once each, wherever they are named."""
        for place, fields in self._all_fields():
            if fields.provider is not None and fields.provider not in self._world.providers():
                known = self._world.providers()
                error: UserError = UnknownName("provider", fields.provider, known, field="provider")
                yield self._error((*place, "provider"), fields.provider, error)
            if fields.profile is not None and place[0] != "exclude":
                try:
                    self._world.profile(fields.profile)
                except UserError as error:
                    yield self._error((*place, "profile"), fields.profile, error)

    def _all_fields(self) -> Iterator[tuple[Place, CellFields]]:
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
        """Entries that match nothing: mostly one value is misspelt."""
        wrong_fields = {str(part) for place in self._wrong for part in place[-2:]}
        for index in idle_excludes(self._matrix):
            entry = self._matrix.exclude[index].given()
            place = ("exclude", index)
            if not entry or wrong_fields & entry.keys() or self._axis_is_wrong():
                continue
            yield self._idle(place, entry)

    def _idle(self, place: Place, entry: dict[str, Any]) -> Mistake:
        found = products(self._matrix)
        for name, value in entry.items():
            if name in MAPPING_FIELDS:
                continue
            known = {_text(one[name]): one[name] for one in found if name in one}
            if value in known.values():
                continue
            told = f"{shown_place(place)} matches nothing: no combination has {name} {_text(value)}"
            hint = near(value, known) if isinstance(value, str) else ""
            others = f"there is {', '.join(sorted(known))}" if known else f"none has any {name}"
            return self._at((*place, name), told, hint or others)
        return self._at(
            place,
            f"{shown_place(place)} matches nothing: no combination has all of it together",
            "leave it out, or change it",
        )

    def _axis_is_wrong(self) -> bool:
        return any(place[:1] == ("axes",) and len(place) <= 3 for place in self._wrong)

    def _is_tainted(self, one: Combination) -> bool:
        """Whether a combination leans on something that was told to be wrong already: what else
        is said of it would be wrong for that reason only."""
        for place in self._wrong:
            if any(place[: len(part)] == part for part in one.parts):
                return True
            of_axis = place[:1] == ("axes",) and len(place) == 2
            if of_axis or (place[:1] == ("defaults",) and len(place) == 1):
                return True
            if place[:1] == ("defaults",) and (
                place[1] not in one.places or one.places[str(place[1])][:1] == ("defaults",)
            ):
                return True
        return False

    def _as_meant(self, one: Combination) -> Combination:
        fields = {
            name: self._meant.get((name, str(value)), value) for name, value in one.fields.items()
        }
        return replace(one, fields=fields)

    def _cell(self, one: Combination, blocks: list[Block]) -> Iterator[Mistake]:
        tainted = self._is_tainted(one)
        known = one.fields.get("provider") in self._world.providers()
        if known and (wrong := until_mistake_of(one, self._matrix.limits, self._world.rents)):
            yield self._at(*wrong)
            return
        try:
            made = block(one, self._matrix)
            self._world.check(made.cells[-1])
            if self._matrix.reuse_host and made.cells[-1].rent is not None:
                self._world.check_shared(made.cells[-1])
        except UserError as error:
            # A name that does not exist is wrong whatever stands beside it.
            if not tainted or isinstance(error, UnknownName):
                yield self._about(one, error)
            return
        if tainted:
            return
        blocks.append(made)
        profile = self._world.profile(one.fields.get("profile") or DEFAULT_PROFILE)
        taken = {parameter.name: parameter for parameter in profile.parameters}
        for key, value in made.cells[0].parameters:
            try:
                if key not in taken:
                    raise UnknownName(
                        f"parameter of profile {profile.name!r}",
                        key,
                        taken,
                        field=f"parameters.{key}",
                    )
                read_value(taken[key], value)
            except UserError as error:
                yield self._about(one, error)

    def _about(self, one: Combination, error: DiskbenchError) -> Mistake:
        """An error of a cell, at the field that it is about."""
        found = blamed(error, one.fields)
        if not found:
            place = one.places.get("disk") or one.places.get("provider") or one.at
            return self._told(place, error)
        place = one.places.get(found[0], one.at)
        if len(found) > 1:
            # A mapping may be given in several places: the key says which.
            holders = [("defaults",), *one.parts]
            wanted: list[Place] = [(*at, *found) for at in reversed(holders)]
            wanted += [(*at, found[1]) for at in reversed(holders)]
            place = next((at for at in wanted if at in self._form.document.lines), place)
        return self._told(place, error)

    def _limits(self, blocks: Sequence[Block]) -> Iterator[Mistake]:
        for place, message, advice in until_mistakes(self._matrix):
            yield self._at(place, message, advice)
        known = {one.partition for one in blocks}
        known |= {one.cells[0].provider for one in blocks}
        for limit in ("per", "calls_per_minute"):
            for key in getattr(self._matrix.limits, limit):
                if key not in known and not self._wrong:
                    yield self._at(
                        ("limits", limit, key),
                        f"limits.{limit}: no cell is in {key!r}",
                        near(key, known) or f"there is {', '.join(sorted(known))}",
                    )

    def _error(self, place: Place, value: str, error: UserError) -> Mistake:
        """An error of a single name; what was meant by it is used from here on, or nothing that
        leans on it is looked at."""
        meant = nearest(value, error.known) if isinstance(error, UnknownName) else None
        if meant is None:
            self._wrong.add(self._form.document.known(place))
        else:
            self._meant[str(place[-1]), value] = meant
        return self._told(place, error)

    def _told(self, place: Place, error: DiskbenchError) -> Mistake:
        advice = error.short_advice if isinstance(error, UnknownName) else error.advice
        return self._at(place, in_fields(error.message), in_fields(advice))

    def _at(self, place: Place, message: str, advice: str = "") -> Mistake:
        return Mistake(self._line(place), message, advice)

    def _line(self, place: Place) -> int:
        return self._form.document.line_of(place)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

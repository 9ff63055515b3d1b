"""Check the meaning of a matrix cell by cell, and report every mistake with its line. Pure.

Facts from outside (a provider's check of a cell, a profile's parameters) come through functions. An
error names its subject in `field`. Its text names the flags of `diskbench run` (`--size 20.5`),
because flags and fields share their rules; for a matrix the flags in the text are replaced by the
field names. No decision depends on the text.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diskbench.errors import DiskbenchError, UnknownName, UserError
from diskbench.fio.profiles import Profile, check_override
from diskbench.model.matrix import DEFAULT_PROFILE, MAPPING_FIELDS, CellFields, Matrix
from diskbench.model.spec import Cell
from diskbench.plan import combinations
from diskbench.plan.matrix import Block, block, check_cells, duplicates
from diskbench.plan.matrix_form import cell_model, read_form, shown_place
from diskbench.plan.until import until_mistake_of, until_mistakes
from diskbench.plugin import plugin_names
from diskbench.units import field_of
from diskbench.yaml_lines import Document, Mistake, Place


def checked(
    text: str, profile: Callable[[str], Profile], check: Callable[[Cell, Matrix], None]
) -> tuple[Matrix | None, list[Mistake]]:
    """Return the matrix in a file, None if nothing could be read, and every mistake, in the order
    of its lines.

    `profile` returns the profile of a name; `check` raises UserError for a cell that the provider
    refuses without querying its API, or that cannot share its machine where those of the matrix do.
    """
    document, matrix, mistakes, wrong = read_form(text)
    if matrix is not None:
        mistakes += _Checker(document, matrix, wrong, profile, check).mistakes()
    return matrix, sorted(set(mistakes))


@dataclass
class _Checker:
    document: Document
    matrix: Matrix
    wrong: set[Place]
    profile: Callable[[str], Profile]
    check: Callable[[Cell, Matrix], None]

    def mistakes(self) -> Iterator[Mistake]:
        yield from self._unknown_names()
        for axis in (axis for axis, values in self.matrix.axes.items() if not values):
            self.wrong.add(("axes", axis))
            yield self._at(("axes", axis), f"axes.{axis} has no value", "leave it out")
        if any(place in self.wrong for place in (("axes",), ("include",))):
            return
        crossed = list(combinations.overlaps(self.matrix))
        for first, second, field, place in crossed:
            message = f"the axes {first!r} and {second!r} both set {field!r}"
            yield self._at(place, message, "let one axis set it, with a mapping of both fields")
        if crossed:
            return
        yield from self._excludes()
        try:
            made = combinations.combinations(self.matrix)
            check_cells(made, self.matrix)
        except UserError as error:
            yield self._at(("axes",), error.message, error.advice)
            return
        if not made and not self.wrong:
            yield self._at(("exclude",), "no cell is left", "exclude less")
        blocks: list[Block] = []
        for combination in made:
            yield from self._cell(combination, blocks)
        for (earlier, _), (later, (again, *_)) in duplicates(blocks):
            line = self.document.line_of(earlier.at)
            yield self._at(
                later.at,
                f"{again.block} occurs twice, first in line {line}",
                "use `replicates` to repeat a cell, or leave one of them out",
            )
        if not self.wrong:
            yield from self._limits(blocks)

    def _unknown_names(self) -> Iterator[Mistake]:
        """Yield unknown providers and profiles, once for each place that names them."""
        matrix, known = self.matrix, plugin_names()
        lists: dict[Place, Sequence[CellFields]] = {
            **{("axes", axis): values for axis, values in matrix.axes.items()},
            ("include",): matrix.include,
            ("exclude",): matrix.exclude,
        }
        every: list[tuple[Place, CellFields]] = [(("defaults",), matrix.defaults)]
        every += [((*at, index), one) for at, of in lists.items() for index, one in enumerate(of)]
        for place, fields in every:
            if fields.provider is not None and fields.provider not in known:
                unknown = UnknownName("provider", fields.provider, known, field="provider")
                yield self._error((*place, "provider"), unknown)
            if fields.profile is not None and place[0] != "exclude":
                try:
                    self.profile(fields.profile)
                except UserError as error:
                    yield self._error((*place, "profile"), error)

    def _excludes(self) -> Iterator[Mistake]:
        """Yield `exclude` entries that match nothing; usually one value is misspelt."""
        wrong_fields = {str(part) for place in self.wrong for part in place[-2:]}
        for index in combinations.idle_excludes(self.matrix):
            entry = self.matrix.exclude[index].given()
            axis_is_wrong = any(at[:1] == ("axes",) and len(at) <= 3 for at in self.wrong)
            if entry and not wrong_fields & entry.keys() and not axis_is_wrong:
                yield self._idle(("exclude", index), entry)

    def _idle(self, place: Place, entry: dict[str, Any]) -> Mistake:
        crossed = combinations.products(self.matrix)
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
        for place in self.wrong:
            if any(place[: len(part)] == part for part in combination.parts):
                return True
            if (place[:1] == ("axes",) and len(place) == 2) or place == ("defaults",):
                return True
            if place[:1] == ("defaults",):
                source = combination.places.get(str(place[1]), place)
                if source[:1] == ("defaults",):
                    return True
        return False

    def _cell(
        self, combination: combinations.Combination, blocks: list[Block]
    ) -> Iterator[Mistake]:
        tainted = self._is_tainted(combination)
        known = combination.fields.get("provider") in plugin_names()
        if known and (wrong := until_mistake_of(combination, self.matrix.limits)):
            yield self._at(*wrong)
            return
        try:
            made = block(combination, self.matrix)
            self.check(made[-1].cell, self.matrix)
        except UserError as error:
            # An unknown name is wrong whatever the other fields are.
            if not tainted or isinstance(error, UnknownName):
                yield self._about(combination, error)
            return
        if tainted:
            return
        blocks.append((combination, made))
        profile = self.profile(combination.fields.get("profile") or DEFAULT_PROFILE)
        for key, value in made[0].cell.parameters:
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
            keys: list[Place] = [(*at, *path) for at in reversed(holders)]
            keys += [(*at, path[1]) for at in reversed(holders)]
            place = next((at for at in keys if at in self.document.lines), place)
        return self._mistake(place, error)

    def _limits(self, blocks: Sequence[Block]) -> Iterator[Mistake]:
        for place, message, advice in until_mistakes(self.matrix):
            yield self._at(place, message, advice)
        known = {first.partition for _, (first, *_) in blocks}
        known |= {first.cell.provider for _, (first, *_) in blocks}
        for limit in ("per", "calls_per_minute"):
            for key in getattr(self.matrix.limits, limit):
                if key not in known and not self.wrong:
                    message = f"limits.{limit}: no cell is in {key!r}"
                    there = f"there is {', '.join(sorted(known))}"
                    yield self._at(("limits", limit, key), message, there)

    def _error(self, place: Place, error: UserError) -> Mistake:
        """Return the mistake of a single name. Combinations that depend on it are not checked."""
        self.wrong.add(self.document.known(place))
        return self._mistake(place, error)

    def _mistake(self, place: Place, error: DiskbenchError) -> Mistake:
        advice = error.short_advice if isinstance(error, UnknownName) else error.advice
        return self._at(place, in_fields(error.message), in_fields(advice))

    def _at(self, place: Place, message: str, advice: str = "") -> Mistake:
        return Mistake(self.document.line_of(place), message, advice)


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

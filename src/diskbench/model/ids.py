"""What a person means by an id, or by the beginning of one: one rule for every command.

An id typed in full means that thing. The beginning of one means the only thing that it fits; a
thing and its parts (the runs of a trial, the trials of a matrix) count as that one thing. A
beginning that fits several is refused with a list of them, and an empty one always is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ulid import ULID

from diskbench.errors import InvalidValue, UnknownName
from diskbench.units import format_duration_s

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHOWN = 8
"""How many things a refusal lists; our choice."""


@dataclass(frozen=True)
class Known:
    """Something that has an id. `kind` (`run`, `lease`) and `where` are what a person is told of
    it; `means` is what a command acts on when it is named (the lease of a run; default: itself).
    `part_of` are the ids of what it belongs to."""

    id: str
    kind: str
    where: str = ""
    means: str = ""
    part_of: tuple[str, ...] = ()

    @property
    def stands_for(self) -> str:
        """The id of what a command acts on."""
        return self.means or self.id


def beginning(text: str, kind: str) -> str:
    """The id, or the beginning of one, that was typed; in lower case. Raises InvalidValue for an
    empty one, which would fit everything."""
    wanted = text.strip().lower()
    if not wanted:
        raise InvalidValue(
            f"{text!r} is empty: it names no {kind}", advice="type an id, or the beginning of one"
        )
    return wanted


def meant(text: str, known: Iterable[Known], kind: str, *, advice: str = "") -> Known:
    """The one of `known` that `text` means.

    Raises InvalidValue for an empty text and for one that fits several, UnknownName (with
    `advice`) for one that fits none. `kind` says in messages what was looked for.
    """
    wanted = beginning(text, kind)
    every = list(known)
    matches = [thing for thing in every if thing.id == wanted]
    matches = matches or [thing for thing in every if thing.id.startswith(wanted)]
    matches = _wholes(matches)
    if not matches:
        raise UnknownName(kind, text.strip(), {thing.stands_for for thing in every}, advice=advice)
    if len({thing.stands_for for thing in matches}) == 1:
        return matches[0]
    raise several(text, matches)


def several(text: str, found: Sequence[Known]) -> InvalidValue:
    """The refusal of a beginning that fits more than one thing, with the list of them."""
    shown = sorted(found, key=lambda thing: (thing.id, thing.kind))[:SHOWN]
    lines = "".join(f"\n  {described(thing)}" for thing in shown)
    more = "\n  and others" if len(found) > SHOWN else ""
    return InvalidValue(
        f"{text.strip()!r} is the beginning of several:{lines}{more}",
        advice="type more of the id that you mean, or all of it",
    )


def described(thing: Known) -> str:
    """A thing in one line: id, what it is, where, and its age."""
    return ", ".join(
        word for word in (f"{thing.id}  {thing.kind}", thing.where, age(thing.id)) if word
    )


def owned(lease_id: str, owner: str | None) -> str:
    """A lease of others in one line: its full id, who its tags say rented it, and its age."""
    whose = f"owner {owner}" if owner else "no owner tagged"
    return ", ".join(word for word in (f"lease {lease_id}", whose, age(lease_id)) if word)


def age(ulid: str, *, now: float | None = None) -> str:
    """How old what has this id is (`3 h old`); "" where the id does not say when it was made."""
    try:
        made = ULID.from_str(ulid.upper()).timestamp
    except ValueError:
        return ""
    seconds = (time.time() if now is None else now) - made
    return f"{format_duration_s(seconds)} old" if seconds >= 0 else ""


def _wholes(found: list[Known]) -> list[Known]:
    """Without the parts of what is there itself."""
    ids = {thing.id for thing in found}
    return [thing for thing in found if not ids.intersection(thing.part_of)]

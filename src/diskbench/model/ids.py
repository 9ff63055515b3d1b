"""Resolve a typed id, the beginning of one, its short form or `last`: one rule for every command.

A full id means the object with that id. A beginning, or an end of at least 8 characters, means the
only object that it matches; an object and its parts (the runs of a trial, the trials of a matrix)
count as one. Text that matches several objects is refused with a list of them; empty text is always
refused.

The short form is the end: an id begins with its time, so runs that began within a second share
their first 8 characters, and the last 8 are 40 random bits.
"""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ulid import ULID

from diskbench.errors import InvalidValue, UnknownName
from diskbench.units import format_duration_s

SHOWN = 8
"""How many things a refusal lists; our choice."""


SHORT = 8
"""How many characters of an id are shown."""
LAST = "last"
_LAST = re.compile(r"last(?:~(\d{1,6}))?")
_LINE = re.compile(r"[1-9]\d{0,5}")
"""No id: ids begin with 0 until the year 3084, and a short one has more digits."""


def short(id_: str) -> str:
    """Return the short form of an id, which every command accepts."""
    return id_[-SHORT:]


def last_number(text: str) -> int | None:
    """Return how many newer ones `last` (0) or `last~N` (N) skips; None for any other text."""
    match = _LAST.fullmatch(text.strip().lower())
    return None if match is None else int(match[1] or 0)


def line_number(text: str) -> int | None:
    """Return the line of `results list` that a number of up to six digits means; else None."""
    return int(text) if _LINE.fullmatch(text) else None


@dataclass(frozen=True)
class Known:
    """An object with an id. `kind` (`run`, `lease`) and `where` are shown to the user; `means` is
    the id that a command acts on when this one is typed (the lease of a run; default: its own id).
    `part_of` are the ids of the objects that it belongs to; `name` is its own name, if any."""

    id: str
    kind: str
    where: str = ""
    means: str = ""
    part_of: tuple[str, ...] = ()
    name: str = ""

    @property
    def stands_for(self) -> str:
        """The id that a command acts on."""
        return self.means or self.id


def beginning(text: str, kind: str) -> str:
    """Return the typed id or prefix in lower case. Raises InvalidValue for an empty one, which
    would match everything."""
    typed = text.strip().lower()
    if not typed:
        raise InvalidValue(
            f"{text!r} is empty: it names no {kind}", advice="type an id, or the beginning of one"
        )
    return typed


def meant(text: str, known: Iterable[Known], kind: str, *, advice: str = "") -> Known:
    """Return the object of `known` that `text` means; `last` means the newest, `last~1` the one
    before it. A cell that has not begun (MATRIX/POSITION) is not among those.

    Raises InvalidValue for an empty text or several matches, UnknownName (with `advice`) for no
    match. `kind` names the kind of object in messages.
    """
    typed = beginning(text, kind)
    every = list(known)
    number, ids = last_number(typed), {one.stands_for for one in every}
    if number is not None:
        begun = sorted(id_ for id_ in ids if "/" not in id_)
        if number >= len(begun):
            raise UnknownName(kind, typed, begun, advice=advice)
        return next(one for one in every if one.stands_for == begun[-1 - number])
    matches = [one for one in every if one.id == typed]
    matches = matches or [one for one in every if fits(one.id, typed)]
    matching = {one.id for one in matches}  # parts of others among them do not count
    matches = [one for one in matches if not matching.intersection(one.part_of)]
    if not matches:
        raise UnknownName(kind, text.strip(), ids, advice=advice)
    if len({one.stands_for for one in matches}) == 1:
        return matches[0]
    raise several(text, matches)


def fits(id_: str, typed: str) -> bool:
    """Whether an id begins with the typed text, or ends with it where that is long enough."""
    return id_.startswith(typed) or (len(typed) >= SHORT and id_.endswith(typed))


def several(text: str, matches: Sequence[Known]) -> InvalidValue:
    """Return the error for text that matches several objects, with the list of them."""
    shown = sorted(matches, key=lambda candidate: (candidate.id, candidate.kind))[:SHOWN]
    lines = "".join(f"\n  {described(candidate)}" for candidate in shown)
    more = "\n  and others" if len(matches) > SHOWN else ""
    return InvalidValue(
        f"{text.strip()!r} matches several:{lines}{more}",
        advice="type more of the id that you mean, or all of it",
    )


def described(candidate: Known) -> str:
    """Return an object in one line: id, kind, place and age."""
    words = (f"{candidate.id}  {candidate.kind}", candidate.where, age(candidate.id))
    return ", ".join(filter(None, words))


def owned(lease_id: str, owner: str | None) -> str:
    """Return another user's lease in one line: full id, owner from its tags, and age."""
    whose = f"owner {owner}" if owner else "no owner tagged"
    return ", ".join(filter(None, (f"lease {lease_id}", whose, age(lease_id))))


def age(ulid: str, *, now: float | None = None) -> str:
    """Return the age of the object with this id (`3 h old`); "" if the id has no time in it."""
    try:
        made = ULID.from_str(ulid.upper()).timestamp
    except ValueError:
        return ""
    seconds = (time.time() if now is None else now) - made
    return f"{format_duration_s(seconds)} old" if seconds >= 0 else ""

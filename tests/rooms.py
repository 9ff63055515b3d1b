"""Which tests `script/check` and `script/test` run, and which only `script/test --all`: by room.

`tests/unit`, `tests/method` and what no row of rooms.yaml names run always. Of a room in it what
`kept` names does; the others have the marker `thorough`, and run before a change of it is merged.
CONTRIBUTING.md shows the table (`python -m tests.rooms` writes it)."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- rooms -->", "<!-- end of rooms -->"


@dataclass(frozen=True)
class Room:
    """A folder or file of tests of which only a part runs always."""

    prefix: str
    """What the ids of its tests begin with."""
    changes: str
    """Whose change needs the whole room."""
    always: str
    """What of it runs always, in words."""
    kept: tuple[str, ...] = ()
    """The same as patterns (fnmatch) of the id behind the prefix; `[[]` is a bracket."""
    repeats: tuple[str, ...] = ()
    """Patterns of what only repeats, at a cost, what another kept test shows."""


ROOMS = tuple(
    Room(**{name: tuple(of) if isinstance(of, list) else of for name, of in row.items()})
    for row in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
)


def is_thorough(test_id):
    for room in ROOMS:
        if test_id.startswith(room.prefix):
            rest = test_id.removeprefix(room.prefix)
            return not _fits(rest, room.kept) or _fits(rest, room.repeats)
    return False


def has_quick_case(test_id):
    for room in ROOMS:
        if test_id.startswith(room.prefix):
            rest = test_id.removeprefix(room.prefix)
            kept = [pattern.partition("[[]")[0] for pattern in room.kept]
            return _fits(rest, kept) and not _fits(rest, room.repeats)
    return True


def _fits(rest, patterns):
    return any(fnmatchcase(rest, pattern) for pattern in patterns)


def table():
    lines = ["| tests | run always | a change of this runs all of them |", "| --- | --- | --- |"]
    for room in ROOMS:
        name = room.prefix.removesuffix("::").removesuffix("/")
        lines.append(f"| `{name}` | {room.always} | {room.changes} |")
    return "\n".join(lines) + "\n"


def page(text):
    """CONTRIBUTING.md with the table as it is now. Raises ValueError where it has no place."""
    head, begun, rest = text.partition(BEGIN)
    _, ended, tail = rest.partition(END)
    if not begun or not ended:
        raise ValueError(f"the page needs the lines {BEGIN} and {END}, in this order")
    return f"{head}{BEGIN}\n{table()}{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")

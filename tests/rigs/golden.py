"""Sentences in one place: what a page or a command says is a file below tests/golden.

A change of words is a change of one file, read in its diff. `pytest --update-golden` writes them
anew, and fails once, so that it is never mistaken for a run that compared."""

import difflib
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest

PLACE = Path(__file__).parents[1] / "golden"
_UNREAD = frozenset({"script", "style", "svg"})
_LINE = frozenset(
    {"p", "h1", "h2", "h3", "tr", "li", "dt", "dd", "summary", "figcaption", "caption", "div"}
)


@dataclass(frozen=True)
class Golden:
    """What is said, compared with the files of `place`."""

    place: Path
    update: bool

    def check(self, name: str, said: str) -> None:
        path = self.place / name
        lines = [line.rstrip() for line in said.strip().splitlines()]
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", "utf-8")
            pytest.fail(f"{name} was written anew: read its diff")
        kept = path.read_text("utf-8").splitlines() if path.exists() else []
        changed = list(difflib.unified_diff(kept, lines, name, "said now", lineterm="", n=1))
        assert not changed, "\n".join([*changed, "if this is meant: pytest --update-golden"])


def check_part(path: Path, marks: tuple[str, str], made: str, *, update: bool) -> None:
    """Fail unless `made` stands between the two marks of a page; `update` writes it first."""
    begin, end = marks
    head, rest = path.read_text("utf-8").split(begin)
    kept, tail = rest.split(end)
    if kept != made and update:
        path.write_text(head + begin + made + end + tail, "utf-8")
        pytest.fail(f"{path.name} is written: read its diff")
    assert kept == made, f"docs/{path.name}: run with --update-golden and read the diff"


def text_of(html: str) -> str:
    """What a reader of a page sees as text, a line for each paragraph, row or heading."""
    reader = _Reader()
    reader.feed(html)
    lines = (" ".join(line.split()) for line in "".join(reader.said).split("\n"))
    return "\n".join(line for line in lines if line)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._unread += tag in _UNREAD
        self.said.append("\n" if tag in _LINE else " " if tag in {"td", "th"} else "")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _UNREAD
        self.said.append("\n" if tag in _LINE else " | " if tag in {"td", "th"} else "")

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.said.append(data.replace("\n", " "))

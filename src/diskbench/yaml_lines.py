"""YAML read so that every value knows its line, and every mistake in the text is told: pure.

Anchors, aliases and merge keys (`<<`) work; a mapping that names a key twice is a mistake, where
YAML libraries keep the last one silently.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from diskbench.limits import COUNTER, YAML_VALUES
from diskbench.visible import unstorable, unstorable_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    import yaml
    from yaml.nodes import Node

Place = tuple[str | int, ...]
"""The keys and positions that lead to a value."""
_SHOWN = 60
"""Characters of a value that a message shows."""
_MERGE = "tag:yaml.org,2002:merge"
_PLAIN = {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}


@dataclass(frozen=True, order=True)
class Mistake:
    """One thing that is wrong in a file, with the line it stands in, from 1."""

    line: int
    message: str
    advice: str = ""

    def told(self, file: str) -> str:
        """`FILE:LINE: what is wrong; what would be right`."""
        return f"{file}:{self.line}: {self.message}" + (f"; {self.advice}" if self.advice else "")


@dataclass
class Document:
    """What stands in a file. `data` holds strings, numbers, booleans, lists and dicts only;
    `dropped` are the places of what could not be read."""

    data: Any = None
    lines: dict[Place, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    dropped: list[Place] = field(default_factory=list)

    def line_of(self, place: Place) -> int:
        """The line of a place, or of the nearest thing around it that is there."""
        return self.lines.get(self.known(place), 1)

    def known(self, place: Place) -> Place:
        """The longest beginning of a place that stands in the file."""
        while place and place not in self.lines:
            place = place[:-1]
        return place


def read_yaml(text: str) -> Document:
    """The document in `text`; what cannot be read is among its mistakes, and left out."""
    found = Document(lines={(): 1})
    loader: yaml.SafeLoader | None = None
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is not None:
            found.data = _Reader(loader, found).value(node, ())
        if found.data is None and not found.mistakes:
            found.mistakes.append(Mistake(1, "the file is empty"))
    except yaml.MarkedYAMLError as error:
        at_the_end = "<stream end>" in (error.problem or "")
        mark = (error.context_mark if at_the_end else None) or error.problem_mark
        told = ", ".join(part for part in (error.context, error.problem) if part)
        last = len(text.rstrip().splitlines()) or 1
        line = min(mark.line + 1, last) if mark else 1
        found.mistakes.append(Mistake(line, f"no YAML: {told}"))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        found.mistakes.append(Mistake(line, f"no YAML: {error.reason}"))
    except _TooManyError as error:
        told = f"more than {YAML_VALUES:,} values, aliases included"
        found.mistakes.append(Mistake(error.line, told))
    except RecursionError:
        found.mistakes.append(Mistake(1, "nested too deeply"))
    finally:
        if loader is not None:
            loader.dispose()
    return found


class _TooManyError(Exception):
    def __init__(self, line: int) -> None:
        self.line = line


class _Reader:
    """Nodes to values, keeping the line of each place."""

    def __init__(self, loader: yaml.SafeLoader, found: Document) -> None:
        self._loader, self._found = loader, found
        self._nodes = 0
        self._open: list[Node] = []
        self._told: set[int] = set()

    def value(self, node: Node, place: Place) -> Any:  # noqa: ANN401 - whatever YAML holds
        self._nodes += 1
        if self._nodes > YAML_VALUES:
            raise _TooManyError(node.start_mark.line + 1)
        if any(node is outer for outer in self._open):
            self._complain(node, "an anchor that holds itself")
            return None
        if isinstance(node, ScalarNode):
            if (bad := unstorable(node.value)) is not None:
                self._complain(node, unstorable_words(bad))
                return None
            return self._scalar(node)
        if node.tag not in _PLAIN:
            self._complain(node, f"the tag {node.tag!r} means nothing here")
            return None
        self._open.append(node)
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, place)
            assert isinstance(node, SequenceNode)
            return self._sequence(node.value, place)
        finally:
            self._open.pop()

    def _sequence(self, items: Iterable[Node], place: Place) -> list[Any]:
        found = []
        for index, item in enumerate(items):
            at = (*place, index)
            self._found.lines[at] = item.start_mark.line + 1
            found.append(self.value(item, at))
            if found[-1] is None:
                self._no_value(item, "an entry")
                # Later entries keep their number; this one sets nothing.
                self._found.dropped.append(at)
                found[-1] = {}
        return found

    def _mapping(self, node: MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        first: dict[str, int] = {}
        merges: list[Node] = []
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _MERGE:
                merges.append(value_node)
                continue
            key = self._key(key_node)
            if key is None:
                continue
            if key in first:
                self._complain(
                    key_node, f"{quoted(key)} is given twice, first in line {first[key]}"
                )
                continue
            first[key] = line
            self._found.lines[*place, key] = line
            value = self.value(value_node, (*place, key))
            if value is None:
                self._no_value(value_node, repr(key))
                self._found.dropped.append((*place, key))
            else:
                found[key] = value
        for merge in merges:
            self._merge(merge, place, found, first)
        return found

    def _merge(self, node: Node, place: Place, found: dict[str, Any], own: dict[str, int]) -> None:
        several = node.value if isinstance(node, SequenceNode) else [node]
        for one in several:
            if not isinstance(one, MappingNode):
                self._complain(one, "<< takes a mapping, or a list of mappings")
                continue
            # Lines are collected apart: copying all lines for each merge would take hours.
            outer, self._found.lines = self._found.lines, {}
            try:
                merged = self.value(one, place)
            finally:
                inner, self._found.lines = self._found.lines, outer
            if not isinstance(merged, dict):
                continue
            # What is given here, or merged before, stands; so do its lines.
            outer |= {
                at: line
                for at, line in inner.items()
                if at[len(place)] not in found and at[len(place)] not in own
            }
            for key, value in merged.items():
                if key not in found and key not in own:
                    found[key] = value

    def _key(self, node: Node) -> str | None:
        value = self._scalar(node) if isinstance(node, ScalarNode) else None
        if not isinstance(value, str):
            shown = node.value if isinstance(node, ScalarNode) else "a list or mapping"
            self._complain(node, f"the key {quoted(shown)} is no text", "put it in quotes")
            return None
        return value

    def _scalar(self, node: ScalarNode) -> Any:  # noqa: ANN401 - whatever YAML holds
        try:
            value = self._loader.construct_object(node)
        except yaml.YAMLError as error:
            problem = getattr(error, "problem", None) or str(error)
            self._complain(node, f"{quoted(node.value)}: {problem}")
            return None
        except ValueError as error:
            self._complain(node, f"{quoted(node.value)}: {error}", "put it in quotes")
            return None
        except (ArithmeticError, AttributeError, LookupError, TypeError):
            # PyYAML on a value that its tag does not fit (`!!int ""`), or past any float.
            kind = node.tag.rpartition(":")[2]
            self._complain(node, f"{quoted(node.value)} is no {kind}", "put it in quotes")
            return None
        if isinstance(value, int) and abs(value) > COUNTER:
            self._complain(
                node, f"{quoted(node.value)} is too large: whole numbers end at {COUNTER:,}"
            )
            return None
        if value is None or isinstance(value, str | int | float):
            return value
        self._complain(
            node, f"{quoted(node.value)} reads as a {type(value).__name__}", "put it in quotes"
        )
        return None

    def _no_value(self, node: Node, what: str) -> None:
        """Tell of a null, unless something else was told about it."""
        line = node.start_mark.line + 1
        if line not in self._told:
            self._complain(node, f"{what} has no value", "give one, or leave it out")

    def _complain(self, node: Node, message: str, advice: str = "") -> None:
        line = node.start_mark.line + 1
        self._told.add(line)
        self._found.mistakes.append(Mistake(line, message, advice))


def quoted(value: str) -> str:
    """A value as a message shows it: its beginning, when it is long."""
    return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")

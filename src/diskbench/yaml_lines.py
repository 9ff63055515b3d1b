"""Read YAML: what people write, with the line of each value and all mistakes in the text; and what
diskbench ships, as plain values.

Anchors, aliases and merge keys (`<<`) work; in what people write a duplicate key in a mapping is a
mistake, where YAML libraries silently use its last value.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from diskbench.limits import COUNTER, YAML_DEPTH, YAML_VALUES
from diskbench.visible import quoted, unstorable, unstorable_words

Place = tuple[str | int, ...]
"""The keys and positions that lead to a value."""
_FASTEST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # some builds of PyYAML lack libyaml
_BEGIN, _END = yaml.CollectionStartEvent, yaml.CollectionEndEvent
_MERGE = "tag:yaml.org,2002:merge"
_PLAIN = {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}


@dataclass(frozen=True, order=True)
class Mistake:
    """One mistake in a file, with its line number, from 1."""

    line: int
    message: str
    advice: str = ""

    def text_in(self, file: str) -> str:
        """`FILE:LINE: what is wrong; what would be right`."""
        return f"{file}:{self.line}: {self.message}" + (f"; {self.advice}" if self.advice else "")


@dataclass
class Document:
    """The content of a file. `data` holds strings, numbers, booleans, lists and dicts only;
    `dropped` are the places of values that could not be read."""

    data: Any = None
    lines: dict[Place, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    dropped: list[Place] = field(default_factory=list)

    def line_of(self, place: Place) -> int:
        """The line of a place, or of the nearest enclosing place in the file."""
        return self.lines.get(self.known(place), 1)

    def known(self, place: Place) -> Place:
        """The longest prefix of a place that exists in the file."""
        while place and place not in self.lines:
            place = place[:-1]
        return place


def read_yaml(text: str) -> Document:
    """The document in `text`; values that cannot be read are left out and listed as mistakes."""
    document = Document(lines={(): 1})
    try:
        node = _root(text)
        if node is not None:
            document.data = _Reader(document).value(node, ())
        if document.data is None and not document.mistakes:
            document.mistakes.append(Mistake(1, "the file is empty"))
    except yaml.MarkedYAMLError as error:
        at_the_end = "<stream end>" in (error.problem or "")
        mark = (error.context_mark if at_the_end else None) or error.problem_mark
        message = ", ".join(part for part in (error.context, error.problem) if part)
        last = len(text.rstrip().splitlines()) or 1
        line = min(mark.line + 1, last) if mark else 1
        document.mistakes.append(Mistake(line, f"not valid YAML: {message}"))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        document.mistakes.append(Mistake(line, f"not valid YAML: {error.reason}"))
    except _TooManyError as error:
        message = f"more than {YAML_VALUES:,} values, aliases included"
        document.mistakes.append(Mistake(error.line, message))
    except RecursionError:
        document.mistakes.append(Mistake(1, "nested too deeply"))
    return document


def _root(text: str) -> Node | None:
    """The node of a text, in the words of PyYAML's own reader. libyaml looks through it first, many
    times faster: what is too large or too deep is refused at once."""
    nodes = depth = 0
    with suppress(yaml.YAMLError, UnicodeError):  # what is wrong the other says for people
        for event in yaml.parse(text, Loader=_FASTEST):
            depth += isinstance(event, _BEGIN) - isinstance(event, _END)
            nodes += isinstance(event, yaml.NodeEvent)
            if depth > YAML_DEPTH:
                raise RecursionError
            if nodes > 2 * YAML_VALUES:  # a value and its key
                raise _TooManyError(event.start_mark.line + 1 if event.start_mark else 1)
    return yaml.compose(text, Loader=yaml.SafeLoader)


class _TooManyError(Exception):
    def __init__(self, line: int) -> None:
        self.line = line


class _Reader:
    """Converts nodes to values and records the line of each place."""

    def __init__(self, document: Document) -> None:
        self._constructor, self._document = SafeConstructor(), document
        self._nodes = 0
        self._open: list[Node] = []
        self._lines_with_mistake: set[int] = set()

    def value(self, node: Node, place: Place) -> Any:  # noqa: ANN401 - whatever YAML holds
        self._nodes += 1
        if self._nodes > YAML_VALUES:
            raise _TooManyError(node.start_mark.line + 1)
        if isinstance(node, ScalarNode):
            if (bad := unstorable(node.value)) is None:
                return self._scalar(node)
            self._complain(node, unstorable_words(bad))
        elif node in self._open:
            self._complain(node, "an anchor that holds itself")
        elif node.tag not in _PLAIN:
            self._complain(node, f"the tag {node.tag!r} means nothing here")
        else:
            self._open.append(node)
            read = self._mapping if isinstance(node, MappingNode) else self._sequence
            found = read(node.value, place)
            self._open.pop()
            return found
        return None

    def _sequence(self, items: Iterable[Node], place: Place) -> list[Any]:
        values = []
        for index, item in enumerate(items):
            at = (*place, index)
            self._document.lines[at] = item.start_mark.line + 1
            values.append(self.value(item, at))
            if values[-1] is None:
                self._no_value(item, "an entry")
                # Later entries keep their number; this one sets nothing.
                self._document.dropped.append(at)
                values[-1] = {}
        return values

    def _mapping(self, pairs: Iterable[tuple[Node, Node]], place: Place) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        first: dict[str, int] = {}
        merges: list[Node] = []
        for key_node, value_node in pairs:
            line = key_node.start_mark.line + 1
            if key_node.tag == _MERGE:
                merges.append(value_node)
                continue
            key = self._key(key_node)
            if key is None:
                continue
            if key in first:
                twice = f"{quoted(key)} is given twice, first in line {first[key]}"
                self._complain(key_node, twice)
                continue
            first[key] = line
            self._document.lines[*place, key] = line
            value = self.value(value_node, (*place, key))
            if value is None:
                self._no_value(value_node, repr(key))
                self._document.dropped.append((*place, key))
            else:
                mapping[key] = value
        for merge in merges:
            self._merge(merge, place, mapping, first)
        return mapping

    def _merge(self, node: Node, place: Place, mapping: dict[str, Any], own: Iterable[str]) -> None:
        several = node.value if isinstance(node, SequenceNode) else [node]
        for source in several:
            if not isinstance(source, MappingNode):
                self._complain(source, "<< takes a mapping, or a list of mappings")
                continue
            # Lines are collected apart: copying all lines for each merge would take hours.
            outer, self._document.lines = self._document.lines, {}
            try:
                merged = self.value(source, place)
            finally:
                inner, self._document.lines = self._document.lines, outer
            if not isinstance(merged, dict):
                continue
            # A key that is given here, or was merged before, keeps its value and its lines.
            known = {*mapping, *own}
            outer |= {at: line for at, line in inner.items() if at[len(place)] not in known}
            mapping |= {key: value for key, value in merged.items() if key not in known}

    def _key(self, node: Node) -> str | None:
        value = self._scalar(node) if isinstance(node, ScalarNode) else None
        if not isinstance(value, str):
            shown = node.value if isinstance(node, ScalarNode) else "a list or mapping"
            self._complain(node, f"the key {quoted(shown)} is not text", "put it in quotes")
            return None
        return value

    def _scalar(self, node: ScalarNode) -> Any:  # noqa: ANN401 - whatever YAML holds
        advice = "put it in quotes"
        try:
            value = self._constructor.construct_object(node)
        except yaml.YAMLError as error:
            problem, advice = f": {getattr(error, 'problem', None) or error}", ""
        except ValueError as error:
            problem = f": {error}"
        except (ArithmeticError, AttributeError, LookupError, TypeError):
            # PyYAML on a value that its tag does not fit (`!!int ""`), or past any float.
            problem = f" is not a valid {node.tag.rpartition(':')[2]}"
        else:
            if isinstance(value, int) and abs(value) > COUNTER:
                problem, advice = f" is too large: whole numbers end at {COUNTER:,}", ""
            elif value is None or isinstance(value, str | int | float):
                return value
            else:
                problem = f" reads as a {type(value).__name__}"
        self._complain(node, quoted(node.value) + problem, advice)
        return None

    def _no_value(self, node: Node, node_words: str) -> None:
        """Report a null, unless its line already has a mistake."""
        line = node.start_mark.line + 1
        if line not in self._lines_with_mistake:
            self._complain(node, f"{node_words} has no value", "give one, or leave it out")

    def _complain(self, node: Node, message: str, advice: str = "") -> None:
        line = node.start_mark.line + 1
        self._lines_with_mistake.add(line)
        self._document.mistakes.append(Mistake(line, message, advice))


def plain_yaml(text: str) -> Any:  # noqa: ANN401 - what a YAML file holds
    """The values of a YAML text, without lines. Raises yaml.YAMLError."""
    return yaml.load(text, Loader=_FASTEST)  # noqa: S506 - a safe one


def packaged(package: str, name: str) -> Any:  # noqa: ANN401 - as plain_yaml
    """The content of a YAML file that ships in a package."""
    return plain_yaml((resources.files(package) / name).read_text(encoding="utf-8"))

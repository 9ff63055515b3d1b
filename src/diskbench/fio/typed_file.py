"""Text that a user typed into a file, read no further than anybody types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.limits import YAML_VALUES
from diskbench.units import format_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from yaml.nodes import Node


def read_typed(path: Path, limit: int) -> str:
    """The text of a file. Raises OSError, and ValueError for more than `limit` bytes or what is no
    UTF-8."""
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"it has more than {format_bytes(limit)}")
    return data.decode("utf-8")


def load_yaml(text: str) -> Any:  # noqa: ANN401 - whatever YAML holds
    """The value that YAML `text` holds. Raises yaml.YAMLError, and ValueError for what is nested
    too deeply or for aliases that stand for more than YAML_VALUES values."""
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _values(node, {}) > YAML_VALUES:
            raise ValueError(f"more than {YAML_VALUES:,} values, aliases included")
        return loader.construct_document(node)
    except RecursionError:
        raise ValueError("it is nested too deeply, or an anchor holds itself") from None
    finally:
        loader.dispose()


def _values(node: Node, known: dict[int, int]) -> int:
    """How many values a node stands for, each alias counted as often as it is named."""
    from yaml.nodes import MappingNode, SequenceNode

    if id(node) not in known:
        inner: list[Node] = []
        if isinstance(node, MappingNode):
            inner = [one for pair in node.value for one in pair]
        elif isinstance(node, SequenceNode):
            inner = node.value
        known[id(node)] = 1 + sum(_values(one, known) for one in inner)
    return known[id(node)]

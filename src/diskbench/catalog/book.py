"""The files of the catalogue: read from the package, checked whole, every fault named."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from diskbench.catalog.overlay import merged
from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

Book = TypeVar("Book", bound=BaseModel)


def shipped(name: str) -> str:
    """The text of a file under catalog/data."""
    return (resources.files(__package__) / "data" / name).read_text(encoding="utf-8")


def read_yaml(text: str) -> object:
    """What the YAML in `text` says. Raises yaml.YAMLError."""
    import yaml

    # libyaml reads the same many times as fast; some builds of PyYAML are without.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(text, Loader=loader)  # noqa: S506 - either is the safe one


def parse_book(
    model: type[Book],
    text: str,
    *,
    where: str,
    wanted: str,
    patch: Mapping[str, Any] | None = None,
) -> Book:
    """What `model` makes of the YAML in `text`, with `patch`, what was refreshed, laid over it.

    Raises InvalidValue saying that `where` is no `wanted`, and naming every fault.
    """
    import yaml

    try:
        data: Any = read_yaml(text)
        return model.model_validate(merged(data, patch) if patch else data)
    except (yaml.YAMLError, ValidationError) as error:
        raise InvalidValue(
            f"{where} is no {wanted}: {error}",
            advice="each mapping with a figure needs a `source` that `sources` lists",
        ) from error

"""Read the catalogue's files from each provider's folder, and report every fault in a file.

A provider names its folder in its plugin (`Plugin.catalogue`). It may hold

    limits.yaml     disk types and what they promise (catalog/limits/entry.py)
    machines.yaml   the limits of machines towards their disks (catalog/machines/machine_book.py)
    prices.yaml     what disks and machines cost (catalog/prices/price_book.py)
    charges.yaml    what is charged besides hourly prices (catalog/prices/charges.py)
    regions.yaml    the regions there are (catalog/regions.py)

and any of them may be missing.
"""

from __future__ import annotations

import contextlib
import functools
from importlib import resources
from typing import TYPE_CHECKING, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from diskbench.catalog.overlay import merged
from diskbench.errors import InvalidValue
from diskbench.plugins import plugins

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from typing import Any

Book = TypeVar("Book", bound=BaseModel)

LIMITS = "limits.yaml"
CHARGES = "charges.yaml"


def catalogues() -> tuple[str, ...]:
    """The names of the installed providers that bring a catalogue, sorted."""
    return tuple(sorted(_folders()))


def shipped(cloud: str, name: str) -> str | None:
    """Return the text of a file of a provider's catalogue; None if it has no such file. Raises
    InvalidValue for a plugin whose folder does not exist."""
    folder = _folders().get(cloud)
    file = folder / name if folder is not None else None
    return file.read_text(encoding="utf-8") if file is not None and file.is_file() else None


@functools.cache
def _folders() -> dict[str, Traversable]:
    return {one.name: _folder(one.name, one.catalogue) for one in plugins() if one.catalogue}


def _folder(name: str, reference: str) -> Traversable:
    """The folder that `package:folder` of a provider's plugin names."""
    package, _, inside = reference.partition(":")
    folder: Traversable | None = None
    with contextlib.suppress(ImportError):
        folder = resources.files(package) / inside
    if folder is None or not folder.is_dir():
        raise InvalidValue(
            f"provider {name!r} names the catalogue {reference!r}, and there is no such folder",
            advice="its plugin must name `package:folder` of what is installed; "
            "install its package again",
            field="provider",
        )
    return folder


def read_yaml(text: str) -> object:
    """Parse the YAML in `text`. Raises yaml.YAMLError."""
    # libyaml is many times faster; some builds of PyYAML lack it.
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
    """Validate the YAML in `text`, patched with `patch` (refreshed figures), as `model`.

    Raises InvalidValue saying that `where` is no `wanted`, and naming every fault.
    """
    try:
        data: Any = read_yaml(text)
        return model.model_validate(merged(data, patch) if patch else data)
    except (yaml.YAMLError, ValidationError) as error:
        raise InvalidValue(
            f"{where} is not a valid {wanted}: {error}",
            advice="each mapping with a figure needs a `source` that `sources` lists",
        ) from error


def check_sources(named: Mapping[str, str], listed: Mapping[str, object]) -> None:
    """Raise ValueError for a figure whose source is not listed; `named` has the source of each
    figure by the figure's name."""
    missing = [f"{name}: {key!r}" for name, key in named.items() if key not in listed]
    if missing:
        raise ValueError(f"{'; '.join(missing)} is not in the list of sources")

"""Read the catalogue's files from each provider's folder, patched with figures refreshed from a
cloud's own APIs, and report every fault in a file.

A provider names its folder in its plugin (`Plugin.catalogue`). docs/contributing/provider.md lists
its files, and regions.yaml (catalog/books.py) has its regions; any of them may be missing. A patch
(an overlay) has the form of the file that it patches, so that the rules of that file apply to the
result: a figure without a listed source is refused. catalog/books.py applies overlays to the files;
results/refreshed_catalogue.py keeps them.
"""

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

import yaml
from pydantic import ValidationError, field_validator

from diskbench.catalog.sourced_figures import ProviderFile
from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.base import Frozen
from diskbench.model.value_fault import value_faults
from diskbench.plugin import (
    catalogue_folder,
    known_plugin,
    loading,
    plugin,
    plugin_names,
    plugins,
    working,
)
from diskbench.yaml_lines import plain_yaml

Book = TypeVar("Book", bound=ProviderFile)

LIMITS = "limits.yaml"
CHARGES = "charges.yaml"
MACHINES: Final = "machines.yaml"
PRICES: Final = "prices.yaml"
REFRESHED_FILES: Final = frozenset({MACHINES, PRICES})
"""The files of a provider that an overlay may patch. Its other files stay as shipped."""
FORMAT: Final = 1
"""Format number of overlays."""


def catalogues() -> tuple[str, ...]:
    """The names of the installed providers that bring a catalogue, sorted."""
    named = {plugin.name: plugin.catalogue for plugin in plugins() if plugin.catalogue is not None}
    return tuple(working(named, lambda name: catalogue_folder(name, named[name])))


def check_catalogue(cloud: str) -> None:
    """Raise UnknownName for what is no provider with a catalogue, and ProviderBroken for a provider
    whose package cannot be loaded."""
    reference = plugin(cloud).catalogue if cloud in plugin_names() else None
    if reference is None:
        raise UnknownName("catalogue", cloud, catalogues())
    catalogue_folder(cloud, reference)


def shipped(cloud: str, name: str) -> str | None:
    """Return the text of a file of a provider's catalogue; None if it has no such file. Raises
    ProviderBroken for a plugin whose folder does not exist."""
    known = known_plugin(cloud)
    if known is None or known.catalogue is None:
        return None
    file = catalogue_folder(cloud, known.catalogue) / name
    return file.read_text(encoding="utf-8") if file.is_file() else None


def shipped_book(model: type[Book], cloud: str) -> Book | None:
    """Return a file of a provider's catalogue, read once; None if it has no such file. Raises
    ProviderBroken for a file that breaks the rules."""
    book: Book | None = _shipped_book(model, cloud)
    return book


@functools.cache
def _shipped_book(model: type[Book], cloud: str) -> Any:  # noqa: ANN401 - a cache loses the kind
    text = shipped(cloud, model.file)
    if text is None:
        return None
    with loading(cloud):
        return parse_book(model, text, where=f"{cloud}/{model.file}")


def parse_book(
    model: type[Book], text: str, *, where: str, patch: Mapping[str, Any] | None = None
) -> Book:
    """Validate the YAML in `text`, patched with `patch` (refreshed figures), as `model`.

    Raises InvalidValue naming `where`, what it should be, and every fault.
    """
    try:
        data = plain_yaml(text)
        return model.model_validate(merged(data, patch) if patch else data)
    except (yaml.YAMLError, ValidationError) as error:
        raise InvalidValue(
            f"{where} is not a valid {model.kind}: {value_faults(error, 'file')}",
            advice="each mapping with a figure needs a `source` that `sources` lists",
        ) from error


class Overlay(Frozen):
    """The patches of one provider's files, by the files' names; `made_on` is the day of the
    answers, `region` that of the prices."""

    format: Literal[1] = FORMAT
    cloud: str
    region: str
    made_on: str
    patches: dict[str, dict[str, Any]]

    @field_validator("patches")
    @classmethod
    def _files_can_be_patched(cls, patches: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        if unknown := patches.keys() - REFRESHED_FILES:
            raise ValueError(
                f"{', '.join(sorted(unknown))} cannot be refreshed; "
                f"only {', '.join(sorted(REFRESHED_FILES))} can"
            )
        return patches


def digest_of(overlays: Sequence[Overlay]) -> str | None:
    """Return a digest of the overlays that does not depend on their order; None without overlays
    (the shipped catalogue)."""
    if not overlays:
        return None
    in_order = sorted(overlays, key=lambda overlay: (overlay.cloud, overlay.region))
    dumped = [overlay.model_dump(mode="json") for overlay in in_order]
    text = json.dumps(dumped, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return `below` patched with `above`: mappings are merged, other values replaced."""
    result = dict(below)
    for key, value in above.items():
        held = result.get(key)
        are_mappings = isinstance(held, dict) and isinstance(value, dict)
        result[key] = merged(held, value) if are_mappings else value  # type: ignore[arg-type]
    return result

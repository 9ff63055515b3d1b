"""The catalogue of a session: the shipped files, with what was refreshed in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path
from pydantic import ValidationError

from diskbench.catalog.books import Books
from diskbench.catalog.yaml_loader import Overlay, catalogues
from diskbench.errors import InvalidValue
from diskbench.files import private_directory, write_private
from diskbench.model.value_fault import value_faults
from diskbench.plugins import working
from diskbench.ports import Refreshes
from diskbench.providers.registry import Providers, provider


def refreshable() -> tuple[str, ...]:
    """The providers that can be asked for limits and prices, sorted."""
    made = working(catalogues(), provider)
    return tuple(name for name, known in made.items() if isinstance(known, Refreshes))


def open_books() -> Books:
    """The catalogue as it is now: the shipped files overlaid with the user's cache.

    Open it once, where a session or a command begins, and pass it on; a later refresh affects only
    sessions that are opened after it. Raises InvalidValue for a file in the cache that cannot be
    read.
    """
    return Books(read_overlays())


def refresh(cloud: str) -> tuple[Overlay, Path]:
    """Ask a cloud for limits and prices, and cache the answer for sessions that are opened later.

    Raises InvalidValue for a cloud that cannot be asked and for an answer that breaks the rules of
    the catalogue (which is not cached), and whatever the cloud's provider raises.
    """
    before = open_books()
    with Providers() as providers:
        source = providers.named(cloud)
        if not isinstance(source, Refreshes):
            raise InvalidValue(
                f"--provider {cloud} has no API of limits and prices",
                advice=f"leave --refresh out, or name one of {', '.join(refreshable())}",
            )
        refreshed = source.refreshed(before)
    others = tuple(overlay for overlay in before.overlays if overlay.cloud != cloud)
    Books((*others, refreshed)).check()
    return refreshed, write_overlay(refreshed)


def overlay_directory() -> Path:
    """Where the files lie; a file that is removed leaves the shipped catalogue."""
    return Path(user_cache_path("diskbench")) / "catalog"


def read_overlays(directory: Path | None = None) -> tuple[Overlay, ...]:
    """What was refreshed, by provider. Raises InvalidValue for a file that is no overlay."""
    overlays = []
    for path in sorted((directory or overlay_directory()).glob("*.json")):
        try:
            overlays.append(Overlay.model_validate_json(path.read_bytes()))
        except (ValidationError, OSError) as error:
            raise InvalidValue(
                f"{path} is not a refreshed catalogue: {value_faults(error, 'file')}",
                advice="remove it, or "
                f"`diskbench catalog instances --refresh --provider {path.stem}`",
            ) from error
    return tuple(overlays)


def write_overlay(overlay: Overlay, directory: Path | None = None) -> Path:
    """Keep one, in place of that cloud's last one; other processes see the old one or the new."""
    where = directory or overlay_directory()
    private_directory(where)
    path = where / f"{overlay.cloud}.json"
    beside = path.with_suffix(f".{os.getpid()}.part")
    write_private(beside, overlay.model_dump_json(indent=1).encode())
    beside.replace(path)
    return path

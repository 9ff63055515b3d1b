"""What was refreshed from the clouds' APIs, in the user's cache: a file a cloud."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from diskbench.catalog.overlay import Overlay


def overlay_directory() -> Path:
    """Where the files lie; a file that is removed leaves the shipped catalogue."""
    from platformdirs import user_cache_path

    return Path(user_cache_path("diskbench")) / "catalog"


def read_overlays(directory: Path | None = None) -> tuple[Overlay, ...]:
    """What was refreshed, by cloud. Raises InvalidValue for a file that is none of ours."""
    from pydantic import ValidationError

    from diskbench.catalog.overlay import Overlay

    found = []
    for path in sorted((directory or overlay_directory()).glob("*.json")):
        try:
            found.append(Overlay.model_validate_json(path.read_bytes()))
        except (ValidationError, OSError) as error:
            raise InvalidValue(
                f"{path} is no refreshed catalogue: {error}",
                advice=f"remove it, or `diskbench catalog instances --refresh --cloud {path.stem}`",
            ) from error
    return tuple(found)


def write_overlay(overlay: Overlay, directory: Path | None = None) -> Path:
    """Keep one, in place of that cloud's last one; other processes see the old one or the new."""
    where = directory or overlay_directory()
    where.mkdir(parents=True, exist_ok=True)
    path = where / f"{overlay.cloud}.json"
    beside = path.with_suffix(f".{os.getpid()}.part")
    beside.write_text(overlay.model_dump_json(indent=1), encoding="utf-8")
    beside.replace(path)
    return path

"""What was refreshed from the clouds' APIs, in the user's cache: a file a cloud."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from platformdirs import user_cache_path
from pydantic import ValidationError

from diskbench.catalog.yaml_loader import FORMAT, Overlay
from diskbench.errors import InvalidValue
from diskbench.files import private_directory, write_private
from diskbench.model.value_fault import value_faults

log = logging.getLogger(__name__)


def overlay_directory() -> Path:
    """Where the files lie; a file that is removed leaves the shipped catalogue."""
    return Path(user_cache_path("diskbench")) / "catalog"


def read_overlays(directory: Path | None = None) -> tuple[Overlay, ...]:
    """What was refreshed, by provider. A file of an earlier format is left out, with a warning.
    Raises InvalidValue for a file that is not an overlay."""
    overlays = []
    for path in sorted((directory or overlay_directory()).glob("*.json")):
        try:
            data = path.read_bytes()
            if _format(data) < FORMAT:
                log.warning(
                    "%s was refreshed by an earlier diskbench and is not used; "
                    "`diskbench catalog instances --refresh --provider %s` asks again",
                    path,
                    path.stem,
                )
                continue
            overlays.append(Overlay.model_validate_json(data))
        except (ValidationError, OSError) as error:
            raise InvalidValue(
                f"{path} is not a refreshed catalogue: {value_faults(error, 'file')}",
                advice="remove it, or "
                f"`diskbench catalog instances --refresh --provider {path.stem}`",
            ) from error
    return tuple(overlays)


def _format(data: bytes) -> int:
    """The format number of an overlay; that of today where it has none that can be read."""
    try:
        document = json.loads(data)
    except ValueError:
        return FORMAT
    number = document.get("format") if isinstance(document, dict) else None
    return number if isinstance(number, int) else FORMAT


def write_overlay(overlay: Overlay, directory: Path | None = None) -> Path:
    """Keep one, in place of that cloud's last one; other processes see the old one or the new."""
    where = directory or overlay_directory()
    private_directory(where)
    path = where / f"{overlay.cloud}.json"
    beside = path.with_suffix(f".{os.getpid()}.part")
    write_private(beside, overlay.model_dump_json(indent=1).encode())
    beside.replace(path)
    return path

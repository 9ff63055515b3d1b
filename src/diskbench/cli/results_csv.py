"""The format of `results export`; rows themselves are made in results/exported_rows.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from diskbench.files import file_format
from diskbench.results.exported_rows import ExportFormat

if TYPE_CHECKING:
    from pathlib import Path


def export_format(typed: ExportFormat | None, to: Path | None) -> ExportFormat:
    """The format that was typed, or that the name of the file says, else CSV: for stdout, and for a
    name without a suffix. Raises InvalidValue where these differ, and for another suffix."""
    return (file_format(to, typed, get_args(ExportFormat)) if to else typed) or "csv"

"""The format of a file that is written: as typed, or as its name says; never one under the name of
another."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Name = TypeVar("Name", bound=str)


def file_format(path: Path, typed: Name | None, known: Sequence[Name]) -> Name | None:
    """The format that was typed, else the one of `known` that the suffix of the file says; None
    for a name without a suffix. Raises InvalidValue where both are known and differ, and for a
    suffix that says none of them: the file would be read in the wrong format."""
    suffix = path.suffix.lower().removeprefix(".")
    by_suffix = next((name for name in known if name == suffix), None)
    if typed is not None and by_suffix is not None and typed != by_suffix:
        raise InvalidValue(
            f"--format {typed} contradicts the name of {path}, which says {by_suffix}",
            advice=f"leave --format out, or name a file that ends in .{typed}",
        )
    if typed is None and by_suffix is None and suffix:
        raise unknown_suffix(path, known)
    return typed or by_suffix


def unknown_suffix(path: Path, known: Sequence[str]) -> InvalidValue:
    """The error for a file whose name says none of the formats `known`, naming all of them."""
    return InvalidValue(
        f"{path}: cannot write a {path.suffix or 'nameless'} file",
        advice=f"use {', '.join(f'.{name}' for name in known)}, or --format",
    )

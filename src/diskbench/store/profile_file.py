"""A profile by what a user typed: a shipped name, or the path of a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.errors import ProfileError
from diskbench.fio.profiles import parse_profile, shipped_names, shipped_profile
from diskbench.limits import TEXT_BYTES
from diskbench.text_file import read_text

if TYPE_CHECKING:
    from diskbench.fio.profiles import Profile


def find_profile(name_or_path: str) -> Profile:
    """A shipped profile by name, or one from a file (anything with a slash or a suffix).

    Raises UnknownName for a name that is not shipped, ProfileError for a file that is unreadable.
    """
    if name_or_path in shipped_names():
        return shipped_profile(name_or_path)
    path = Path(name_or_path)
    if "/" not in name_or_path and "." not in name_or_path and not path.is_file():
        return shipped_profile(name_or_path)
    try:
        text = read_text(path, TEXT_BYTES)
    except (OSError, ValueError) as error:
        raise ProfileError(
            f"profile {name_or_path!r} cannot be read: {error}",
            advice="give the path of a fio job file, or a name from `diskbench profiles list`",
        ) from error
    name = re.sub(r"(\.fio)?\.j2$|\.fio$", "", path.name)
    return parse_profile(text, name=name)

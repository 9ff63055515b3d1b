"""A profile by what a user typed: a shipped name, or the path of a file."""

import os
import re
from pathlib import Path

from diskbench.errors import ProfileError
from diskbench.files import read_text
from diskbench.fio.command_line import is_command, job_file
from diskbench.fio.profiles import (
    Profile,
    parse_profile,
    shipped_names,
    shipped_profile,
    with_environment,
)
from diskbench.limits import TEXT_BYTES
from diskbench.units import format_bytes

_INCLUDE = re.compile(r"^[ \t]*include[ \t]+(\S[^;#\n]*?)[ \t]*(?:[;#].*)?$", re.MULTILINE)
_DEEPEST = 8


def find_profile(name_or_path: str) -> Profile:
    """A shipped profile by name, or one from a file (anything with a slash or a suffix): a job
    file, a template, or fio's command lines.

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
    content = job_file(text) if is_command(text) else included(text, path)
    return with_environment(parse_profile(content, name=name), os.environ)


def included(text: str, path: Path, *, depth: int = 0) -> str:
    """The text of a job file with each `include FILE` replaced by that file's text. Files are read
    from beside the job file and below, so that a job file cannot copy others into the evidence.

    Raises ProfileError for a file that is not there, lies elsewhere, or includes itself.
    """
    if not _INCLUDE.search(text):
        return text
    if depth > _DEEPEST:
        raise ProfileError(
            f"{path.name}: files include each other more than {_DEEPEST} times deep",
            advice="a file may not include itself",
        )
    parts: list[str] = []
    end, size, folder = 0, 0, path.parent.resolve()
    for match in _INCLUDE.finditer(text):
        parts += [text[end : match.start()], _included(match[1], folder / path.name, depth)]
        end, size = match.end(), size + len(parts[-2]) + len(parts[-1])
        # Each file is small; files that include others many times over are not.
        if size > TEXT_BYTES:
            raise ProfileError(
                f"{path.name}: with the files that it includes it has more than "
                f"{format_bytes(TEXT_BYTES)}",
                advice="include each file once",
            )
    return "".join([*parts, text[end:]])


def _included(name: str, path: Path, depth: int) -> str:
    file = (path.parent / name).resolve()
    if not file.is_relative_to(path.parent):
        raise ProfileError(
            f"{path.name} includes {name!r}, which is outside its directory",
            advice="copy the file beside the job file",
        )
    try:
        text = read_text(file, TEXT_BYTES)
    except (OSError, ValueError) as error:
        raise ProfileError(
            f"{path.name} includes {name!r}, which cannot be read: {error}",
            advice="fio looks for it beside the job file",
        ) from error
    return f"; include {name}\n{included(text, file, depth=depth + 1)}\n; end of {name}"

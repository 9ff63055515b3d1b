"""Which version of fio knows which option, and what a profile uses that the target's fio lacks."""

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from diskbench.errors import ProfileError
from diskbench.fio.jobfile import Section
from diskbench.model.base import Frozen

OLDEST: Final = (3, 16)
"""The oldest fio that diskbench drives (Ubuntu 20.04)."""

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


class TooNew(Frozen):
    """An option, or a value of one, that needs a newer fio."""

    section: str
    option: str
    needs: str


class OptionVersions(Frozen):
    """First fio version of each option and of `option=value`; those before 3.0 are left out."""

    source: str
    newest: str
    options: dict[str, str]
    values: dict[str, str]


@cache
def option_versions() -> OptionVersions:
    """The table that ships with diskbench."""
    data = files("diskbench.fio").joinpath("data", "option_versions.json").read_text("utf-8")
    return OptionVersions.model_validate(json.loads(data))


def parse_version(text: str) -> tuple[int, ...]:
    """`fio-3.33` and `3.33-12-gabc` as (3, 33). Raises ValueError for anything without a number."""
    match = _VERSION.search(text)
    if not match:
        raise ValueError(f"{text!r} is not a fio version")
    return tuple(int(part) for part in match.groups() if part is not None)


def too_new(sections: Sequence[Section], fio_version: str) -> tuple[TooNew, ...]:
    """The options and values in `sections` that this version of fio does not know, in order."""
    have, table = parse_version(fio_version), option_versions()
    options_too_new = []
    for section in sections:
        for option in section.options:
            value = (option.value or "").split(":")[0].split(",")[0].strip()
            pair = f"{option.name}={value}"
            for setting, needs in (
                (option.key, table.options.get(option.name)),
                (pair, table.values.get(pair)),
            ):
                if needs and parse_version(needs) > have:
                    options_too_new.append(
                        TooNew(section=section.name, option=setting, needs=needs)
                    )
    return tuple(options_too_new)


def check_version(sections: Sequence[Section], fio_version: str | None, *, where: str) -> None:
    """Raise ProfileError naming every option that the target's fio does not know.

    An unknown version (None) passes: fio checks the job file itself with --parse-only.
    """
    if fio_version is None:
        return
    if parse_version(fio_version) < OLDEST:
        oldest = ".".join(str(part) for part in OLDEST)
        raise ProfileError(
            f"fio {fio_version} on the target is older than {oldest}",
            advice="install a newer fio there (--install-fio takes the distribution's)",
        )
    if news := too_new(sections, fio_version):
        named = ", ".join(f"[{n.section}] {n.option} needs fio {n.needs}" for n in news)
        newest = max((n.needs for n in news), key=parse_version)
        raise ProfileError(
            f"{where}: {named}; the target has {fio_version}",
            advice=f"install fio {newest} or newer on the target, or leave these options out",
        )

"""fio's options: which version knows which, and why an engine or an option may not be used.

Every engine and option that fio 3.16 to 3.42 documents (HOWTO.rst, engines/) is either allowed
(fio/guard.py), set by diskbench, or named in data/options.yaml with what it reaches beside the
target.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from diskbench.errors import ProfileError
from diskbench.fio.jobfile import Section
from diskbench.yaml_lines import packaged

OLDEST: Final = (3, 16)
"""The oldest fio that diskbench drives (Ubuntu 20.04)."""

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_DATA: Final = packaged("diskbench.fio", "data/options.yaml")


@cache
def option_versions() -> Mapping[str, Mapping[str, str]]:
    """The first fio version of each option and of `option=value` (`options` and `values`); those
    before 3.0 are left out."""
    data = files("diskbench.fio").joinpath("data", "option_versions.json").read_text("utf-8")
    shipped: Mapping[str, Mapping[str, str]] = json.loads(data)
    return shipped


def parse_version(text: str) -> tuple[int, ...]:
    """`fio-3.33` and `3.33-12-gabc` as (3, 33). Raises ValueError for anything without a number."""
    match = _VERSION.search(text)
    if not match:
        raise ValueError(f"{text!r} is not a fio version")
    return tuple(int(part) for part in match.groups() if part is not None)


def _too_new(sections: Sequence[Section], fio_version: str) -> Iterator[tuple[str, str]]:
    """Each option or value that this version of fio does not know, in order, and what it needs."""
    have, table = parse_version(fio_version), option_versions()
    for section in sections:
        for option in section.options:
            value = (option.value or "").split(":")[0].split(",")[0].strip()
            pair = f"{option.name}={value}"
            for setting, needs in (
                (option.key, table["options"].get(option.name)),
                (pair, table["values"].get(pair)),
            ):
                if needs and parse_version(needs) > have:
                    yield f"[{section.name}] {setting}", needs


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
            advice="install a newer fio there (--install-fio installs the distribution's)",
        )
    if news := list(_too_new(sections, fio_version)):
        named = ", ".join(f"{option} needs fio {needs}" for option, needs in news)
        newest = max((needs for _, needs in news), key=parse_version)
        raise ProfileError(
            f"{where}: {named}; the target has {fio_version}",
            advice=f"install fio {newest} or newer on the target, or leave these options out",
        )


def _by_name(table: str) -> dict[str, str]:
    """The names of a table with their reasons."""
    return {name: reason for reason, names in _DATA[table].items() for name in names}


OURS: Final = _by_name("ours")
"""Options that diskbench sets itself, and why."""
OUTPUT: Final = frozenset(_DATA["command_line"])
"""Options of fio's command line; diskbench gives its own."""
OPTION_REASONS: Final = _by_name("refused")
ALLOWABLE: Final = frozenset(_DATA["allowable"])
"""Of these, what the owner of a machine may allow on it (`--allow`)."""
ENGINE_REASONS: Final = _by_name("refused_engines")
ENGINE_OPTIONS: Final = frozenset(_DATA["of_refused_engines"])
"""Options of engines that are refused; each has a meaning with its engine alone."""


def engine_reason(engine: str, allowed: str) -> str:
    """Why an engine is refused, in one clause, with those that are allowed."""
    kind = "external" if "/" in engine or engine.startswith("external") else engine
    reason = ENGINE_REASONS.get(kind, "diskbench does not know it")
    return f"engine {engine!r}: {reason}; allowed: {allowed}"


def option_reason(name: str) -> str:
    """Why an option is refused."""
    if name in ENGINE_OPTIONS:
        return "it belongs to an engine that is refused"
    if name in ALLOWABLE:
        return f"{OPTION_REASONS[name]}; on your own machine, add --allow {name}"
    return OPTION_REASONS.get(
        name,
        "fio up to 3.42 has no such option, and a newer option may affect more than the target",
    )

"""`--allow OPTION`: what a job file may do on its owner's own machine. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue, UnknownName
from diskbench.fio.refused import ALLOWABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.fio.jobfile import JobFile


def allowed_options(
    options: Sequence[str], *, provider: str, host: str | None, rents: bool
) -> tuple[str, ...]:
    """The options to allow, each once.

    Raises InvalidValue where the machine is rented or reached over SSH: others may use it, or are
    answerable for what runs there. Raises UnknownName for an option that nobody can allow.
    """
    for option in options:
        if option not in ALLOWABLE:
            raise UnknownName("option to allow", option, ALLOWABLE, field="profile")
    if options and (rents or host is not None):
        where = (
            f"the machine of --provider {provider} is rented"
            if rents
            else f"{host} may be shared with other users"
        )
        raise InvalidValue(
            f"--allow {options[0]}: {where}; it is allowed only on this machine",
            advice=f"run diskbench on the machine itself, or take {options[0]} out of the job file",
            field="profile",
        )
    return tuple(dict.fromkeys(options))


def allowed_lines(file: JobFile, allowed: Sequence[str]) -> tuple[str, ...]:
    """A line for each option of a job file that stays because it was allowed."""
    return tuple(
        f"{option.key}={option.value or ''} stays (allowed by --allow {option.name})"
        for section in file.sections
        for option in section.options
        if option.name in allowed
    )

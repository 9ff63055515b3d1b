"""A value on the command line that is not of its option's type, as an error in our words.

Typer validates values with pydantic and raises its text, which names neither the value nor what
would do; the error underneath says both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from typer import BadParameter

_FORMS = {
    "GIB": "give GiB (2^30 bytes) without a unit, whole ones for a rented disk: {} 20",
    "USD": "give US dollars without a sign: {} 12.50",
    "USD_PER_HOUR": "give US dollars an hour without a sign: {} 0.25",
    "RATE": "give a number without a unit: {} 250",
    "int": "give a whole number: {} 3",
    "float": "give a number: {} 2.5",
}
"""Metavar of an option, or what pydantic's error types begin with → how the value is written."""


def in_our_words(error: BadParameter) -> InvalidValue | None:
    """The error for a value that pydantic refused, with the value and an example; None for an error
    that Typer words itself (a file that is missing, an argument that is not there)."""
    from pydantic import ValidationError

    from diskbench.model.value_fault import value_fault

    cause, parameter = error.__cause__, error.param
    if not isinstance(cause, ValidationError) or parameter is None:
        return None
    first = cause.errors(include_url=False)[0]
    fault = value_fault(first)
    # The number in `64m` is not what was meant: the unit is wrong as well.
    hint = "" if isinstance(fault.meant, int | float) else fault.advice
    name = max(parameter.opts, key=len)
    kind = first["type"].partition("_")[0]
    form = _FORMS.get(parameter.metavar or "") or _FORMS.get(kind, "")
    return InvalidValue(
        f"{name}: {fault.reason}",
        advice="; ".join(filter(None, (hint, form.format(name)))),
        field=name.lstrip("-").replace("-", "_"),
    )

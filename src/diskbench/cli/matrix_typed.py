"""What is typed beside a matrix file: limits of money, and conditions for its cells."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.engine.matrix.matrix_file import MatrixFile

AssumePrice = Annotated[
    float | None,
    typer.Option(metavar="USD_PER_HOUR", help="US dollars an hour to assume if no price is known."),
]


def with_money(file: MatrixFile, budget: float | None, assume_price: float | None) -> MatrixFile:
    """The matrix with the limits that were typed. Raises InvalidValue for what is no money."""
    typed = {"budget_usd": budget, "assume_price_usd_per_hour": assume_price}
    change = {name: value for name, value in typed.items() if value is not None}
    for name, value in change.items():
        if not 0 < value < float("inf"):
            flag = "--budget" if name == "budget_usd" else "--assume-price"
            raise InvalidValue(
                f"{flag} {value:g} is not an amount of money",
                advice="write an amount in US dollars above 0",
            )
    limits = file.matrix.limits.model_copy(update=change)
    return replace(file, matrix=file.matrix.model_copy(update={"limits": limits}))


def with_conditions(file: MatrixFile, fail_if: Sequence[str]) -> MatrixFile:
    """The matrix with conditions for all cells that have none of their own."""
    if not fail_if:
        return file
    defaults = file.matrix.defaults.model_copy(update={"fail_if": tuple(fail_if)})
    return replace(file, matrix=file.matrix.model_copy(update={"defaults": defaults}))

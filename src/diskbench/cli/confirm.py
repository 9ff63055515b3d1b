"""The question before a command removes what it cannot bring back."""

from __future__ import annotations

import sys

import typer

from diskbench.errors import InvalidValue


def confirm(question: str, *, whether: str) -> None:
    """Return after a yes on the terminal. Raises Abort for a no, and InvalidValue, which says
    `whether` what is to be done, where no terminal is there to answer."""
    if not sys.stdin.isatty():
        raise InvalidValue(f"cannot ask whether to {whether}", advice="add --yes")
    typer.confirm(question, abort=True, err=True)

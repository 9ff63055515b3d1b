"""What a cloud reports of what it made, against what was asked for: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def refuse(cloud: str, differences: Iterable[str]) -> None:
    """Raise RentalFailed naming every difference, as asked and as it is; none is no error. `cloud`
    is its name for people."""
    found = tuple(differences)
    if found:
        raise RentalFailed(
            f"{cloud} gave something else than asked for: {'; '.join(found)}",
            advice="nothing was measured; report it when it comes back",
        )


def differs(what: str, name: str, asked: object, found: object) -> Iterator[str]:
    """The difference between what was asked for and what was found; what a cloud does not report
    (None) is none, nor is what was not asked for."""
    if asked is not None and found is not None and asked != found:
        yield f"{name} of {what} is {found}, asked for was {asked}"

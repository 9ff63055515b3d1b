"""Comparison of a cloud's report with the request: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def refuse(cloud: str, differences: Iterable[str]) -> None:
    """Raise RentalFailed naming every difference, as requested and as reported; without
    differences, return. `cloud` is the cloud's name in messages."""
    texts = tuple(differences)
    if texts:
        raise RentalFailed(
            f"{cloud} delivered something other than what was requested: {'; '.join(texts)}",
            advice="nothing was measured; report it when it comes back",
        )


def differs(what: str, name: str, requested: object, reported: object) -> Iterator[str]:
    """The difference between the requested and the reported value; None where the cloud reports
    no value (None) or none was requested."""
    if requested is not None and reported is not None and requested != reported:
        yield f"{name} of {what} is {reported}, requested was {requested}"

"""The trust that stands for several judgements: pure, and apart from how each is found, because
lists need it alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.model.verdict import Trust


def worst(judgements: Iterable[Trust]) -> Trust:
    """Return the worst of several judgements; `yes` without any."""
    words: tuple[Trust, ...] = ("no", "with care")
    present = set(judgements)
    return next((word for word in words if word in present), "yes")

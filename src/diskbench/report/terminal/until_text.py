"""Whether replicates brought an interval under what was wanted, in one sentence a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.units import format_share

if TYPE_CHECKING:
    from diskbench.model.standing import UntilStanding


def until_words(one: UntilStanding) -> str:
    """`within ±4.1 % after 12 replicates, ±5 % was wanted (worst: rand-read-4k read)`."""
    worst = f" (worst: {one.step})" if one.step else ""
    wanted = f"±{format_share(one.wanted)} was wanted"
    count = f"{one.n} replicate{'s'[: one.n != 1]}"
    if one.width is None:
        said = f"no interval after {count}, {wanted}"
    elif one.reached:
        return f"reached: within ±{format_share(one.width)} after {count}, {wanted}{worst}"
    else:
        said = f"within ±{format_share(one.width)} after {count}, {wanted}{worst}"
    if one.more is None and one.width is not None:
        said += "; too noisy to tell how many more would do"
    elif one.more:
        said += f"; about {one.more} more"
    return f"not reached: {said}; {one.ended}" if one.ended else said

"""Whether the replicates of a block reached the wanted interval width, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.units import format_share

if TYPE_CHECKING:
    from diskbench.model.standing import UntilStanding


def until_words(until: UntilStanding) -> str:
    """`within ±4.1 % after 12 replicates, ±5 % was wanted (worst: rand-read-4k read)`."""
    worst = f" (worst: {until.step})" if until.step else ""
    wanted = f"±{format_share(until.wanted)} was wanted"
    count = f"{until.n} replicate{'s'[: until.n != 1]}"
    if until.width is None:
        text = f"no interval after {count}, {wanted}"
    elif until.reached:
        return f"reached: within ±{format_share(until.width)} after {count}, {wanted}{worst}"
    else:
        text = f"within ±{format_share(until.width)} after {count}, {wanted}{worst}"
    if until.more is None and until.width is not None:
        text += "; too noisy to estimate how many more runs are needed"
    elif until.more:
        text += f"; about {until.more} more"
    return f"not reached: {text}; {until.ended}" if until.ended else text

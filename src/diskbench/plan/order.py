"""In which order the cells of a matrix begin: pure.

Clouds change from hour to hour. Measured one after the other, two disks differ by the hour as much
as by themselves. So the order is that of randomised multiple interleaved trials (A. Abedi and
T. Brecht, "Conducting Repeatable Experiments in Highly Variable Cloud Computing Environments",
ICPE 2017): in rounds, every block once a round, in a new random order in each. A block with fewer
replicates than the others has them spread evenly over the rounds.

Random is the SHA-256 of seed, round and key rather than a generator, so that an order is the same
for ever, whatever Python does and however the file is sorted.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.model.matrix import MatrixCell, Order


def ordered(cells: Iterable[MatrixCell], order: Order, seed: int) -> tuple[MatrixCell, ...]:
    """The cells with their positions: `random` by rounds, `listed` as they come."""
    listed = list(cells)
    if order == "random":
        number = rounds(listed, seed)
        listed.sort(key=lambda one: (number[one.key], _draw(seed, number[one.key], one.key)))
    return tuple(
        one.model_copy(update={"position": position}) for position, one in enumerate(listed)
    )


def rounds(cells: Iterable[MatrixCell], seed: int) -> dict[str, int]:
    """The round of each cell by its key, from 0. There are as many as the most replicates of any
    block; in each a block stands at most once, and its replicates follow in their order."""
    blocks: dict[str, list[MatrixCell]] = defaultdict(list)
    for one in cells:
        blocks[one.block].append(one)
    count = max((len(block) for block in blocks.values()), default=0)
    found = {}
    for name, block in blocks.items():
        # One draw a block: its replicates keep their distance, and blocks do not crowd together.
        offset, whole = _draw(seed, "offset", name), len(block) << 64
        for index, one in enumerate(sorted(block, key=lambda one: one.cell.replicate)):
            found[one.key] = ((index << 64) + offset) * count // whole
    return found


def _draw(seed: int, *what: object) -> int:
    """A number below 2^64 that looks random and is always the same."""
    text = "\0".join(str(part) for part in (seed, *what))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

"""The order in which the cells of a matrix start: pure.

Clouds change from hour to hour. Two disks measured one after the other differ by the hour as much
as by their type. So the order is that of randomised multiple interleaved trials (A. Abedi and
T. Brecht, "Conducting Repeatable Experiments in Highly Variable Cloud Computing Environments",
ICPE 2017): in rounds, each block once per round, in a new random order in each round. The
replicates of a block with fewer than the others are spread evenly over the rounds.

Randomness is the SHA-256 of seed, round and key rather than a generator, so that an order stays the
same in every Python version and however the file is sorted.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.model.matrix import MatrixCell, Order


def ordered(cells: Iterable[MatrixCell], order: Order, seed: int) -> tuple[MatrixCell, ...]:
    """Return the cells with their positions: `random` by rounds, `listed` in the given order."""
    listed = list(cells)
    if order == "random":
        number = rounds(listed, seed)
        listed.sort(key=lambda cell: (number[cell.key], _draw(seed, number[cell.key], cell.key)))
    return tuple(
        cell.model_copy(update={"position": position}) for position, cell in enumerate(listed)
    )


def rounds(cells: Iterable[MatrixCell], seed: int) -> dict[str, int]:
    """Return the round of each cell by its key, from 0. There are as many rounds as the most
    replicates of any block. A round has a block at most once, with its replicates in order."""
    blocks: dict[str, list[MatrixCell]] = defaultdict(list)
    for cell in cells:
        blocks[cell.block].append(cell)
    count = max((len(block) for block in blocks.values()), default=0)
    round_of = {}
    for name, block in blocks.items():
        # One draw per block: its replicates keep their distance, and blocks spread over rounds.
        offset, width = _draw(seed, "offset", name), len(block) << 64
        for index, cell in enumerate(sorted(block, key=lambda cell: cell.cell.replicate)):
            round_of[cell.key] = ((index << 64) + offset) * count // width
    return round_of


def _draw(seed: int, *parts: object) -> int:
    """Return a pseudo-random number below 2^64 that depends only on the arguments."""
    text = "\0".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

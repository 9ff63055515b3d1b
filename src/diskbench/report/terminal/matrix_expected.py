"""Expected figures of the blocks of a matrix, and their disk prices: two tables of 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.expectation import LIMIT_WORDS
from diskbench.units import format_iops, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from diskbench.model.expectation import DiskPrice, Expectation, ExpectedLevel
    from diskbench.plan.outlook import BlockOutlook

_PRICES = (
    f"{'#':>4}  {'a month':>9}{'1,000 IOPS':>14}{'of the burst':>14}"
    f"{'100 MB/s':>14}{'of the burst':>14}"
)


def expected_table(blocks: Sequence[BlockOutlook]) -> Iterator[str]:
    """The highest expected IOPS and MB/s of each block, at first and after the credit is used up,
    each with its limit. Nothing if no block has an expectation."""
    known = [(block, _best(block)) for block in blocks if block.expectation is not None]
    if not known:
        return
    yield ""
    yield f"{'#':>4}  {'expected at most':<18}{'in':<24}{'limited by':<24}"
    for block, best in known:
        number = f"{block.number:>4}"
        for unit, name, expectation in best:
            yield f"{number}  {_line(unit, name, expectation.begin)}"
            number = "    "
            if expectation.bursts:
                yield f"      {_line(unit, '  then', expectation.lasting)}"


def price_table(blocks: Sequence[BlockOutlook]) -> Iterator[str]:
    """The monthly price of each block's disk, transactions included, and the price per unit at the
    baseline and at the burst. Nothing if no price is known."""
    known = [
        (block, block.expectation.price)
        for block in blocks
        if block.expectation
        and block.expectation.price
        and block.expectation.price.total_usd is not None
    ]
    if not known:
        return
    yield ""
    yield _PRICES
    for block, price in known:
        yield f"{block.number:>4}  {_prices(price)}"


def _best(block: BlockOutlook) -> list[tuple[str, str, Expectation]]:
    """The measuring steps with the most IOPS and with the most bytes per second."""
    assert block.expectation is not None
    chosen: list[tuple[str, str, Expectation]] = []
    ways: tuple[tuple[str, Callable[[ExpectedLevel], float]], ...] = (
        ("IOPS", lambda level: level.iops),
        ("MB/s", lambda level: level.bytes_per_s),
    )
    steps = [
        (step.name, expectation)
        for step in block.expectation.steps
        if step.run == 1 and (expectation := block.expectation.of(step)) is not None
    ]
    for unit, value in ways:
        if steps:
            name, best = max(steps, key=lambda pair: value(pair[1].begin))
            chosen.append((unit, name, best))
    return chosen


def _line(unit: str, name: str, level: ExpectedLevel) -> str:
    value = format_iops(level.iops) if unit == "IOPS" else format_mb_per_s(level.bytes_per_s)
    limit = LIMIT_WORDS[level.limited_by] if level.limited_by else "not known"
    shown = name if len(name) <= 22 else f"{name[:21]}…"
    return f"{f'{value:>9} {unit}':<18}{shown:<24}{limit}"


def _prices(price: DiskPrice) -> str:
    shown = [
        "–" if usd is None else f"${usd:,.2f}"
        for usd in (
            price.total_usd,
            price.per_1000_iops_usd,
            price.per_1000_burst_iops_usd,
            price.per_100_mb_per_s_usd,
            price.per_100_burst_mb_per_s_usd,
        )
    ]
    first, *further = shown
    return f"{first:>9}" + "".join(f"{cell:>14}" for cell in further)

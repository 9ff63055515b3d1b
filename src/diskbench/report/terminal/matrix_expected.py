"""What the blocks of a matrix should find, and what their disks cost: two tables of 80 columns."""

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
    """The most IOPS and the most MB/s that each block's steps should find, at first and once credit
    is gone, and what limits them then and there. Nothing where no block has an expectation."""
    known = [(one, _best(one)) for one in blocks if one.expectation is not None]
    if not known:
        return
    yield ""
    yield f"{'#':>4}  {'expected at most':<18}{'in':<24}{'limited by':<24}"
    for block, best in known:
        number = f"{block.number:>4}"
        for what, name, found in best:
            yield f"{number}  {_line(what, name, found.begin)}"
            number = "    "
            if found.bursts:
                yield f"      {_line(what, '  then', found.lasting)}"


def price_table(blocks: Sequence[BlockOutlook]) -> Iterator[str]:
    """What a month of each block's disk costs, transactions included, and what that buys at the
    baseline and, apart, at the burst. Nothing where no price is known."""
    known = [
        (one, one.expectation.price)
        for one in blocks
        if one.expectation and one.expectation.price and one.expectation.price.total_usd is not None
    ]
    if not known:
        return
    yield ""
    yield _PRICES
    for block, price in known:
        yield f"{block.number:>4}  {_prices(price)}"


def _best(block: BlockOutlook) -> list[tuple[str, str, Expectation]]:
    """The steps with the most IOPS and the most bytes a second, among those that measure."""
    assert block.expectation is not None
    found: list[tuple[str, str, Expectation]] = []
    ways: tuple[tuple[str, Callable[[ExpectedLevel], float]], ...] = (
        ("IOPS", lambda level: level.iops),
        ("MB/s", lambda level: level.bytes_per_s),
    )
    steps = [
        (step.name, one)
        for step in block.expectation.steps
        if step.run == 1 and (one := block.expectation.of(step)) is not None
    ]
    for what, value in ways:
        if steps:
            name, best = max(steps, key=lambda pair: value(pair[1].begin))
            found.append((what, name, best))
    return found


def _line(what: str, name: str, level: ExpectedLevel) -> str:
    value = format_iops(level.iops) if what == "IOPS" else format_mb_per_s(level.bytes_per_s)
    limit = LIMIT_WORDS[level.limited_by] if level.limited_by else "not known"
    shown = name if len(name) <= 22 else f"{name[:21]}…"
    return f"{f'{value:>9} {what}':<18}{shown:<24}{limit}"


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
    first, *rest = shown
    return f"{first:>9}" + "".join(f"{one:>14}" for one in rest)

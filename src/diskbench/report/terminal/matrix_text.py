"""The plan of a matrix as plain text of at most `width` columns, with the expected figures of its
blocks and their disk prices as tables of 80 columns."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from diskbench.catalog.cost import no_price_words
from diskbench.model.expectation import LIMIT_WORDS, DiskPrice, Expectation, ExpectedLevel
from diskbench.parallel import grouped
from diskbench.plan.outlook import Bill, BlockOutlook, MatrixOutlook
from diskbench.report.assemble.words import cut
from diskbench.report.terminal.plan_text import beyond_words, named
from diskbench.report.terminal.screen import wrapped
from diskbench.units import (
    counted,
    format_duration_s,
    format_iops,
    format_mb_per_s,
    format_share,
    format_usd,
)

_MOST_ROUNDS = 12
_NUMBERS = "   n        each  cost each  burst credit"
_TEXT_AT = 12
_LEAST_WIDTH = 60


def render_outlook(outlook: MatrixOutlook, *, width: int | None = None) -> str:
    """The plan of a matrix: blocks, order, time, cost and quota. Ends with a line feed."""
    width = max(_LEAST_WIDTH, width or shutil.get_terminal_size().columns)
    title = f": {outlook.title}" if outlook.title else ""
    lines = textwrap.wrap(f"{outlook.name}{title}", width, subsequent_indent="  ")
    lines += _block_lines(outlook.blocks, width)
    lines += [*expected_table(outlook.blocks), *price_table(outlook.blocks), ""]
    for name, text in _pairs(outlook):
        lines += wrapped(f"  {name:<{_TEXT_AT - 2}}", text, width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _block_lines(blocks: Sequence[BlockOutlook], width: int) -> Iterator[str]:
    room = width - len(_NUMBERS) - 6
    yield ""
    yield f"{'#':>4}  {'what is compared':<{room}}{_NUMBERS}"
    for block in blocks:
        first, *more = _folded(block.block, room)
        yield f"{block.number:>4}  {first:<{room}}{_figures(block)}"
        yield from (f"      {line}" for line in more)


def _figures(block: BlockOutlook) -> str:
    if block.problem is not None:
        return f"{block.replicates:>4}  cannot be measured"
    cost = "–"
    if block.cost is not None and block.cost.total_usd is not None:
        cost = format_usd(block.cost.total_usd)
    elif block.cost is not None:
        cost = "unknown"
    time = format_duration_s(block.trial_s)
    credit = "–"
    if block.credit is not None:
        gone_s = block.credit.gone_s
        credit = "lasts" if gone_s is None else format_duration_s(gone_s)
    return f"{block.replicates:>4}{time:>12}{cost:>11}  {credit}"


def _folded(key: str, room: int) -> list[str]:
    """A key in lines of at most `room` columns, broken after a slash or a comma."""
    lines, line = [], ""
    for part in key.replace("/", "/\0").replace(",", ",\0").split("\0"):
        if line and len(line) + len(part) > room:
            lines.append(line)
            line = "  "
        line += part
    return [*lines, line]


def _pairs(outlook: MatrixOutlook) -> Iterator[tuple[str, str]]:
    yield from _credit_lines(outlook.blocks)
    yield from _until_lines(outlook)
    yield from _order_lines(outlook)
    yield "time", _time(outlook)
    yield from named("cost", _cost_lines(outlook))
    yield from named("quota", _quota_lines(outlook))
    yield from named("problem", _grouped(outlook.blocks, _problems))
    yield from named("note", _grouped(outlook.blocks, lambda block: block.notes))
    yield from named("warning", outlook.warnings)


def _credit_lines(blocks: Sequence[BlockOutlook]) -> Iterator[tuple[str, str]]:
    with_credit = [block for block in blocks if block.credit is not None]
    if not with_credit:
        return
    gone = [block for block in with_credit if block.credit and block.credit.gone_s is not None]
    text = "no run uses up the burst credit of its disk"
    if gone:
        numbers = _ranges([block.number for block in gone])
        text = f"used up in {numbers}, that long after the first step begins, if every step loads "
        text += "the disk fully; later steps measure the baseline"
    yield from named("credit", (text, *_grouped(with_credit, _beyond)))


def _beyond(block: BlockOutlook) -> Sequence[str]:
    """What a block that does not show what its disk gives after its credit would need."""
    beyond = block.expectation.beyond if block.expectation else None
    return (beyond_words(beyond),) if beyond is not None and beyond.ends != "after" else ()


def _order_lines(outlook: MatrixOutlook) -> Iterator[tuple[str, str]]:
    cells = counted(len(outlook.cells), "cell")
    if outlook.order == "listed":
        yield "order", f"{cells} as the file lists them"
        return
    if len(outlook.blocks) == 1:
        yield "order", f"{cells} of one block"
        return
    rounds = [list(group) for _, group in groupby(outlook.cells, key=lambda cell: cell.round)]
    times = counted(len(rounds), "round")
    yield "order", f"{cells} in {times}, random by seed {outlook.seed}; by number:"
    for of_round in rounds[:_MOST_ROUNDS]:
        numbers = " ".join(str(cell.block) for cell in of_round)
        yield "", f"round {of_round[0].round}: {numbers}"
    if len(rounds) > _MOST_ROUNDS:
        yield "", f"… and {len(rounds) - _MOST_ROUNDS} more (--output json has all)"


def _until_lines(outlook: MatrixOutlook) -> Iterator[tuple[str, str]]:
    limits = outlook.limits
    if limits.until_ci is not None:
        text = f"from {limits.min_replicates} to {limits.max_replicates} replicates of each block, "
        text += f"until the interval of every step is within {format_share(limits.until_ci)} of "
        yield "until", f"{text}its median; figures below: the most"


def _time(outlook: MatrixOutlook) -> str:
    duration = f"about {format_duration_s(outlook.makespan_s)}"
    if outlook.at_once <= 1:
        return f"{duration}, one cell after the other"
    return (
        f"{duration} with up to {outlook.at_once} cells at once; "
        f"{format_duration_s(outlook.work_s)} one after the other"
    )


def _cost_lines(outlook: MatrixOutlook) -> Iterator[str]:
    bills = [*outlook.bills, outlook.total] if len(outlook.bills) != 1 else outlook.bills
    width = max((len(bill.provider) for bill in bills), default=0)
    for bill in bills:
        yield f"{bill.provider:<{width}}  {_bill_words(bill)}"


def _bill_words(bill: Bill) -> str:
    cells = counted(bill.cells, "cell")
    transactions = (
        f", {format_usd(bill.transactions_usd)} of it for transactions"
        if bill.transactions_usd
        else ""
    )
    known = f"{format_usd(bill.known_usd)}{transactions}"
    if not bill.unknown:
        return f"{cells}, {known}"
    shown = [*bill.unknown[:3], *(["…"] if len(bill.unknown) > 3 else [])]
    words = no_price_words(shown, bill.unpriced_regions)
    rest = f" (the rest is {known})" if bill.known_usd else ""
    return f"{cells}, cost unknown{rest}: {words}"


def _quota_lines(outlook: MatrixOutlook) -> Iterator[str]:
    for (provider, region), needs in groupby(
        outlook.needs, key=lambda need: (need.provider, need.region)
    ):
        parts = [
            f"{need.amount:,.0f} GiB of {need.of}"
            if need.kind == "disk-gib"
            else counted(round(need.amount), _UNITS.get(need.kind, need.kind))
            for need in needs
        ]
        yield f"{provider} {region}".strip() + f": {', '.join(parts)} at once"


_UNITS = {"machines": "machine", "disks": "disk", "vcpus": "vCPU", "spot-vcpus": "spot vCPU"}


def _problems(block: BlockOutlook) -> Sequence[str]:
    if block.problem is None:
        return ()
    advice = f"; {block.problem.advice}" if block.problem.advice else ""
    return (f"{block.problem.message}{advice}",)


def _grouped(
    blocks: Sequence[BlockOutlook], texts_of: Callable[[BlockOutlook], Sequence[str]]
) -> Iterator[str]:
    """Each distinct text once, after the numbers of its blocks."""
    texts = [(text, block.number) for block in blocks for text in texts_of(block)]
    for text, of_text in grouped(texts, itemgetter(0)).items():
        yield f"{_ranges([number for _, number in of_text])}: {text}"


def _ranges(numbers: Sequence[int]) -> str:
    """`1, 3–8`; `numbers` must be ascending."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(str(span[0]) if len(span) == 1 else f"{span[0]}–{span[-1]}" for span in spans)


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
    shown = cut(name, 22)
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

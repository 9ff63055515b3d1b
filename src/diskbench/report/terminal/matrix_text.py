"""The plan of a matrix as plain text of at most `width` columns, with the expected figures of its
blocks and their disk prices as tables of 80 columns."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter

from diskbench.catalog.cost import no_price_words
from diskbench.model.expectation import LIMIT_WORDS, Expectation, ExpectedLevel
from diskbench.parallel import grouped
from diskbench.plan.outlook import Bill, BlockOutlook, MatrixOutlook
from diskbench.report.assemble.words import cut, dollars
from diskbench.report.terminal.plan_text import beyond_words, labelled, named
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
_LEAST_WIDTH = 60


def render_outlook(outlook: MatrixOutlook) -> str:
    """The plan of a matrix: blocks, order, time, cost and quota. Ends with a line feed."""
    width = max(_LEAST_WIDTH, shutil.get_terminal_size().columns)
    title = f": {outlook.title}" if outlook.title else ""
    lines = textwrap.wrap(f"{outlook.name}{title}", width, subsequent_indent="  ")
    room = width - len(_NUMBERS) - 6
    lines += ["", f"{'#':>4}  {'what is compared':<{room}}{_NUMBERS}"]
    for block in outlook.blocks:
        first, *more = _folded(block.block, room)
        lines.append(f"{block.number:>4}  {first:<{room}}{_figures(block)}")
        lines += [f"      {line}" for line in more]
    lines += [*expected_table(outlook.blocks), *price_table(outlook.blocks), ""]
    lines += labelled(_pairs(outlook), width, at=12)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _figures(block: BlockOutlook) -> str:
    if block.problem is not None:
        return f"{block.replicates:>4}  cannot be measured"
    cost = credit = "–"
    if block.cost is not None:
        usd = block.cost.total_usd
        cost = "unknown" if usd is None else format_usd(usd)
    if block.credit is not None:
        gone_s = block.credit.gone_s
        credit = "lasts" if gone_s is None else format_duration_s(gone_s)
    return f"{block.replicates:>4}{format_duration_s(block.trial_s):>12}{cost:>11}  {credit}"


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
    blocks, limits = outlook.blocks, outlook.limits
    yield from named("credit", _credit_lines(blocks))
    if limits.until_ci is not None:
        text = f"from {limits.min_replicates} to {limits.max_replicates} replicates of each block, "
        text += f"until the interval of every step is within {format_share(limits.until_ci)} of "
        yield "until", f"{text}its median; figures below: the most"
    yield from named("order", _order_lines(outlook))
    yield "time", _time(outlook)
    bills = [*outlook.bills, outlook.total] if len(outlook.bills) != 1 else outlook.bills
    width = max((len(bill.provider) for bill in bills), default=0)
    yield from named("cost", (f"{bill.provider:<{width}}  {_bill_words(bill)}" for bill in bills))
    yield from named("quota", _quota_lines(outlook))
    problems = ((block.number, block.problem) for block in blocks if block.problem)
    told = ((at, "; ".join(filter(None, (of.message, of.advice)))) for at, of in problems)
    yield from named("problem", _grouped(told))
    notes = ((block.number, note) for block in blocks for note in block.notes)
    yield from named("note", _grouped(notes))
    yield from named("warning", outlook.warnings)


def _credit_lines(blocks: Sequence[BlockOutlook]) -> Iterator[str]:
    with_credit = [block for block in blocks if block.credit is not None]
    gone = [block for block in with_credit if block.credit and block.credit.gone_s is not None]
    if gone:
        numbers = _ranges([block.number for block in gone])
        text = f"used up in {numbers}; the time counts from the first step's start, at full load; "
        yield f"{text}later steps measure the baseline"
    elif with_credit:
        yield "no run uses up the burst credit of its disk"
    # What a block that does not show what its disk gives after its credit would need.
    ends = ((of.number, of.expectation and of.expectation.beyond) for of in with_credit)
    yield from _grouped((at, beyond_words(of)) for at, of in ends if of and of.ends != "after")


def _order_lines(outlook: MatrixOutlook) -> Iterator[str]:
    cells = counted(len(outlook.cells), "cell")
    if outlook.order == "listed" or len(outlook.blocks) == 1:
        listed = outlook.order == "listed"
        yield f"{cells} as the file lists them" if listed else f"{cells} of one block"
        return
    rounds = grouped(outlook.cells, lambda cell: cell.round)
    times = counted(len(rounds), "round")
    yield f"{cells} in {times}, random by seed {outlook.seed}; by number:"
    for number, of_round in islice(rounds.items(), _MOST_ROUNDS):
        yield f"round {number}: {' '.join(str(cell.block) for cell in of_round)}"
    if len(rounds) > _MOST_ROUNDS:
        yield f"… and {len(rounds) - _MOST_ROUNDS} more (--output json has all)"


def _time(outlook: MatrixOutlook) -> str:
    duration, alone = map(format_duration_s, (outlook.makespan_s, outlook.work_s))
    if outlook.at_once <= 1:
        return f"about {duration}, one cell after the other"
    at_once = f"about {duration} with up to {outlook.at_once} cells at once"
    return f"{at_once}; {alone} one after the other"


def _bill_words(bill: Bill) -> str:
    cells, known = counted(bill.cells, "cell"), format_usd(bill.known_usd)
    if bill.transactions_usd:
        known += f", {format_usd(bill.transactions_usd)} of it for transactions"
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


def _grouped(texts: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Each distinct text once, after the numbers of its blocks."""
    for text, of_text in grouped(texts, itemgetter(1)).items():
        yield f"{_ranges([number for number, _ in of_text])}: {text}"


def _ranges(numbers: Sequence[int]) -> str:
    """`1, 3–8`; `numbers` must be ascending."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(str(span[0]) if len(span) == 1 else f"{span[0]}–{span[-1]}" for span in spans)


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
    rows = [
        (str(block.number), *map(dollars, (
            price.total_usd, price.per_1000_iops_usd, price.per_1000_burst_iops_usd,
            price.per_100_mb_per_s_usd, price.per_100_burst_mb_per_s_usd,
        )))
        for block in blocks
        if block.expectation and (price := block.expectation.price) and price.total_usd is not None
    ]  # fmt: skip
    if rows:
        head = ("#", "a month", "1,000 IOPS", "of the burst", "100 MB/s", "of the burst")
        yield ""
        for number, month, *per_unit in (head, *rows):
            yield f"{number:>4}  {month:>9}" + "".join(f"{cell:>14}" for cell in per_unit)


def _best(block: BlockOutlook) -> list[tuple[str, str, Expectation]]:
    """The measuring steps with the most IOPS and with the most bytes per second."""
    assert block.expectation is not None
    steps = [
        (step.name, expectation)
        for step in block.expectation.steps
        if step.run == 1 and (expectation := block.expectation.of(step)) is not None
    ]
    if not steps:
        return []
    by_iops = max(steps, key=lambda pair: pair[1].begin.iops)
    by_bytes = max(steps, key=lambda pair: pair[1].begin.bytes_per_s)
    return [("IOPS", *by_iops), ("MB/s", *by_bytes)]


def _line(unit: str, name: str, level: ExpectedLevel) -> str:
    value = format_iops(level.iops) if unit == "IOPS" else format_mb_per_s(level.bytes_per_s)
    limit = LIMIT_WORDS[level.limited_by] if level.limited_by else "unknown"
    return f"{f'{value:>9} {unit}':<18}{cut(name, 22):<24}{limit}"

"""What a matrix will do, as a person reads it: plain text of at most `width` columns."""

from __future__ import annotations

import shutil
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING

from diskbench.report.terminal.matrix_expected import expected_table, price_table
from diskbench.units import format_duration_s, format_share, format_usd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from diskbench.plan.outlook import Bill, BlockOutlook, MatrixOutlook

_MOST_ROUNDS = 12
_NUMBERS = "   n        each  cost each  burst credit"
_TEXT_AT = 12
_LEAST_WIDTH = 60


def render_outlook(outlook: MatrixOutlook, *, width: int | None = None) -> str:
    """The plan of a matrix: its blocks, order, time, cost and quota. Ends with a line end."""
    width = max(_LEAST_WIDTH, width or shutil.get_terminal_size().columns)
    title = f": {outlook.title}" if outlook.title else ""
    lines = textwrap.wrap(f"{outlook.name}{title}", width, subsequent_indent="  ")
    lines += _block_lines(outlook.blocks, width)
    lines += [*expected_table(outlook.blocks), *price_table(outlook.blocks), ""]
    for name, text in _pairs(outlook):
        lines += textwrap.wrap(
            text,
            width,
            initial_indent=f"  {name:<{_TEXT_AT - 2}}",
            subsequent_indent=" " * _TEXT_AT,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _block_lines(blocks: Sequence[BlockOutlook], width: int) -> Iterator[str]:
    room = width - len(_NUMBERS) - 6
    yield ""
    yield f"{'#':>4}  {'what is compared':<{room}}{_NUMBERS}"
    for one in blocks:
        first, *more = _folded(one.block, room)
        yield f"{one.number:>4}  {first:<{room}}{_figures(one)}"
        yield from (f"      {line}" for line in more)


def _figures(one: BlockOutlook) -> str:
    if one.problem is not None:
        return f"{one.replicates:>4}  cannot be measured"
    cost = "–"
    if one.cost is not None and one.cost.total_usd is not None:
        cost = format_usd(one.cost.total_usd)
    elif one.cost is not None:
        cost = "not known"
    return (
        f"{one.replicates:>4}{format_duration_s(one.trial_s):>12}{cost:>11}  {_credit_words(one)}"
    )


def _credit_words(one: BlockOutlook) -> str:
    if one.credit is None:
        return "–"
    if one.credit.gone_s is None:
        return "lasts"
    return f"{format_duration_s(one.credit.gone_s)}"


def _folded(key: str, room: int) -> list[str]:
    """A key in lines of at most `room` columns, broken behind a slash or a comma."""
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
    yield from _named("cost", _cost_lines(outlook))
    yield from _named("quota", _quota_lines(outlook))
    yield from _named("problem", _grouped(outlook.blocks, _problems))
    yield from _named("note", _grouped(outlook.blocks, lambda one: one.notes))
    yield from _named("warning", outlook.warnings)


def _named(name: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        yield name, text
        name = ""


def _credit_lines(blocks: Sequence[BlockOutlook]) -> Iterator[tuple[str, str]]:
    with_credit = [one for one in blocks if one.credit is not None]
    if not with_credit:
        return
    gone = [one for one in with_credit if one.credit and one.credit.gone_s is not None]
    if not gone:
        yield "credit", "no run uses its disk's burst credit up"
        return
    numbers = _ranges([one.number for one in gone])
    told = f"used up in {numbers}: so long after the first step begins, if every step loads the "
    told += "disk as far as it goes; what follows measures the baseline"
    yield "credit", told


def _order_lines(outlook: MatrixOutlook) -> Iterator[tuple[str, str]]:
    cells = len(outlook.cells)
    if outlook.order == "listed":
        yield "order", f"{cells} cells as the file lists them"
        return
    if len(outlook.blocks) == 1:
        yield "order", f"{cells} cells of one block"
        return
    found = [list(group) for _, group in groupby(outlook.cells, key=lambda one: one.round)]
    times = f"{len(found)} round{'s' if len(found) > 1 else ''}"
    yield "order", f"{cells} cells in {times}, random by seed {outlook.seed}; by number:"
    for one in found[:_MOST_ROUNDS]:
        numbers = " ".join(str(cell.block) for cell in one)
        yield "", f"round {one[0].round}: {numbers}"
    if len(found) > _MOST_ROUNDS:
        yield "", f"… and {len(found) - _MOST_ROUNDS} more (--output json has all)"


def _until_lines(outlook: MatrixOutlook) -> Iterator[tuple[str, str]]:
    limits = outlook.limits
    if limits.until_ci is not None:
        told = f"from {limits.min_replicates} to {limits.max_replicates} replicates of each block, "
        told += f"until the interval of every step is within {format_share(limits.until_ci)} of "
        yield "until", f"{told}its median; what follows is of the most"


def _time(outlook: MatrixOutlook) -> str:
    whole = f"about {format_duration_s(outlook.makespan_s)}"
    if outlook.at_once <= 1:
        return f"{whole}, one cell after the other"
    return (
        f"{whole} with up to {outlook.at_once} cells at once; "
        f"{format_duration_s(outlook.work_s)} one after the other"
    )


def _cost_lines(outlook: MatrixOutlook) -> Iterator[str]:
    bills = [*outlook.bills, outlook.total] if len(outlook.bills) != 1 else outlook.bills
    width = max((len(one.provider) for one in bills), default=0)
    for one in bills:
        yield f"{one.provider:<{width}}  {_bill_words(one)}"


def _bill_words(one: Bill) -> str:
    cells = f"{one.cells} cell{'s' if one.cells != 1 else ''}"
    transactions = (
        f", {format_usd(one.transactions_usd)} of it for transactions"
        if one.transactions_usd
        else ""
    )
    unknown = ""
    if one.unknown:
        shown = ", ".join(one.unknown[:3]) + (", …" if len(one.unknown) > 3 else "")
        unknown = f", and what is not known: {shown}"
    return f"{cells}, {format_usd(one.known_usd)}{transactions}{unknown}"


def _quota_lines(outlook: MatrixOutlook) -> Iterator[str]:
    for (provider, region), needs in groupby(
        outlook.needs, key=lambda one: (one.provider, one.region)
    ):
        told = [
            f"{one.amount:,.0f} GiB of {one.of}"
            if one.kind == "disk-gib"
            else f"{one.amount:,.0f} {_counted(one.kind, one.amount)}"
            for one in needs
        ]
        yield f"{provider} {region}".strip() + f": {', '.join(told)} at once"


def _counted(kind: str, amount: float) -> str:
    one = {"machines": "machine", "disks": "disk", "vcpus": "vCPU", "spot-vcpus": "spot vCPU"}
    return one.get(kind, kind) + ("" if amount == 1 else "s")


def _problems(one: BlockOutlook) -> Sequence[str]:
    if one.problem is None:
        return ()
    advice = f"; {one.problem.advice}" if one.problem.advice else ""
    return (f"{one.problem.message}{advice}",)


def _grouped(
    blocks: Sequence[BlockOutlook], texts_of: Callable[[BlockOutlook], Sequence[str]]
) -> Iterator[str]:
    """Each text once, behind the numbers of the blocks that it is about."""
    numbers: dict[str, list[int]] = {}
    for one in blocks:
        for text in texts_of(one):
            numbers.setdefault(text, []).append(one.number)
    for text, found in numbers.items():
        yield f"{_ranges(found)}: {text}"


def _ranges(numbers: Sequence[int]) -> str:
    """`1, 3–8`; the numbers are ascending."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(str(span[0]) if len(span) == 1 else f"{span[0]}–{span[-1]}" for span in spans)

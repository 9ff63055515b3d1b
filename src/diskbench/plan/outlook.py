"""The forecast of a matrix before it runs: the document that `diskbench matrix plan --output json`
prints, and its sums. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Literal

from diskbench.catalog.cost import CellCost
from diskbench.catalog.machine_book import machine_book
from diskbench.model.base import Frozen
from diskbench.model.expectation import PlanExpectation
from diskbench.model.finding import Need
from diskbench.model.matrix import Limits, Matrix, MatrixCell, Order
from diskbench.model.outcome import Problem
from diskbench.model.spec import EMULATED_PROVIDERS
from diskbench.plan.makespan import Task, at_once, starts
from diskbench.plan.matrix import rounds


class BlockOutlook(Frozen):
    """One block: what all its replicates have in common. `expected_s` is the duration of the steps
    of one replicate, `trial_s` includes renting. None is unknown; a block with a `problem` cannot
    be measured. `asked` says whether the provider itself was queried or only the catalogue.
    """

    number: int
    block: str
    provider: str
    region: str | None = None
    partition: str
    route: str
    replicates: int
    runs: int
    asked: bool = False
    offer: str = ""
    promise: str = ""
    instance_type: str | None = None
    vcpus: int | None = None
    disk: str | None = None
    disks: int = 0
    disk_gib: int = 0
    spot: bool = False
    expected_s: float = 0.0
    trial_s: float = 0.0
    cost: CellCost | None = None
    expectation: PlanExpectation | None = None
    credit: Credit | None = None
    notes: tuple[str, ...] = ()
    problem: Problem | None = None


class CellOutlook(Frozen):
    """One cell at its position: its round from 1 (0 without rounds), its block's number, and its
    expected start and end in seconds after the start of the matrix; None if it cannot be
    measured."""

    position: int
    round: int
    key: str
    block: int
    starts_s: float | None
    ends_s: float | None


class Bill(Frozen):
    """The cost of all cells of a provider, or of all providers (`all`). `known_usd` is the sum of
    the known prices; `unknown` names the parts without one, `unpriced_regions` where prices of them
    can be asked for."""

    provider: str
    cells: int
    known_usd: float
    transactions_usd: float = 0.0
    unknown: tuple[str, ...] = ()
    unpriced_regions: tuple[str, ...] = ()


class MatrixOutlook(Frozen):
    """The whole matrix. `work_s` is the duration of its cells one after the other, `makespan_s`
    with the allowed concurrency. `needs` is the most that is rented at once, except root disks."""

    format: Literal[1] = 1
    name: str
    title: str
    source: str
    order: Order
    seed: int
    limits: Limits
    reuse_host: bool
    blocks: tuple[BlockOutlook, ...]
    cells: tuple[CellOutlook, ...]
    at_once: int
    makespan_s: float
    work_s: float
    bills: tuple[Bill, ...]
    total: Bill
    needs: tuple[Need, ...]
    warnings: tuple[str, ...] = ()


def outlook(
    matrix: Matrix,
    source: str,
    seed: int,
    cells: Sequence[MatrixCell],
    blocks: Sequence[BlockOutlook],
) -> MatrixOutlook:
    """Return the document of a matrix whose blocks were checked."""
    of_block = {block.block: block for block in blocks}
    planned = [cell for cell in cells if of_block[cell.block].problem is None]
    tasks = [
        Task(cell.cell.provider, cell.partition, of_block[cell.block].trial_s, cell.machine)
        for cell in planned
    ]
    begins = starts(tasks, matrix.limits)
    times = {
        cell.key: (begin, begin + task.seconds)
        for cell, begin, task in zip(planned, begins, tasks, strict=True)
    }
    # A cell that ends when another starts does not overlap it.
    changes = sorted(
        change for begin, end in times.values() if end > begin for change in ((begin, 1), (end, -1))
    )
    in_round = rounds(cells, seed) if matrix.order == "random" else {}
    makespan = max((end for _, end in times.values()), default=0.0)
    bills = _bills(blocks)
    total = _sum("all", bills)
    same = ("name", "title", "order", "limits", "reuse_host")
    return MatrixOutlook(
        **{field: getattr(matrix, field) for field in same},
        source=source,
        seed=seed,
        blocks=tuple(blocks),
        cells=tuple(
            CellOutlook(
                position=cell.position,
                round=in_round.get(cell.key, -1) + 1,
                key=cell.key,
                block=of_block[cell.block].number,
                starts_s=times.get(cell.key, (None, None))[0],
                ends_s=times.get(cell.key, (None, None))[1],
            )
            for cell in cells
        ),
        at_once=max(accumulate(step for _, step in changes), default=0),
        makespan_s=makespan,
        work_s=math.fsum(task.seconds for task in tasks),
        bills=bills,
        total=total,
        needs=tuple(_needs(blocks, tasks, matrix.limits)),
        warnings=tuple(_warnings(matrix.limits, makespan, total, blocks)),
    )


def _bills(blocks: Sequence[BlockOutlook]) -> tuple[Bill, ...]:
    bills: dict[str, list[Bill]] = {}
    for block in blocks:
        if block.cost is not None:
            bill = Bill(
                provider=block.provider,
                cells=block.replicates,
                known_usd=block.cost.known_usd * block.replicates,
                transactions_usd=block.cost.transactions_usd * block.replicates,
                unknown=block.cost.unknown,
                unpriced_regions=tuple(filter(None, [block.cost.unpriced_region])),
            )
            bills.setdefault(block.provider, []).append(bill)
    return tuple(_sum(provider, of_it) for provider, of_it in sorted(bills.items()))


def _sum(provider: str, bills: Sequence[Bill]) -> Bill:
    return Bill(
        provider=provider,
        cells=sum(bill.cells for bill in bills),
        known_usd=math.fsum(bill.known_usd for bill in bills),
        transactions_usd=math.fsum(bill.transactions_usd for bill in bills),
        unknown=tuple(dict.fromkeys(name for bill in bills for name in bill.unknown)),
        unpriced_regions=tuple(
            dict.fromkeys(region for bill in bills for region in bill.unpriced_regions)
        ),
    )


def _needs(blocks: Sequence[BlockOutlook], tasks: Sequence[Task], limits: Limits) -> Iterable[Need]:
    """Return the most of each resource that the concurrent cells can use: that of the largest."""
    rented: dict[str, list[BlockOutlook]] = {}
    for block in blocks:
        if block.problem is None and block.offer and block.provider not in EMULATED_PROVIDERS:
            rented.setdefault(block.partition, []).extend([block] * block.replicates)
    for partition, of_account in rented.items():
        count = at_once(partition, tasks, limits)
        kinds: dict[tuple[str, str], list[float]] = {}
        for block in of_account:
            spot = "spot-" if block.spot else ""
            kinds.setdefault(("machines", ""), []).append(1)
            if block.vcpus is not None:
                where = machine_book(block.provider).family_of(block.instance_type or "")
                kinds.setdefault((f"{spot}vcpus", where), []).append(block.vcpus)
            if block.disks:
                kinds.setdefault(("disks", ""), []).append(block.disks)
                gib = block.disk_gib * block.disks
                kinds.setdefault(("disk-gib", block.disk or ""), []).append(gib)
        for (kind, where), amounts in kinds.items():
            yield Need(
                provider=of_account[0].provider,
                region=of_account[0].region or "",
                kind=kind,
                of=where,
                amount=math.fsum(sorted(amounts, reverse=True)[:count]),
            )


def _warnings(
    limits: Limits, makespan: float, total: Bill, blocks: Sequence[BlockOutlook]
) -> Iterable[str]:
    if limits.deadline_s is not None and makespan > limits.deadline_s:
        yield "the deadline is too early for all cells: some will not start"
    if limits.budget_usd is not None and total.known_usd > limits.budget_usd:
        yield "the budget does not cover all cells: some will not start"
    if limits.budget_usd is not None and total.unknown and not limits.assume_price_usd_per_hour:
        yield "cells of unknown price are refused under a budget: give `assume_price`"
    most_s = math.inf if limits.max_cell_s is None else limits.max_cell_s
    if over := [block.block for block in blocks if block.trial_s > most_s]:
        yield f"{len(over)} of the blocks take longer than max_cell_time: {over[0]}"


class Credit(Frozen):
    """`gone_s` is the time from the start of the first step until a bucket is first empty; None:
    never. `expected_s` is the duration of all steps, `lasts_s` that of a full bucket at full
    load."""

    gone_s: float | None
    expected_s: float
    lasts_s: float


def credit_of(expected: PlanExpectation | None) -> Credit | None:
    """Return the credit of disk and machine together; None if neither has a burst bucket."""
    if expected is None or not expected.credits:
        return None
    return Credit(
        gone_s=expected.gone_s,
        expected_s=expected.seconds,
        lasts_s=min(credit.full_load_s for credit in expected.credits),
    )


def out_of_reach(outlook: MatrixOutlook) -> list[BlockOutlook]:
    """Return the blocks that could not be checked from here or now, but may be when they start."""
    return [block for block in outlook.blocks if block.problem and block.problem.passing]


def with_expected(outlook: MatrixOutlook, foreseen: MatrixOutlook) -> MatrixOutlook:
    """Return the matrix with unreachable blocks as the catalogue predicts them. A block without a
    prediction is also left to be checked when it starts, unless there is a budget: its cost is
    unknown."""
    blocks = {block.block: block for block in outlook.blocks}
    predicted = {block.block: block for block in foreseen.blocks}
    for block in out_of_reach(outlook):
        if predicted[block.block].problem is None:
            blocks[block.block] = predicted[block.block]
        elif outlook.limits.budget_usd is None:
            blocks[block.block] = block.model_copy(update={"problem": None})
    return outlook.model_copy(update={"blocks": tuple(blocks.values())})

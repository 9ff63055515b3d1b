"""The outlook of a matrix: what it would rent, according to its providers or the catalogue."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench import __version__
from diskbench.engine.ids import new_id
from diskbench.engine.trial.draft import draft, resolve_rental
from diskbench.errors import DiskbenchError
from diskbench.model.facts import CpuFacts, HostFacts
from diskbench.model.outcome import problem_of
from diskbench.plan.cost import cost_of_plan, renting_s
from diskbench.plan.expectation import with_expectation
from diskbench.plan.matrix import expand
from diskbench.plan.matrix_check import in_fields
from diskbench.plan.outlook import BlockOutlook, MatrixOutlook, credit_of, outlook
from diskbench.plan.trial import TrialIds, make_plan
from diskbench.providers.registry import Providers
from diskbench.store.profile_file import find_profile
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.catalog.books import Books
    from diskbench.engine.matrix.matrix_file import MatrixFile
    from diskbench.model.matrix import MatrixCell
    from diskbench.model.spec import Cell, Plan

AT_ONCE = 8
_ASSUMED = HostFacts(cpu=CpuFacts(count=2), memory_bytes=8 * GIB, memory_available_bytes=8 * GIB)
"""Assumed facts of an existing machine that was not examined."""
_MACHINES_OWN = frozenset({"instance-store", "temp-disk"})
"""Types of disks that belong to a machine and count against no quota of disks."""


def outlook_of(
    file: MatrixFile,
    books: Books,
    *,
    seed: int,
    offline: bool,
    providers: Providers | None = None,
) -> MatrixOutlook:
    """The plan of each block of a matrix. Rents nothing; with `offline` no provider is called.
    `providers` are those of the caller, who closes them; without them it has its own.

    A block that cannot be planned is returned with its problem; the others are planned.
    """
    cells = expand(file.matrix, seed=seed)
    # Blocks are numbered in the order of the file, independently of the seed.
    listed = file.matrix.model_copy(update={"order": "listed"})
    firsts = [cell for cell in expand(listed, seed=seed) if cell.cell.replicate == 0]
    counts = Counter(cell.block for cell in cells)
    with (
        nullcontext(providers) if providers else Providers() as asked,
        ThreadPoolExecutor(max_workers=min(AT_ONCE, len(firsts) or 1)) as pool,
    ):
        resolved = list(
            pool.map(lambda cell: _resolved(cell, books, asked, offline=offline), firsts)
        )
    blocks = [
        _block(number, first, counts[first.block], result)
        for number, (first, result) in enumerate(zip(firsts, resolved, strict=True), start=1)
    ]
    return outlook(file.matrix, file.source, seed, cells, blocks)


@dataclass(frozen=True)
class _Resolved:
    plan: Plan | None = None
    asked: bool = False
    notes: tuple[str, ...] = ()
    problem: DiskbenchError | None = None


def _resolved(cell: MatrixCell, books: Books, providers: Providers, *, offline: bool) -> _Resolved:
    try:
        renter = providers.renter(cell.cell.provider)
        if renter is None:
            return _Resolved(_there(cell.cell, books))
        rental, asked, notes = resolve_rental(renter, cell.cell, books, offline=offline)
        plan = draft(cell.cell, find_profile(cell.cell.profile), rental, new_id(), books)
    except DiskbenchError as error:
        return _Resolved(problem=error)
    return _Resolved(plan, asked, notes)


def _there(cell: Cell, books: Books) -> Plan:
    """The plan for an existing machine, made without examining it."""
    names = TrialIds(new_id(), new_id(), tuple(new_id() for _ in range(cell.runs)))
    plan = make_plan(cell, find_profile(cell.profile), _ASSUMED, names, version=__version__)
    return with_expectation(plan, books)


def _block(number: int, first: MatrixCell, replicates: int, resolved: _Resolved) -> BlockOutlook:
    base = BlockOutlook(
        number=number,
        block=first.block,
        provider=first.cell.provider,
        partition=first.partition,
        route=first.route,
        replicates=replicates,
        runs=first.cell.runs,
        asked=resolved.asked,
    )
    plan = resolved.plan
    if plan is None:
        assert resolved.problem is not None
        problem = problem_of(resolved.problem)
        problem = problem.model_copy(
            update={"message": in_fields(problem.message), "advice": in_fields(problem.advice)}
        )
        return base.model_copy(update={"problem": problem})
    fields: dict[str, object] = {
        "expected_s": plan.expected_s,
        "trial_s": plan.expected_s + renting_s(plan),
        "cost": cost_of_plan(plan),
        "expectation": plan.expectation,
        "credit": credit_of(plan.expectation),
        "notes": (*resolved.notes, *plan.notes),
    }
    rental = plan.rental
    if rental is not None:
        fields |= {
            "region": rental.scope.region,
            "offer": rental.offer,
            "promise": rental.promise,
            "instance_type": rental.instance_type,
            "vcpus": rental.cores,
            "spot": rental.spec.spot,
        }
    if rental is not None and rental.disk is not None:
        fields |= {
            "disk": rental.disk.type,
            "disks": 0 if rental.disk.type in _MACHINES_OWN else rental.disk.count,
            "disk_gib": rental.disk.size_gib,
        }
    return base.model_copy(update=fields)

"""Figures of steps that vary one or two things of a load: the rate over the block size, and reads
beside writes, each offered as a share of what the disk does of it alone.

What varies is read from the rows and the plan, not from names, so a job file of the user's own is
drawn as the profiles `blocks` and `mixed` are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from diskbench.analysis.figure import middle
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.offered import share_of
from diskbench.model.result import Measurement
from diskbench.model.spec import Plan

LEAST_SIZES = 4
"""Fewer block sizes make no curve; our choice."""
LEAST_SHARES = 3
"""Fewer shares of reads, or of writes, make no grid; our choice."""


@dataclass(frozen=True)
class BlockPoint:
    """The median over the runs at one block size."""

    step: str
    block_bytes: int
    iops: float
    bytes_per_s: float


@dataclass(frozen=True)
class BlockCurve:
    """The rates of one pattern, direction and number of I/Os in flight, by block size."""

    rw: str
    direction: str
    in_flight: int
    points: tuple[BlockPoint, ...]
    runs: int


@dataclass(frozen=True)
class MixCell:
    """A step with its offered shares; what was served of the reads, and their p99, are None where
    no reads were offered or too few were made."""

    step: str
    read_share: float
    write_share: float
    read_iops: float | None
    read_p99_ns: float | None


def block_curves(measurements: Iterable[Measurement]) -> tuple[BlockCurve, ...]:
    """The curves in one trial's rows, those with the most sizes first."""
    groups: dict[tuple[str, str, int], dict[int, list[Measurement]]] = {}
    for row in _whole_steps(measurements):
        if row.role == "measure" and row.iops and row.bytes_per_s and row.block_bytes and row.rw:
            key = (row.rw, row.direction, (row.iodepth or 1) * row.jobs)
            groups.setdefault(key, {}).setdefault(row.block_bytes, []).append(row)
    curves = [
        BlockCurve(
            *key,
            points=tuple(_block_point(size, rows) for size, rows in sorted(sizes.items())),
            runs=len({row.run_id for rows in sizes.values() for row in rows}),
        )
        for key, sizes in groups.items()
        # A size that several steps measure is another variation.
        if len(sizes) >= LEAST_SIZES
        and all(len({row.step for row in rows}) == 1 for rows in sizes.values())
    ]
    return tuple(sorted(curves, key=lambda curve: -len(curve.points)))


def _whole_steps(measurements: Iterable[Measurement]) -> Iterator[Measurement]:
    return (row for row in measurements if row.scope == "step" and row.round is None)


def _block_point(size: int, rows: Sequence[Measurement]) -> BlockPoint:
    return BlockPoint(
        step=rows[0].step,
        block_bytes=size,
        iops=middle([row.iops or 0.0 for row in rows]),
        bytes_per_s=middle([row.bytes_per_s or 0.0 for row in rows]),
    )


def mix_cells(measurements: Iterable[Measurement], plan: Plan | None) -> tuple[MixCell, ...]:
    """The steps of a grid of shares, in the order of the plan; empty where there is no grid."""
    shares = {step: of for step, of in _shares(plan) if of}
    reads: dict[str, list[Measurement]] = {}
    for row in _whole_steps(measurements):
        if row.step in shares and row.direction == "read" and row.iops:
            reads.setdefault(row.step, []).append(row)
    cells = tuple(
        MixCell(
            step=step,
            read_share=of.get("read", 0.0),
            write_share=of.get("write", 0.0),
            read_iops=middle([row.iops or 0.0 for row in rows]) if rows else None,
            read_p99_ns=_known([row.p99_ns for row in rows]),
        )
        for step, of in shares.items()
        for rows in [reads.get(step, [])]
    )
    axes = ({cell.read_share for cell in cells}, {cell.write_share for cell in cells})
    return cells if all(len(axis) >= LEAST_SHARES for axis in axes) else ()


def _known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return middle(known, worst_is_high=True) if known and len(known) == len(values) else None


def _shares(plan: Plan | None) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Each step that offers nothing but shares, with the share of each direction."""
    for step in plan.steps if plan else ():
        offered: dict[str, float] = {}
        for job in jobs(parse(step.job).sections):
            share = share_of(job.get("rate_iops"))
            rw = job.get("rw") or ""
            if share is None or rw.endswith("rw") or rw == "readwrite":
                offered = {}
                break
            offered["read" if rw.endswith("read") else "write"] = share[0]
        yield step.name, offered

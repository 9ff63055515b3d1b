"""Steps of one trial that vary one or two things of a load, data for charts. What varies is read
from the rows and the plan, not from names, so that a user's own job file is drawn as the shipped
profiles are. With several runs, each figure is the median run's. Thresholds are our choice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from diskbench.analysis.figure import middle
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.offered import share_of
from diskbench.model.doubts import SATURATED
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Plan
from diskbench.parallel import grouped

LEAST_POINTS = 3
NO_MORE = 1.05
_DIRECTIONS = ("read", "write", "trim")


@dataclass(frozen=True)
class LoadPoint:
    """One step, by the median of its runs. `load` orders the points: I/Os in flight, the offered
    share (of reads, where `writes` is that of writes), or the size of a block. `words` name it
    (`QD 8`, `75 %`). Latencies are in ns, None if too few I/Os support them."""

    step: str
    load: float
    iops: float
    words: str = ""
    bytes_per_s: float = 0.0
    p50_ns: float | None = None
    p99_ns: float | None = None
    writes: float = 0.0
    saturated: bool = False


@dataclass(frozen=True)
class LoadCurve:
    """The points of one pattern and direction by load, each based on `runs` runs: of one block size
    (in the `name`), or over the block size at one number of I/Os `in_flight`."""

    name: str
    direction: str
    points: tuple[LoadPoint, ...]
    runs: int
    offered: bool = False
    in_flight: int = 0


def load_curves(
    measurements: Iterable[Measurement], warnings: Sequence[Warning] = (), plan: Plan | None = None
) -> tuple[LoadCurve, ...]:
    """The curves in one trial's rows; a curve needs at least three loads of one kind.

    `plan` gives the offered rates; without it such steps are labelled with their names.
    """
    shares = {name: share for name, of in _offered(plan) for _, share in of if share}
    doubted = {warning.step for warning in warnings if warning.code == SATURATED.code}
    drawn = [
        row
        for row in _whole_steps(measurements)
        if row.direction in _DIRECTIONS and row.iops and row.role in ("measure", "offered")
    ]
    groups = grouped(drawn, lambda row: (row.role, row.direction, row.rw, row.block_bytes))
    curves = []
    for (role, direction, *_), of_pattern in groups.items():
        offered = role == "offered"
        steps = grouped(of_pattern, lambda row: row.step)
        points = []
        for step, rows in steps.items():
            iops = middle([row.iops or 0.0 for row in rows])
            depth, share = (rows[0].iodepth or 1) * rows[0].jobs, shares.get(step)
            words, load = f"QD {depth}", float(depth)
            if offered:
                words, load = (f"{share:.0%}", share) if share else (step, iops)
            tails = (_known([row.p50_ns for row in rows]), _known([row.p99_ns for row in rows]))
            of = LoadPoint(step, load, iops, words, 0.0, *tails, saturated=step in doubted)
            points.append(of)
        points = sorted((point for point in points if point.load), key=lambda point: point.load)
        loads = {point.load for point in points}
        # A share that several steps offer varies with something else (`mix_cells`).
        if len(loads) < LEAST_POINTS or (offered and len(loads) < len(points)):
            continue
        if not offered:
            # The knee is the first point from which on no deeper queue brings more.
            flat = [
                max((later.iops for later in points[at + 1 :]), default=0.0) < NO_MORE * point.iops
                for at, point in enumerate(points)
            ]
            knee = next((at for at in range(len(flat)) if all(flat[at:])), len(points))
            points = [replace(point, saturated=at > knee) for at, point in enumerate(points)]
        runs = len({row.run_id for row in of_pattern})
        curves.append(LoadCurve(_name(of_pattern[0]), direction, tuple(points), runs, offered))
    return tuple(curves)


def _name(row: Measurement) -> str:
    size = row.block_bytes
    block = f" {size // 1024}k" if size and size % 1024 == 0 else f" {size} B" if size else ""
    return f"{row.rw or row.direction}{block}"


LEAST_SIZES = 4
"""Fewer block sizes make no curve; our choice."""
LEAST_SHARES = 3
"""Fewer shares of reads, or of writes, make no grid; our choice."""


def block_curves(measurements: Iterable[Measurement]) -> tuple[LoadCurve, ...]:
    """The curves in one trial's rows, those with the most sizes first."""
    groups: dict[tuple[str, str, int], dict[int, list[Measurement]]] = {}
    for row in _whole_steps(measurements):
        if row.role == "measure" and row.iops and row.bytes_per_s and row.block_bytes and row.rw:
            key = (row.rw, row.direction, (row.iodepth or 1) * row.jobs)
            groups.setdefault(key, {}).setdefault(row.block_bytes, []).append(row)
    curves = []
    for (rw, direction, in_flight), sizes in groups.items():
        # A size that several steps measure is another variation.
        is_one = all(len({row.step for row in rows}) == 1 for rows in sizes.values())
        if is_one and len(sizes) >= LEAST_SIZES:
            runs = len({row.run_id for rows in sizes.values() for row in rows})
            points = [
                LoadPoint(
                    rows[0].step, size, middle([row.iops or 0.0 for row in rows]),
                    bytes_per_s=middle([row.bytes_per_s or 0.0 for row in rows]),
                )
                for size, rows in sorted(sizes.items())
            ]  # fmt: skip
            curves.append(LoadCurve(rw, direction, tuple(points), runs, in_flight=in_flight))
    return tuple(sorted(curves, key=lambda curve: -len(curve.points)))


def _whole_steps(measurements: Iterable[Measurement]) -> Iterator[Measurement]:
    return (row for row in measurements if row.scope == "step" and row.round is None)


def mix_cells(measurements: Iterable[Measurement], plan: Plan | None) -> tuple[LoadPoint, ...]:
    """The steps of a grid of shares, in the order of the plan; empty where there is no grid."""
    shares = {
        name: {"read" if rw.endswith("read") else "write": share for rw, share in of_jobs if share}
        for name, of_jobs in _offered(plan)
        if all(share and not rw.endswith("rw") and rw != "readwrite" for rw, share in of_jobs)
    }
    shares = {name: of for name, of in shares.items() if of}
    whole = [row for row in _whole_steps(measurements) if row.direction == "read" and row.iops]
    reads = grouped(whole, lambda row: row.step)
    cells = []
    for step, of in shares.items():
        rows = reads.get(step, [])
        iops = middle([row.iops or 0.0 for row in rows]) if rows else 0.0
        read, write = of.get("read", 0.0), of.get("write", 0.0)
        p99_ns = _known([row.p99_ns for row in rows])
        cells.append(LoadPoint(step, read, iops, p99_ns=p99_ns, writes=write))
    axes = ({cell.load for cell in cells}, {cell.writes for cell in cells})
    return tuple(cells) if all(len(axis) >= LEAST_SHARES for axis in axes) else ()


def _known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return middle(known, worst_is_high=True) if known and len(known) == len(values) else None


def _offered(plan: Plan | None) -> Iterator[tuple[str, list[tuple[str, float | None]]]]:
    """Each step with the pattern of each of its jobs, and the share of an earlier step's rate that
    it offers."""
    for step in plan.steps if plan and not plan.search else ():
        of_jobs = [
            (job.get("rw") or "", share_of(job.get("rate_iops"))) for job in jobs(parse(step.job))
        ]
        yield step.name, [(rw, share[0] if share else None) for rw, share in of_jobs]

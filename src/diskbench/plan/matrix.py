"""Expand a matrix into cells, in the order in which they start: pure. Each equals the cell of `run`
with the same flags.

Clouds change from hour to hour. Two disks measured one after the other differ by the hour as much
as by their type. So the order is that of randomised multiple interleaved trials (A. Abedi and T.
Brecht, "Conducting Repeatable Experiments in Highly Variable Cloud Computing Environments", ICPE
2017): in rounds, each block once per round, in a new random order in each round. The replicates of
a block with fewer than the others are spread evenly over the rounds.

Randomness is the SHA-256 of seed, round and key rather than a generator, so that an order stays the
same in every Python version and however the file is sorted.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from diskbench.errors import InvalidValue
from diskbench.limits import CELLS
from diskbench.model.matrix import DEFAULT_PROFILE, CellFields, Matrix, MatrixCell, Order
from diskbench.model.options import access_fields, disk_options, options_of_model, own_options
from diskbench.model.spec import Cell
from diskbench.plan.cells import as_typed, cells, pairs
from diskbench.plan.combinations import Combination, combinations
from diskbench.plan.rent_options import rent_spec
from diskbench.plugin import Plugin, plugin

_NAMED = frozenset({
    "provider", "region", "instance_type", "host", "disk", "path", "device", "size", "iops",
    "throughput", "count", "profile", "parameters", "runs", "filesystem", "replicates",
})  # fmt: skip
"""Fields that have their own part in a key."""
_UNNAMED = (
    access_fields()
    | {"zones", "route", "stripe"}
    | {option.field for option in options_of_model(CellFields) if option.in_key == "no"}
)
"""Fields that are not part of a key: how a machine is reached or paid, and what is only noted."""


Block = tuple[Combination, tuple[MatrixCell, ...]]
"""The unit of comparison: a combination, and its cells, one per replicate."""
_DISK = {
    "disk": None, "size_gib": None, "iops": None, "throughput_mib_per_s": None, "count": 1,
    "zone": None,
}  # fmt: skip
"""Fields that describe the disk and not the machine."""


def expand(matrix: Matrix, *, seed: int) -> tuple[MatrixCell, ...]:
    """Return all cells in the order in which they start.

    Raises InvalidValue or UnknownName for fields that `run` would refuse as flags, and for
    duplicate cells. Whether the provider sells such a disk is checked by the provider.
    """
    chosen = combinations(matrix)
    check_cells(chosen, matrix)
    blocks = [(combination, block(combination, matrix)) for combination in chosen]
    for pair in duplicates(blocks):
        first, second = (".".join(map(str, combination.at)) for combination, _ in pair)
        raise InvalidValue(
            f"{pair[0][1][0].block} occurs twice ({first} and {second})",
            advice="use `replicates` to repeat a cell, or leave one of them out",
        )
    cells = _with_own_names([cells for _, cells in blocks])
    if matrix.reuse_host:
        cells = [cell.model_copy(update={"machine": machine_name(cell)}) for cell in cells]
    return ordered(cells, matrix.order, seed)


def check_cells(chosen: Iterable[Combination], matrix: Matrix) -> None:
    """Raise InvalidValue for more cells than may be planned at once, before creating any."""
    most = matrix.limits.max_replicates if matrix.limits.until_ci is not None else None
    count = sum(most or combination.fields.get("replicates") or 1 for combination in chosen)
    if count > CELLS:
        raise InvalidValue(
            f"the matrix has {count:,} cells, replicates included",
            advice=f"at most {CELLS:,} are planned at once: use fewer replicates",
        )


def block(combination: Combination, matrix: Matrix) -> tuple[MatrixCell, ...]:
    """Return the cells of a combination, at no position yet. Raises UserError as `run` with the
    same flags does.

    The name of the block, as `PROVIDER/us-east-1/m5.large/gp2-20GiB/default`, is not unique: blocks
    that differ only in fields outside it share it. What limits count by is provider and region; for
    machines that are not rented the machine itself, since it runs one trial at a time.
    """
    fields = dict(combination.fields)
    provider = fields.get("provider")
    if provider is None:
        raise InvalidValue(
            "no provider is named", advice="add `provider: NAME`, one of `diskbench providers`"
        )
    zones = _zones(fields)
    if matrix.limits.until_ci is not None:
        fields["replicates"] = matrix.limits.max_replicates
    of = plugin(provider)
    made = _cells_of(of, fields, zones, matrix)
    route = fields.get("route") or matrix.route
    place = fields.get(of.place_option)
    zone = fields.get("zone") or next(iter(fields.get("zones") or ()), None)
    if place is None and zone is not None:
        place = of.region_of(zone)
    parts = [fields.get(n) for n in ("provider", "region", "instance_type", "host")]
    name = "/".join(str(p) for p in (*parts, _disk_name(fields), _load_name(fields)) if p)
    shared: dict[str, Any] = {
        "block": name,
        "zones": zones,
        "route": f"{provider}/{route}" if route else provider,
        "partition": f"{provider}/{place}" if place else provider,
    }
    return tuple(
        MatrixCell(position=0, key=f"{name}#{cell.replicate}", cell=cell, **shared) for cell in made
    )


def duplicates(blocks: Iterable[Block]) -> Iterator[tuple[Block, Block]]:
    """Yield pairs of blocks that measure the same."""
    first_of: dict[object, Block] = {}
    for later in blocks:
        one = later[1][0]
        measured = one.cell, one.zones, one.route
        if measured in first_of:
            yield first_of[measured], later
        first_of.setdefault(measured, later)


def _with_own_names(blocks: Sequence[tuple[MatrixCell, ...]]) -> list[MatrixCell]:
    """All cells; blocks of one name are told apart by what they measure."""
    often = Counter(first.block for first, *_ in blocks)
    cells: list[MatrixCell] = []
    for block_ in blocks:
        first, name = block_[0], block_[0].block
        if often[name] > 1:
            identity = f"{first.cell.model_dump_json()}{first.zones}{first.route}"
            name += f"~{hashlib.sha256(identity.encode()).hexdigest()[:6]}"
        for cell in block_:
            change = {"block": name, "key": f"{name}#{cell.cell.replicate}"}
            cells.append(cell if name == cell.block else cell.model_copy(update=change))
    return cells


def _cells_of(
    of: Plugin, fields: Mapping[str, Any], zones: tuple[str, ...], matrix: Matrix
) -> tuple[Cell, ...]:
    host = fields.get("host")
    tags = {**(matrix.tags if of.takes_tags else {}), **(fields.get("tags") or {})}
    options = {"host": [host] if host else None, "zone": next(iter(zones), None)}
    rent = rent_spec(of, {**fields, **options, "tag": pairs(tags) or None})
    path = fields.get("path")
    if path is not None and not rent and not path.startswith("/"):
        raise InvalidValue(
            f"path {path!r} is relative, and a cell may run in any directory",
            advice="give an absolute one",
            field="path",
        )
    labels = {**matrix.labels, **(fields.get("labels") or {})}
    return cells(of, {**fields, "labels": labels}, rent)


def _zones(fields: Mapping[str, Any]) -> tuple[str, ...]:
    zone, zones = fields.get("zone"), fields.get("zones")
    if zone is not None and zones is not None:
        raise InvalidValue(
            f"both zone {zone} and zones {', '.join(zones)} are given",
            advice="leave one out",
            field="zone",
        )
    if zones is not None and len(set(zones)) < len(zones):
        raise InvalidValue(
            f"zones {', '.join(zones)} name one twice", advice="name each once", field="zones"
        )
    return zones or ((zone,) if zone is not None else ())


def _disk_name(fields: Mapping[str, Any]) -> str:
    own = {option.name: option.in_key for option in own_options(fields["provider"])}
    kinds = ("disk", *(name for name, how in own.items() if how == "disk"), "path", "device")
    words = [str(fields[n]).strip("/").replace("/", "-") for n in kinds if n in fields]
    for name, unit in (("size", "GiB"), ("iops", "iops"), ("throughput", "MBps")):
        if name in fields:
            words.append(f"{fields[name]:g}{unit}")
    words += [f"x{fields['count']}"] if fields.get("count", 1) > 1 else []
    words += [as_typed(fields[n]) for n, how in own.items() if how == "value" and n in fields]
    others = fields.keys() - _NAMED - _UNNAMED
    options = pairs({name: fields[name] for name in others if own.get(name, "pair") == "pair"})
    return ",".join(["-".join(words), *sorted(options)])


def _load_name(fields: Mapping[str, Any]) -> str:
    profile = PurePosixPath(fields.get("profile") or DEFAULT_PROFILE).name
    words = [profile.removesuffix(".j2").removesuffix(".fio")]
    words += [f"runs={fields['runs']}"] if fields.get("runs", 1) > 1 else []
    words += [fields["filesystem"]] if "filesystem" in fields else []
    return ",".join([*words, *sorted(pairs(fields.get("parameters") or {}))])


def machine_name(cell: MatrixCell) -> str | None:
    """Return the name of the machine that the cell may share, equal for all cells that may share
    it; None if the machine is not rented.

    Cells share a machine if everything that defines it is equal: region and zones, account, route,
    type, image and network. `PROVIDER/us-east-1/m5.large~1f0c3a`
    """
    spec = cell.cell.rent
    if spec is None:
        return None
    machine_options = {
        group: {name: value for name, value in values.items() if name not in disk_options(group)}
        for group, values in spec.groups().items()
    }
    machine = spec.model_copy(update=_DISK).with_groups(machine_options)
    identity = f"{machine.model_dump_json()}{cell.zones}{cell.route}{cell.partition}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:6]
    return f"{'/'.join(filter(None, (cell.partition, spec.instance_type)))}~{digest}"


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

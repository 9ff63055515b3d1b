"""From a matrix to its cells: pure. Each is the cell that `run` with the same flags makes."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from diskbench.errors import InvalidValue
from diskbench.limits import CELLS
from diskbench.model.matrix import MatrixCell
from diskbench.model.options import own_options
from diskbench.plan.cells import Request, cells
from diskbench.plan.combinations import combinations
from diskbench.plan.machines import machine_name
from diskbench.plan.order import ordered
from diskbench.plan.rent_options import rent_spec, takes_host
from diskbench.plugins import plugin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from diskbench.model.matrix import Matrix
    from diskbench.model.spec import Cell
    from diskbench.plan.combinations import Combination

DEFAULT_PROFILE = "default"
"""The profile of `run` where none is named."""

_NAMED = frozenset({
    "provider", "region", "instance_type", "host", "disk", "path", "device", "size", "iops",
    "throughput", "count", "profile", "parameters", "runs", "filesystem", "replicates",
})  # fmt: skip
"""Fields that have a place of their own in a key."""
_UNNAMED = frozenset({
    "zones", "labels", "promise", "route", "if_busy", "destroy_data", "subnet", "security_group",
    "ssh_cidr", "endpoint_url", "stripe",
})  # fmt: skip
"""Fields that say how a machine is reached or paid: they stand in no key."""


@dataclass(frozen=True)
class Block:
    """What is compared with other blocks: a combination as cells, one a replicate. `name` is
    readable; blocks that differ in what no name tells have the same one."""

    combination: Combination
    cells: tuple[Cell, ...]
    name: str
    zones: tuple[str, ...]
    route: str
    partition: str

    @property
    def identity(self) -> object:
        """Equal for blocks that measure the same."""
        return self.cells[0], self.zones, self.route


def expand(matrix: Matrix, *, seed: int) -> tuple[MatrixCell, ...]:
    """All cells in the order in which they begin.

    Raises InvalidValue or UnknownName for what no flags of `run` can mean, and for a cell that is
    there twice. Whether a provider has such a disk is for the provider to say.
    """
    chosen = combinations(matrix)
    check_cells(chosen, matrix)
    blocks = [block(one, matrix) for one in chosen]
    for first, second in duplicates(blocks):
        raise InvalidValue(
            f"{first.name} is there twice ({_place(first)} and {_place(second)})",
            advice="use `replicates` to repeat a cell, or leave one of them out",
        )
    found = _matrix_cells(blocks)
    if matrix.reuse_host:
        found = [one.model_copy(update={"machine": machine_name(one)}) for one in found]
    return ordered(found, matrix.order, seed)


def check_cells(chosen: Iterable[Combination], matrix: Matrix) -> None:
    """Raise InvalidValue for more cells than are planned at once, before any is made."""
    most = matrix.limits.max_replicates if matrix.limits.until_ci is not None else None
    count = sum(most or one.fields.get("replicates") or 1 for one in chosen)
    if count > CELLS:
        raise InvalidValue(
            f"the matrix has {count:,} cells, replicates included",
            advice=f"at most {CELLS:,} are planned at once: use fewer replicates",
        )


def block(combination: Combination, matrix: Matrix) -> Block:
    """The cells of a combination. Raises UserError as `run` with the same flags does."""
    fields = dict(combination.fields)
    provider = fields.get("provider")
    if provider is None:
        raise InvalidValue(
            "no provider is named", advice="add `provider: NAME`, one of `diskbench providers`"
        )
    zones = _zones(fields)
    if matrix.limits.until_ci is not None:
        fields["replicates"] = matrix.limits.max_replicates
    made = cells(_request(fields, zones, matrix.labels))
    route = fields.get("route") or matrix.route
    return Block(
        combination=combination,
        cells=made,
        name=_name(fields),
        zones=zones,
        route=f"{provider}/{route}" if route else provider,
        partition=_partition(fields),
    )


def duplicates(blocks: Iterable[Block]) -> Iterable[tuple[Block, Block]]:
    """Pairs of blocks that measure the same."""
    seen: dict[object, Block] = {}
    for one in blocks:
        if one.identity in seen:
            yield seen[one.identity], one
        seen.setdefault(one.identity, one)


def _matrix_cells(blocks: Iterable[Block]) -> list[MatrixCell]:
    blocks = list(blocks)
    often = Counter(one.name for one in blocks)
    found: list[MatrixCell] = []
    for one in blocks:
        name = one.name if often[one.name] == 1 else f"{one.name}~{_digest(one)}"
        for cell in one.cells:
            found.append(
                MatrixCell(
                    position=len(found),
                    key=f"{name}#{cell.replicate}",
                    block=name,
                    cell=cell,
                    zones=one.zones,
                    route=one.route,
                    partition=one.partition,
                )
            )
    return found


def _request(
    fields: Mapping[str, Any], zones: tuple[str, ...], labels: Mapping[str, Any]
) -> Request:
    provider, host = fields["provider"], fields.get("host")
    options = {**fields, "host": [host] if host else None, "zone": zones[0] if zones else None}
    rent = rent_spec(provider, options)
    path = fields.get("path")
    if path is not None and not rent and not path.startswith("/"):
        raise InvalidValue(
            f"path {path!r} is relative, and a cell may run in any directory",
            advice="give an absolute one",
            field="path",
        )
    promise = fields.get("promise")
    return Request(
        provider=provider,
        profile=fields.get("profile") or DEFAULT_PROFILE,
        hosts=() if host is None or takes_host(provider) else (host,),
        path=path,
        device=fields.get("device"),
        destroy_data=fields.get("destroy_data"),
        size_gib=None if rent else fields.get("size"),
        filesystem=fields.get("filesystem"),
        rent=rent,
        parameters=_pairs(fields.get("parameters") or {}),
        labels=_pairs({**labels, **(fields.get("labels") or {})}),
        runs=fields.get("runs") or 1,
        replicates=fields.get("replicates") or 1,
        promise=",".join(_pairs(promise.model_dump(exclude_none=True))) if promise else None,
        if_busy=fields.get("if_busy") or "wait",
    )


def _pairs(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{key}={_text(value)}" for key, value in values.items())


def _text(value: object) -> str:
    """A value as it would be typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


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


def _partition(fields: Mapping[str, Any]) -> str:
    """What limits count by: the provider and its region; for machines that are there, the machine,
    since it measures one thing at a time."""
    provider = fields["provider"]
    known = plugin(provider)
    place = fields.get(known.place_option)
    zone = fields.get("zone") or next(iter(fields.get("zones") or ()), None)
    if place is None and zone is not None:
        place = known.region_of(zone)
    return f"{provider}/{place}" if place else provider


def _name(fields: Mapping[str, Any]) -> str:
    """`PROVIDER/us-east-1/m5.large/gp2-20GiB/default`: what is not given is left out."""
    parts = [fields.get(n) for n in ("provider", "region", "instance_type", "host")]
    return "/".join(str(part) for part in (*parts, _disk_name(fields), _load_name(fields)) if part)


def _disk_name(fields: Mapping[str, Any]) -> str:
    own = {one.name: one.in_key for one in own_options(fields["provider"])}
    kinds = ("disk", *(name for name, how in own.items() if how == "disk"), "path", "device")
    words = [str(fields[n]).strip("/").replace("/", "-") for n in kinds if n in fields]
    for name, unit in (("size", "GiB"), ("iops", "iops"), ("throughput", "MBps")):
        if name in fields:
            words.append(f"{fields[name]:g}{unit}")
    words += [f"x{fields['count']}"] if fields.get("count", 1) > 1 else []
    words += [_text(fields[name]) for name, how in own.items() if how == "value" and name in fields]
    other = [
        f"{name}={_text(value)}"
        for name, value in fields.items()
        if name not in _NAMED | _UNNAMED and own.get(name, "pair") == "pair"
    ]
    return ",".join(["-".join(words), *sorted(other)])


def _load_name(fields: Mapping[str, Any]) -> str:
    profile = PurePosixPath(fields.get("profile") or DEFAULT_PROFILE).name
    words = [profile.removesuffix(".j2").removesuffix(".fio")]
    words += [f"runs={fields['runs']}"] if fields.get("runs", 1) > 1 else []
    words += [fields["filesystem"]] if "filesystem" in fields else []
    return ",".join([*words, *sorted(_pairs(fields.get("parameters") or {}))])


def _digest(one: Block) -> str:
    told = f"{one.cells[0].model_dump_json()}{one.zones}{one.route}"
    return hashlib.sha256(told.encode()).hexdigest()[:6]


def _place(one: Block) -> str:
    return ".".join(str(part) for part in one.combination.at)

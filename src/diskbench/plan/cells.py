"""Typed flags to cells, one per host and replicate, and the target that they name: the only place
that a run may write to. Pure; every error names the bad value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.fio.options import ALLOWABLE
from diskbench.limits import CELLS, REPLICATES, RUNS
from diskbench.model.expectation import Promise
from diskbench.model.matrix import DEFAULT_PROFILE
from diskbench.model.options import RentSpec, takes_host
from diskbench.model.spec import Cell, Filesystem, NamedDisk, TargetSpec
from diskbench.model.threshold import Threshold
from diskbench.plan.rent_options import field_of, key_values
from diskbench.plugins import plugin, plugins
from diskbench.units import GIB, parse_duration_s

_LONGEST_WAIT_S = 30 * 86400
"""The longest time that --if-busy accepts; for longer ones there is `wait`. Our choice."""
_LABEL_KEY = re.compile(r"^[A-Za-z0-9_.-]{1,64}$")


@dataclass(frozen=True)
class Request:
    """The flags of one `diskbench run` as typed, before anything is looked up."""

    provider: str
    profile: str
    hosts: Sequence[str] = ()
    path: str | None = None
    devices: Sequence[str] = ()
    identities: Sequence[str] = ()
    size_gib: float | None = None
    filesystem: str | None = None
    rent: RentSpec | None = None
    parameters: Sequence[str] = ()
    labels: Sequence[str] = ()
    runs: int = 1
    replicates: int = 1
    promise: str | None = None
    if_busy: str = "wait"
    fail_if: Sequence[str] = ()
    allow: Sequence[str] = ()
    ask_metadata: bool = False


def request_of(fields: Mapping[str, Any], rent: RentSpec | None) -> Request:
    """The request that the fields of a cell (model/matrix.py) make: those of a matrix, or the flags
    of a command line, which hold lists and texts where a matrix has single values and mappings."""
    asked = {name: value for name, value in fields.items() if value is not None}
    provider = asked["provider"]
    promise = asked.get("promise")
    return Request(
        provider=provider,
        profile=asked.get("profile", DEFAULT_PROFILE),
        hosts=() if takes_host(provider) else _several(asked.get("host")),
        path=asked.get("path"),
        devices=_several(asked.get("device")),
        identities=_several(asked.get("destroy_data")),
        size_gib=None if rent else asked.get("size"),
        filesystem=asked.get("filesystem"),
        rent=rent,
        parameters=_several(asked.get("parameters")),
        labels=_several(asked.get("labels")),
        runs=asked.get("runs", 1),
        replicates=asked.get("replicates", 1),
        promise=",".join(pairs(promise.model_dump(exclude_none=True)))
        if isinstance(promise, Promise)
        else promise,
        if_busy=asked.get("if_busy", "wait"),
        fail_if=_several(asked.get("fail_if")),
        allow=_several(asked.get("allow")),
        ask_metadata=bool(asked.get("ask_metadata")),
    )


def _several(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - what a field holds
    if isinstance(value, str):
        return (value,)
    return pairs(value) if isinstance(value, Mapping) else tuple(value or ())


def pairs(values: Mapping[str, Any]) -> tuple[str, ...]:
    """A mapping as `key=value` texts."""
    return tuple(f"{key}={as_typed(value)}" for key, value in values.items())


def as_typed(value: object) -> str:
    """Return a value as the user would type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def cells(request: Request) -> tuple[Cell, ...]:
    """Return the cells of a request. Raises InvalidValue for flags that contradict each other."""
    for name, count in (("--runs", request.runs), ("--replicates", request.replicates)):
        if count < 1:
            raise InvalidValue(
                f"{name} {count} measures nothing", advice="give 1 or more", field=field_of(name)
            )
    for name, count, most in (
        ("--runs", request.runs, RUNS),
        ("--replicates", request.replicates, REPLICATES),
    ):
        if count > most:
            raise InvalidValue(
                f"{name} {count:,} is more than diskbench plans",
                advice=f"at most {most:,}",
                field=field_of(name),
            )
    if (count := request.replicates * max(len(request.hosts), 1)) > CELLS:
        raise InvalidValue(
            f"{count:,} trials ({request.replicates:,} replicates of {len(request.hosts):,} hosts)",
            advice=f"at most {CELLS:,} are planned at once",
            field="replicates",
        )
    twice = {host for host in request.hosts if list(request.hosts).count(host) > 1}
    if twice:
        raise InvalidValue(
            f"--host {sorted(twice)[0]} is given twice",
            advice="a host measures one thing at a time; use --runs to repeat",
            field="host",
        )
    target = requested_target(request)
    parameters = key_values("--set", request.parameters)
    labels = key_values("--label", request.labels)
    promised = promise(request)
    busy = if_busy(request.if_busy)
    conditions = tuple(map(fail_if, request.fail_if))
    allowed = allowed_options(
        request.allow,
        provider=request.provider,
        host=request.hosts[0] if request.hosts else None,
        rents=request.rent is not None,
    )
    for key, _ in labels:
        if not _LABEL_KEY.match(key):
            raise InvalidValue(
                f"label key {key!r} holds something other than letters, digits, '_', '.' and '-'",
                field="labels",
            )
    return tuple(
        Cell(
            provider=request.provider,
            address=host,
            target=target,
            rent=request.rent,
            profile=request.profile,
            parameters=parameters,
            runs=request.runs,
            replicate=replicate,
            labels=labels,
            promise=promised,
            if_busy=busy,
            fail_if=conditions,
            allowed=allowed,
            ask_metadata=request.ask_metadata,
        )
        for replicate in range(request.replicates)
        for host in (request.hosts or (None,))
    )


def allowed_options(
    options: Sequence[str], *, provider: str, host: str | None, rents: bool
) -> tuple[str, ...]:
    """Return the options that `--allow` names, each once.

    Raises InvalidValue where the machine is rented or reached over SSH: others may use it, or are
    answerable for what runs there. Raises UnknownName for an option that cannot be allowed.
    """
    for option in options:
        if option not in ALLOWABLE:
            raise UnknownName("option to allow", option, ALLOWABLE, field="profile")
    if options and (rents or host is not None):
        where = (
            f"the machine of --provider {provider} is rented"
            if rents
            else f"{host} may be shared with other users"
        )
        raise InvalidValue(
            f"--allow {options[0]}: {where}; it is allowed only on this machine",
            advice=f"run diskbench on the machine itself, or take {options[0]} out of the job file",
            field="profile",
        )
    return tuple(dict.fromkeys(options))


def fail_if(text: str) -> Threshold:
    """Return the threshold of `--fail-if 'p99 > 10ms'`. Raises InvalidValue."""
    try:
        return Threshold.failing(text)
    except ValueError as error:
        raise InvalidValue(
            f"--fail-if {error}",
            advice="write [STEP:] [DIRECTION] METRIC < or > NUMBER[UNIT]: 'p99 > 10ms', "
            "'ratio < 0.9', 'rand-read-4k-qd32: iops < 2900'",
            field="fail_if",
        ) from None


def if_busy(text: str) -> str:
    """Return `--if-busy` as a cell stores it: wait, fail, share, or whole seconds."""
    if text in ("wait", "fail", "share"):
        return text
    try:
        seconds = parse_duration_s(text)
    except UserError:
        seconds = -1.0
    if not 1 <= seconds <= _LONGEST_WAIT_S:
        raise InvalidValue(
            f"--if-busy {text!r} is not wait, fail, share or a time",
            advice="wait until the disk is free, fail at once, share the disk (the result "
            "then has a doubt), or wait for a limited time: 30m",
            field="if_busy",
        )
    return f"{seconds:.0f}"


def promise(request: Request) -> Promise | None:
    """Return the promise of `--promise iops=5000,mb_per_s=100`. Raises InvalidValue."""
    text = request.promise
    if text is None:
        return None
    if not plugin(request.provider).promise_by_owner:
        raise InvalidValue(
            f"--promise cannot be used with --provider {request.provider}: its catalogue promises",
            advice=f"it is for {', '.join(p.name for p in plugins() if p.promise_by_owner)}",
            field="promise",
        )
    return read_promise(text)


def read_promise(text: str) -> Promise:
    """Parse `iops=5000,io_kib=32,mb_per_s=100`. Raises InvalidValue."""
    figures = key_values("--promise", text.split(","))
    try:
        read = {key: float(value) for key, value in figures}
        if any(not 0 < value < math.inf for value in read.values()):
            raise ValueError
        promised = Promise.model_validate(read)
        if read.keys() - Promise.model_fields.keys():
            raise ValueError
    except ValueError:
        raise InvalidValue(
            f"--promise {text!r} is not a promise of IOPS or MB/s",
            advice="write for example --promise iops=5000,mb_per_s=100; io_kib=32 beside iops says "
            "that a request above 32 KiB counts as several I/Os",
            field="promise",
        ) from None
    if promised.io_kib is not None and promised.iops is None:
        raise InvalidValue(
            f"--promise {text!r}: io_kib says how I/Os are counted, and no iops are promised",
            advice="add iops=N, or leave io_kib out",
            field="promise",
        )
    return promised


ROOT = "root"
"""The disk that a machine boots from: measured through a file only."""
NEW_DEVICE, NEW_DIRECTORY = "/dev/new-disk", "/new-disk"
"""The placeholder name of a disk in a draft plan, before the disk exists."""
SMALL_GIB = 4
"""Profiles use 4 GiB by default. On a new disk of at most that size they use seven eighths, which
leaves room for a filesystem; our choice."""
FILESYSTEMS: tuple[Filesystem, ...] = ("none", "ext4", "xfs")


def requested_target(request: Request) -> TargetSpec:
    """Return the target of a request. Raises InvalidValue for flags that contradict each other."""
    return _rented_target(request) if request.rent else _target_spec(request)


def _rented_target(request: Request) -> TargetSpec:
    """Return the target on a rented machine: the rented disk, whose name is known once it is
    attached. Raises InvalidValue if the user typed a target."""
    for flag, value in (
        ("--path", request.path),
        ("--device", next(iter(request.devices), None)),
        ("--destroy-data", next(iter(request.identities), None)),
        ("--host", request.hosts[0] if request.hosts else None),
    ):
        if value:
            raise InvalidValue(
                f"{flag} {value} cannot be used with --provider {request.provider}, which makes "
                "its own machine and disk",
                advice="leave it out, or measure a machine of yours with --provider ssh",
                field=field_of(flag),
            )
    rent = request.rent
    of_root = rent is not None and rent.disk == ROOT
    size_gib = rent.size_gib if rent else None
    others = () if of_root else _new_disks(rent)
    small = size_gib is not None and size_gib <= SMALL_GIB
    return TargetSpec(
        kind="directory" if of_root else "device",
        path=NEW_DIRECTORY if of_root else (f"{NEW_DEVICE}-1" if others else NEW_DEVICE),
        others=others,
        size_bytes=size_gib * GIB * 7 // 8 if small and size_gib else None,
        filesystem=_filesystem(request.filesystem),
    )


def _new_disks(rent: RentSpec | None) -> tuple[NamedDisk, ...]:
    """The placeholders of further rented disks, each measured as a device of its own."""
    if rent is None or rent.stripe:
        return ()
    return tuple(NamedDisk(path=f"{NEW_DEVICE}-{number}") for number in range(2, rent.count + 1))


def _target_spec(request: Request) -> TargetSpec:
    """Return the target that may be written to; for a device the user must type its identity."""
    if request.path and request.devices:
        raise InvalidValue(
            f"both --path {request.path} and --device {request.devices[0]} are given",
            advice="measure one of them",
            field="path",
        )
    filesystem = _filesystem(request.filesystem)
    size_bytes = _size_bytes(request.size_gib)
    if request.devices:
        first, *others = _named_disks(request)
        return TargetSpec(
            kind="device",
            path=first.path,
            destroy_data=first.destroy_data,
            others=tuple(others),
            size_bytes=size_bytes,
            filesystem=filesystem,
        )
    if request.identities:
        raise InvalidValue(
            "--destroy-data goes with --device",
            advice="leave it out to measure in a directory",
            field="destroy_data",
        )
    if not request.path:
        raise InvalidValue(
            "nothing to measure is named",
            advice="name a directory, a machine or a disk to rent, such as\n"
            "    diskbench run --profile quick --path /mnt/disk\n"
            "    diskbench run --host user@host --path /mnt/disk\n"
            "    diskbench run --provider NAME --disk TYPE --size 100",
        )
    return TargetSpec(
        kind="directory",
        path=request.path,
        size_bytes=size_bytes,
        filesystem=filesystem,
    )


def _named_disks(request: Request) -> list[NamedDisk]:
    """Each --device with its --destroy-data, in order. Raises InvalidValue."""
    devices, identities = request.devices, request.identities
    if len(identities) < len(devices) or not all(identities):
        raise InvalidValue(
            f"measuring {devices[min(len(identities), len(devices) - 1)]} destroys all data on it",
            advice="find its identity with 'diskbench devices' and add --destroy-data IDENTITY",
            field="device",
        )
    if len(identities) > len(devices):
        raise InvalidValue(
            f"{len(identities)} identities are given for {len(devices)} devices",
            advice="give one --destroy-data for each --device, in the same order",
            field="destroy_data",
        )
    twice = next((path for path in devices if list(devices).count(path) > 1), None)
    if twice is not None:
        raise InvalidValue(
            f"--device {twice} is given twice", advice="name each disk once", field="device"
        )
    return [
        NamedDisk(path=path, destroy_data=identity)
        for path, identity in zip(devices, identities, strict=True)
    ]


def _size_bytes(size_gib: float | None) -> int | None:
    if size_gib is None:
        return None
    if not 0 < size_gib < 2**20:
        raise InvalidValue(
            f"--size {size_gib:g} is not a size",
            advice="give GiB, more than 0: --size 20, --size 0.5",
            field="size",
        )
    return int(size_gib * GIB)


def _filesystem(name: str | None) -> Filesystem | None:
    for known in FILESYSTEMS:
        if name == known:
            return known
    if name is None:
        return None
    raise InvalidValue(
        f"unknown filesystem {name!r}",
        advice=f"known: {', '.join(FILESYSTEMS)}",
        field="filesystem",
    )

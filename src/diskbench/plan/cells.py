"""Typed flags to cells, one per host and replicate, and the target that they name: the only place
that a run may write to. Pure; every error names the bad value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diskbench.errors import InvalidValue, check_known
from diskbench.fio.options import ALLOWABLE
from diskbench.limits import CELLS, REPLICATES, RUNS
from diskbench.model.expectation import Promise
from diskbench.model.matrix import DEFAULT_PROFILE, CellFields
from diskbench.model.options import RentSpec, options_of_model
from diskbench.model.spec import Cell, Filesystem, NamedDisk, TargetSpec
from diskbench.plan.rent_options import key_values
from diskbench.plugin import Plugin, plugins
from diskbench.units import GIB, counted, field_of

if TYPE_CHECKING:
    from diskbench.fio.profiles import Profile

_LABEL_KEY = re.compile(r"^[A-Za-z0-9_.-]{1,64}$")


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


def cells(
    plugin: Plugin, fields: Mapping[str, Any], rent: RentSpec | None = None
) -> tuple[Cell, ...]:
    """Return the cells that fields of a cell (model/matrix.py) and `rent` say: those of a matrix,
    or the flags of a command line, which hold lists and texts where a matrix has single values and
    mappings. Raises InvalidValue for fields that contradict each other."""
    asked = {name: value for name, value in fields.items() if value is not None}
    # A host is the address of a machine that is there, or an option of the provider's own.
    hosts = () if plugin.rents else _several(asked.get("host"))
    replicates = asked.get("replicates", 1)
    for name, count, most in (
        ("--runs", asked.get("runs", 1), RUNS),
        ("--replicates", replicates, REPLICATES),
    ):
        if not 1 <= count <= most:
            raise InvalidValue(
                f"{name} {count} measures nothing"
                if count < 1
                else f"{name} {count:,} is more than diskbench plans",
                advice="give 1 or more" if count < 1 else f"at most {most:,}",
                field=field_of(name),
            )
    if (count := replicates * max(len(hosts), 1)) > CELLS:
        raise InvalidValue(
            f"{count:,} trials ({replicates:,} replicates of {len(hosts):,} hosts)",
            advice=f"at most {CELLS:,} are planned at once",
            field="replicates",
        )
    if twice := {host for host in hosts if hosts.count(host) > 1}:
        raise InvalidValue(
            f"--host {min(twice)} is given twice",
            advice="a host measures one thing at a time; use --runs to repeat",
            field="host",
        )
    labels = key_values("--label", _several(asked.get("labels")))
    for key, _ in labels:
        if not _LABEL_KEY.match(key):
            raise InvalidValue(
                f"label key {key!r} holds something other than letters, digits, '_', '.' and '-'",
                field="labels",
            )
    same = {name: value for name, value in asked.items() if name in Cell.model_fields}
    allowed = _several(asked.get("allow"))
    made = Cell.model_validate(
        {
            **same,
            "provider": plugin.name,
            "target": requested_target(asked, rent),
            "rent": rent,
            "profile": asked.get("profile", DEFAULT_PROFILE),
            "parameters": key_values("--set", _several(asked.get("parameters"))),
            "labels": labels,
            "promise": _promise(asked.get("promise"), plugin),
            **{
                option.name: option.read(asked[option.name])
                for option in options_of_model(CellFields)
                if option.read and option.name in asked
            },
            "allowed": allowed_options(
                allowed, provider=plugin.name, host=next(iter(hosts), None), rents=plugin.rents
            ),
        }
    )
    return tuple(
        made.model_copy(update={"address": host, "replicate": replicate})
        for replicate in range(replicates)
        for host in (hosts or (None,))
    )


def allowed_options(
    options: Sequence[str], *, provider: str, host: str | None, rents: bool
) -> tuple[str, ...]:
    """Return the options that `--allow` names, each once.

    Raises InvalidValue where the machine is rented or reached over SSH: others may use it, or are
    answerable for what runs there. Raises UnknownName for an option that cannot be allowed.
    """
    for option in options:
        check_known("option to allow", option, ALLOWABLE, field="profile")
    if options and (rents or host is not None):
        shared = f"{host} may be shared with other users"
        where = f"the machine of --provider {provider} is rented" if rents else shared
        raise InvalidValue(
            f"--allow {options[0]}: {where}; it is allowed only on this machine",
            advice=f"run diskbench on the machine itself, or take {options[0]} out of the job file",
            field="profile",
        )
    return tuple(dict.fromkeys(options))


def _promise(stated: Promise | str | None, plugin: Plugin) -> Promise | None:
    """Return the promise of `--promise iops=5000,mb_per_s=100`. Raises InvalidValue."""
    if stated is None:
        return None
    if not plugin.promise_by_owner:
        raise InvalidValue(
            f"--promise cannot be used with --provider {plugin.name}: its catalogue has the limits",
            advice=f"it is for {', '.join(p.name for p in plugins() if p.promise_by_owner)}",
            field="promise",
        )
    if isinstance(stated, Promise):
        stated = ",".join(pairs(stated.model_dump(exclude_none=True)))
    return read_promise(stated)


def read_promise(text: str) -> Promise:
    """Parse `iops=5000,io_kib=32,mb_per_s=100`. Raises InvalidValue."""
    figures = key_values("--promise", text.split(","))
    try:
        read = {key: float(value) for key, value in figures}
        promised = Promise.model_validate(read)
        if not all(key in Promise.model_fields and n < math.inf for key, n in read.items()):
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
            f"--promise {text!r}: io_kib says how I/Os are counted, but no iops are promised",
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


def requested_target(asked: Mapping[str, Any], rent: RentSpec | None) -> TargetSpec:
    """Return the target of a cell: the rented disk, whose name is known once it is attached, or
    what may be written to. Raises InvalidValue for fields that contradict each other."""
    if rent is None:
        return _target_spec(asked)
    of_root = rent.disk == ROOT
    # Each further disk is measured as a device of its own.
    further = () if of_root or rent.stripe else range(2, rent.count + 1)
    others = tuple(NamedDisk(path=f"{NEW_DEVICE}-{number}") for number in further)
    small = rent.size_gib is not None and rent.size_gib <= SMALL_GIB
    return TargetSpec(
        kind="directory" if of_root else "device",
        path=NEW_DIRECTORY if of_root else (f"{NEW_DEVICE}-1" if others else NEW_DEVICE),
        others=others,
        size_bytes=rent.size_gib * GIB * 7 // 8 if small and rent.size_gib else None,
        filesystem=_filesystem(asked.get("filesystem")),
    )


def _target_spec(asked: Mapping[str, Any]) -> TargetSpec:
    """Return the target that may be written to; for a device the user must type its identity."""
    path, devices = asked.get("path"), _several(asked.get("device"))
    identities = _several(asked.get("destroy_data"))
    if path and devices:
        raise InvalidValue(
            f"both --path {path} and --device {devices[0]} are given",
            advice="measure one of them",
            field="path",
        )
    filesystem, size_gib = _filesystem(asked.get("filesystem")), asked.get("size")
    if size_gib is not None and not 0 < size_gib < 2**20:
        raise InvalidValue(
            f"--size {size_gib:g} is not a size",
            advice="give GiB, more than 0: --size 20, --size 0.5",
            field="size",
        )
    size_bytes = None if size_gib is None else int(size_gib * GIB)
    if devices:
        first, *others = _named_disks(devices, identities)
        return TargetSpec(
            kind="device",
            path=first.path,
            destroy_data=first.destroy_data,
            others=tuple(others),
            size_bytes=size_bytes,
            filesystem=filesystem,
        )
    if identities:
        raise InvalidValue(
            "--destroy-data goes with --device",
            advice="leave it out to measure in a directory",
            field="destroy_data",
        )
    if not path:
        raise InvalidValue(
            "no target is given",
            advice="give a directory, a machine or a disk to rent, such as\n"
            "    diskbench run --profile quick --path /mnt/disk\n"
            "    diskbench run --host user@host --path /mnt/disk\n"
            "    diskbench run --provider NAME --disk TYPE --size 100",
        )
    return TargetSpec(kind="directory", path=path, size_bytes=size_bytes, filesystem=filesystem)


def _named_disks(devices: Sequence[str], identities: Sequence[str]) -> list[NamedDisk]:
    """Each --device with its --destroy-data, in order. Raises InvalidValue."""
    if len(identities) < len(devices) or not all(identities):
        raise InvalidValue(
            f"measuring {devices[min(len(identities), len(devices) - 1)]} destroys all data on it",
            advice="find its identity with 'diskbench devices' and add --destroy-data IDENTITY",
            field="device",
        )
    if len(identities) > len(devices):
        raise InvalidValue(
            f"{len(identities)} identities are given for {counted(len(devices), 'device')}",
            advice="give one --destroy-data for each --device, in the same order",
            field="destroy_data",
        )
    twice = next((path for path in devices if list(devices).count(path) > 1), None)
    if twice is not None:
        raise InvalidValue(
            f"--device {twice} is given twice", advice="name each disk once", field="device"
        )
    named = zip(devices, identities, strict=True)
    return [NamedDisk(path=path, destroy_data=identity) for path, identity in named]


def _filesystem(name: str | None) -> Filesystem | None:
    known = next((known for known in FILESYSTEMS if known == name), None)
    if name and not known:
        raise InvalidValue(
            f"unknown filesystem {name!r}",
            advice=f"known: {', '.join(FILESYSTEMS)}",
            field="filesystem",
        )
    return known


def check_several(profile: Profile, cell: Cell) -> None:
    """Refuse several disks for a profile that names no device, so that only one would be measured.

    What a job file names is known once its variables are: fio/target.py compares the numbers
    when the trial is planned. Raises InvalidValue.
    """
    disks = 1 + len(cell.target.others)
    names = not profile.is_template or "/dev" in profile.template
    names = names or any(key == "filename" for key, _ in cell.parameters)
    if disks == 1 or names:
        return
    why = f"only one disk would be measured, since profile {profile.name!r} names no devices"
    field, asked = "device", f"--device is given {disks} times"
    advice = f"name one device, or give a job file that names {disks} (filename=)"
    if cell.rent is not None:
        field, asked = "count", f"--count {disks} without --stripe"
        advice = "add --stripe for one RAID 0 of them all, leave --count out, or give a job file "
        advice += f"that names {disks} devices (filename=)"
    raise InvalidValue(f"{asked}: {why}", advice=advice, field=field)

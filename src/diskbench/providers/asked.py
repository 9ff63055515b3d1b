"""Checks of a disk request that hold for every cloud, made before any call: pure."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from diskbench.catalog.shipped import catalogue
from diskbench.errors import InvalidValue
from diskbench.model.options import RentSpec, own_options
from diskbench.model.spec import Cell
from diskbench.plan.rent_options import flag, stored_name
from diskbench.plugin import Plugin
from diskbench.providers.error_table import refused
from diskbench.providers.networks import check_cidr, is_loopback
from diskbench.providers.options import EmulationOptions
from diskbench.units import field_of


def with_disk(spec: RentSpec | None, plugin: Plugin, *, example: str) -> tuple[RentSpec, str]:
    """Return the spec and the type of the disk that it asks for; `example` is shown where it asks
    for none. Raises InvalidValue, also for options that the provider does not take."""
    if spec is None or spec.disk is None:
        raise refused("no disk to rent", plugin=plugin, example=example)
    check_own(spec, plugin)
    return spec, spec.disk


def check_endpoint(spec: RentSpec, secrets: str) -> None:
    """Refuse an endpoint that is no URL of HTTP, one to which `secrets` would be sent in clear
    text, and the lab's options without an emulator. Raises InvalidValue."""
    if (url := spec.endpoint_url) is not None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise refused("no URL", url=url)
        if parts.scheme == "http" and not is_loopback(url):
            raise refused("secrets in the clear", url=url, secrets=secrets)
    emulated = url is not None and is_loopback(url)
    check_lab(spec, emulated=emulated, endpoint="http://127.0.0.1:PORT")


def size_asked(spec: RentSpec) -> int:
    """Return the size of the disk in GiB. Raises InvalidValue where none is given."""
    if spec.size_gib is None:
        raise refused("no size of the disk", disk=spec.disk)
    return spec.size_gib


def snapshot_option(spec: RentSpec) -> str | None:
    """The option, as typed, by which disks are made from a snapshot; None without one. Raises
    InvalidValue where both are given."""
    if spec.snapshot is None:
        return "--snapshot-of-fill" if spec.snapshot_of_fill else None
    if spec.snapshot_of_fill:
        raise refused("two snapshots", spec=spec)
    return f"--from-snapshot {spec.snapshot}"


def check_snapshot_kept(cell: Cell) -> None:
    """Refuse a filesystem on a disk that is made from a snapshot. Raises InvalidValue."""
    typed = snapshot_option(cell.rent) if cell.rent is not None else None
    if typed is not None and cell.target.filesystem is not None:
        raise refused("filesystem over a snapshot", cell=cell, typed=typed)


def check_own(spec: RentSpec, plugin: Plugin) -> None:
    """Refuse options of other providers, and common options without a meaning for this one: they
    would be ignored silently, and the result read as if they had applied. Raises InvalidValue."""
    groups = {option.group for option in own_options(plugin.name)}
    for group, values in spec.groups().items():
        if group not in groups:
            for name, value in values.items():
                words = f"{flag(name)} {value} cannot be used with --provider {plugin.name}"
                advice = f"only {group} has it: leave it out"
                raise InvalidValue(words, advice=advice, field=field_of(flag(name)))
    for name, advice in plugin.refuses.items():
        value = getattr(spec, stored_name(name))
        if value not in (None, False, ()):
            typed = f"{flag(stored_name(name))} {value}" if value is not True else f"--{name}"
            words = f"{typed} cannot be used with --provider {plugin.name}"
            raise InvalidValue(words, advice=advice, field=name)


def check_count(spec: RentSpec, most: int) -> None:
    """Refuse one disk with striping, and more disks than a machine takes. Raises InvalidValue."""
    if spec.stripe and spec.count < 2:
        raise refused("stripe over one disk")
    if spec.count > most:
        raise refused("too many disks", count=spec.count, most=most)


def check_one_root(spec: RentSpec) -> None:
    """Refuse several root disks. Raises InvalidValue."""
    if spec.count > 1:
        raise refused("several root disks", count=spec.count)


def refuse_options(values: Mapping[str, object], why: str, *, advice: str) -> None:
    """Refuse options that do not fit the disk: `values` has their values by flag, None where the
    option was not typed, and `why` follows the flag in the message. Raises InvalidValue."""
    for name, value in values.items():
        if value is not None:
            words = f"{value:g}" if isinstance(value, float) else str(value)
            typed = name if value is True else f"{name} {words}"
            raise InvalidValue(f"{typed} {why}", advice=advice, field=field_of(name))


def check_ssh(spec: RentSpec, subject: str) -> None:
    """Refuse an invalid network, and a network beside --security-group, which overrides it.
    `subject` is the user's group in the message: "your group is". Raises InvalidValue."""
    if spec.ssh_cidr is None:
        return
    check_cidr(spec.ssh_cidr)
    if spec.security_group is not None:
        raise refused("network beside a group", subject=subject)


def check_lab(spec: RentSpec, *, emulated: bool, endpoint: str) -> None:
    """Refuse the lab's options where the cloud is not emulated by the lab; `endpoint` is an example
    of an emulator's endpoint. Raises InvalidValue."""
    if spec.group(EmulationOptions.group) and not emulated:
        raise refused("options of the lab with real machines", endpoint=endpoint)


def whole_throughput(spec: RentSpec, unit: str) -> int | None:
    """The throughput to provision, in whole units, as clouds sell it; `unit` is the cloud's unit.

    Raises InvalidValue for a fraction: rounding would rent another disk than the one requested.
    """
    typed = spec.throughput_mib_per_s
    if typed is not None and typed != int(typed):
        raise refused("fraction of a throughput", typed=typed, unit=unit)
    return None if typed is None else int(typed)


def provisioned_types(cloud: str) -> tuple[str, ...]:
    """The disk types of a cloud whose IOPS or throughput the user chooses. Raises UnknownName."""
    return tuple(
        name
        for name, disk in catalogue(cloud).disks.items()
        if any(limit is not None and limit.provisioned for limit in (disk.iops, disk.throughput))
    )


def check_shared_machine(spec: RentSpec, *, is_apart: bool, apart: str) -> None:
    """Refuse a disk that comes with its machine, and a machine chosen by its disk, where cells with
    other disks share the machine; `apart` names the disks that can be attached to it ("volumes").
    Raises InvalidValue."""
    if spec.snapshot_of_fill:
        raise refused("snapshot on a shared machine")
    if not is_apart:
        raise refused("disk of a shared machine", disk=spec.disk, apart=apart)
    if spec.instance_type is None:
        raise refused("no shared machine", disk=spec.disk)

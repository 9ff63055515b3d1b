"""What holds of a disk asked of any cloud, before any call: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.entry import catalogue
from diskbench.errors import InvalidValue
from diskbench.model.options import own_options
from diskbench.plan.rent_flags import field_of, flag, stored_name
from diskbench.providers.emulation import EmulationOptions
from diskbench.providers.networks import check_cidr

if TYPE_CHECKING:
    from diskbench.model.rental import RentSpec
    from diskbench.plugin import Plugin


def check_own(spec: RentSpec, plugin: Plugin) -> None:
    """Refuse what only another provider understands, and common options that mean nothing to this
    one: they would be ignored, and the result be taken for one that heeded them. Raises
    InvalidValue."""
    groups = {one.group for one in own_options(plugin.name)}
    for group, values in spec.groups().items():
        if group not in groups:
            for name, value in values.items():
                raise InvalidValue(
                    f"{flag(name)} {value} does not go with --provider {plugin.name}",
                    advice=f"{group} alone knows it: leave it out",
                    field=field_of(flag(name)),
                )
    for name, advice in plugin.refuses.items():
        value = getattr(spec, stored_name(name))
        if value not in (None, False):
            typed = f"{flag(stored_name(name))} {value}" if value is not True else f"--{name}"
            raise InvalidValue(
                f"{typed} does not go with --provider {plugin.name}", advice=advice, field=name
            )


def check_count(spec: RentSpec, most: int) -> None:
    """Refuse several disks that are not striped, one that is, and more than a machine takes.

    Raises InvalidValue.
    """
    if spec.count > 1 and not spec.stripe:
        raise InvalidValue(
            f"--count {spec.count} without --stripe: only one disk would be measured",
            advice="add --stripe for one RAID 0 of them all, or leave --count out",
            field="count",
        )
    if spec.stripe and spec.count < 2:
        raise InvalidValue(
            "--stripe needs several disks", advice="add --count N, 2 or more", field="stripe"
        )
    if spec.count > most:
        raise InvalidValue(
            f"--count {spec.count} is too many", advice=f"at most {most}", field="count"
        )


def check_ssh(spec: RentSpec, kept: str) -> None:
    """Refuse a network that is none, or that does not count beside what --security-group names
    (`kept`: "a group of yours is"). Raises InvalidValue."""
    if spec.ssh_cidr is None:
        return
    check_cidr(spec.ssh_cidr)
    if spec.security_group is not None:
        raise InvalidValue(
            f"--ssh-cidr does not go with --security-group: {kept} not changed",
            advice="leave one of them out",
            field="ssh_cidr",
        )


def check_lab(spec: RentSpec, *, emulated: bool, endpoint: str) -> None:
    """Refuse the lab's options where no lab is behind the cloud; `endpoint` is what an emulator's
    looks like. Raises InvalidValue."""
    if spec.group(EmulationOptions.group) and not emulated:
        raise InvalidValue(
            "the lab's options (time scale, style, noise …) do not go with real machines",
            advice=f"leave them out, or use an emulated cloud: --endpoint-url {endpoint}",
        )


def whole_throughput(spec: RentSpec, unit: str) -> int | None:
    """The throughput to provision, which clouds sell whole; `unit` is what they count in.

    Raises InvalidValue for a fraction: nobody should pay for another disk than was typed.
    """
    typed = spec.throughput_mib_per_s
    if typed is not None and typed != int(typed):
        raise InvalidValue(
            f"--throughput {typed:g}: it is sold in whole {unit}",
            advice="give a whole number",
            field="throughput",
        )
    return None if typed is None else int(typed)


def provisioned_types(cloud: str) -> tuple[str, ...]:
    """Those of a cloud's disk types whose IOPS or throughput are chosen. Raises UnknownName."""
    return tuple(
        name
        for name, disk in catalogue(cloud).disks.items()
        if any(one is not None and one.provisioned for one in (disk.iops, disk.throughput))
    )


def check_machine_is_named(spec: RentSpec) -> None:
    """Refuse a machine that follows from its disk, where cells with other disks are to share it."""
    if spec.instance_type is None:
        raise InvalidValue(
            f"--disk {spec.disk} is given without a machine, which reuse_host needs",
            advice="add --instance-type: without one the disk decides which is rented",
            field="disk",
        )

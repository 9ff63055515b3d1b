"""What was rented, as the flags of `diskbench run` that say it: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.options import all_options, own_options
from diskbench.plugins import known_plugin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.rental import RentSpec

_COMMON = {"size": "size_gib", "throughput": "throughput_mib_per_s"}
"""Common options of renting whose field of RentSpec has another name: that says the unit."""
_FLAGS = {field: f"--{name}" for name, field in _COMMON.items()}
_FIELDS = {"--set": "parameters", "--label": "labels"}
"""Flags that give one pair of a field which is a mapping."""


def stored_name(name: str) -> str:
    """The field of RentSpec that a common option of renting fills."""
    return _COMMON.get(name, name)


def flag(field: str) -> str:
    """The flag that sets a field of RentSpec, or a stored option of any installed provider."""
    if field in _FLAGS:
        return _FLAGS[field]
    own = next((one.flag for _, one in all_options() if one.field == field), None)
    return own or f"--{field.replace('_', '-')}"


def field_of(flag: str) -> str:
    """The field of a cell that a flag of `run` sets: `--vm-iops` sets `vm_iops`."""
    return _FIELDS.get(flag, flag[2:].replace("-", "_"))


def typed(spec: RentSpec) -> Iterator[tuple[str, object]]:
    """`(flag, value)` of every field that differs from its default, in their order."""
    groups = spec.groups()
    for name, value in spec.model_dump(exclude_defaults=True, exclude=set(groups)).items():
        yield flag(name), value
    for group, values in groups.items():
        known = {one.field: one.flag for _, one in all_options() if one.group == group}
        for name, value in values.items():
            yield known.get(name, f"--{name.replace('_', '-')}"), value


def account_flag(provider: str) -> str:
    """The flag by which a provider is told who pays."""
    found = known_plugin(provider)
    name = found.account_option if found else None
    own = next((one.flag for one in own_options(provider) if one.name == name), None)
    return own or "--account"


def words(spec: RentSpec, provider: str) -> list[str]:
    """The flags as words of a command: `--disk gp2 --size 20 --spot`."""
    found: list[str] = []
    if spec.account is not None:
        found += [account_flag(provider), spec.account]
    for name, value in typed(spec.model_copy(update={"account": None})):
        if isinstance(value, bool):
            found.append(name)
        else:
            found += [name, f"{value:g}" if isinstance(value, float) else str(value)]
    return found

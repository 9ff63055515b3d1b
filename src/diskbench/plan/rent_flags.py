"""A rental as the flags of `diskbench run` that request it: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.options import all_options
from diskbench.plugins import known_plugin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.rental import RentSpec

_COMMON = {"size": "size_gib", "throughput": "throughput_mib_per_s"}
"""Common rental options whose field of RentSpec has another name, which includes the unit."""
_FLAGS = {field: f"--{name}" for name, field in _COMMON.items()}
_FIELDS = {"--set": "parameters", "--label": "labels"}
"""Flags that set one pair of a mapping field."""


def stored_name(name: str) -> str:
    """Return the field of RentSpec that a common rental option sets."""
    return _COMMON.get(name, name)


def flag(field: str) -> str:
    """Return the flag that sets a field of RentSpec or a stored option of an installed provider."""
    if field in _FLAGS:
        return _FLAGS[field]
    own = next((option.flag for _, option in all_options() if option.field == field), None)
    return own or f"--{field.replace('_', '-')}"


def field_of(flag: str) -> str:
    """Return the field of a cell that a flag of `run` sets: `vm_iops` for `--vm-iops`."""
    return _FIELDS.get(flag, flag[2:].replace("-", "_"))


def typed(spec: RentSpec) -> Iterator[tuple[str, object]]:
    """Yield `(flag, value)` for every field that differs from its default, in field order."""
    groups = spec.groups()
    for name, value in spec.model_dump(exclude_defaults=True, exclude=set(groups)).items():
        yield flag(name), value
    for group, values in groups.items():
        known = {option.field: option.flag for _, option in all_options() if option.group == group}
        for name, value in values.items():
            yield known.get(name, f"--{name.replace('_', '-')}"), value


def _account_flag(provider: str) -> str:
    """Return the provider's flag for the account that pays."""
    plugin = known_plugin(provider)
    name = plugin.account_option if plugin else None
    own = next((o.flag for p, o in all_options() if p.name == provider and o.name == name), None)
    return own or "--account"


def words(spec: RentSpec, provider: str) -> list[str]:
    """Return the flags as words of a command: `--disk gp2 --size 20 --spot`."""
    flags: list[str] = []
    if spec.account is not None:
        flags += [_account_flag(provider), spec.account]
    for name, value in typed(spec.model_copy(update={"account": None})):
        if isinstance(value, bool):
            flags.append(name)
        else:
            flags += [name, f"{value:g}" if isinstance(value, float) else str(value)]
    return flags

"""What was rented, as the flags of `diskbench run` that say it: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.rental import RentSpec

_FLAGS = {
    "size_gib": "--size",
    "throughput_mib_per_s": "--throughput",
    "esxi_host": "--host",
    "memory_gib": "--memory",
    "style": "--lab-style",
    "user": "--lab-user",
    "seed": "--lab-seed",
    "vm_throughput_mib_per_s": "--vm-throughput",
    "stall_every_s": "--stall-every",
    "stall_for_s": "--stall-for",
    "latency_ms": "--latency",
}


ACCOUNTS = {"aws": "profile_name", "azure": "subscription", "gcp": "project"}
"""Provider → the option that says who pays; each cloud has its own word for it."""


_FIELDS = {"--set": "parameters", "--label": "labels"}
"""Flags that give one pair of a field which is a mapping."""


def flag(field: str) -> str:
    """The flag that sets a field of RentSpec or LabSpec."""
    return _FLAGS.get(field, f"--{field.replace('_', '-')}")


def field_of(flag: str) -> str:
    """The field of a cell that a flag of `run` sets: `--vm-iops` sets `vm_iops`."""
    return _FIELDS.get(flag, flag[2:].replace("-", "_"))


def typed(spec: RentSpec) -> Iterator[tuple[str, object]]:
    """`(flag, value)` of every field that differs from its default, in their order."""
    for name, value in spec.model_dump(exclude_defaults=True).items():
        if isinstance(value, dict):
            yield from ((flag(inner), one) for inner, one in value.items())
        else:
            yield flag(name), value


def words(spec: RentSpec, provider: str) -> list[str]:
    """The flags as words of a command: `--disk gp2 --size 20 --spot`."""
    found: list[str] = []
    if spec.account is not None:
        found += [flag(ACCOUNTS.get(provider, "account")), spec.account]
    for name, value in typed(spec.model_copy(update={"account": None})):
        if isinstance(value, bool):
            found.append(name)
        else:
            found += [name, f"{value:g}" if isinstance(value, float) else str(value)]
    return found

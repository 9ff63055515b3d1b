"""What was typed to `diskbench run` or `diskbench plan`, which take the same flags."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diskbench.errors import InvalidValue
from diskbench.model.options import own_options, takes_host
from diskbench.plan.cells import Request
from diskbench.plan.cost import CostLimit
from diskbench.plan.rent_options import RENT_OPTIONS, rent_spec

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class CommandRequest:
    """What to measure, and what it may cost."""

    request: Request
    limit: CostLimit


def asked_for(typed: Mapping[str, Any]) -> CommandRequest:
    """The request that the options of a command line say, by their names. Raises UserError."""
    path, devices = typed["path"], tuple(typed["device"] or ())
    provider = provider_of(typed)
    hosts = () if takes_host(provider) else tuple(typed["host"] or ())
    rent = rent_spec(provider, {name: typed[name] for name in _may_rent(provider) if name in typed})
    limit = cost_limit(provider, typed["max_cost"], typed["assume_price"], rents=rent is not None)
    request = Request(
        provider=provider,
        profile=typed["profile"],
        hosts=hosts,
        path=path if rent else _here(path, devices, hosts),
        devices=devices,
        identities=tuple(typed["destroy_data"] or ()),
        size_gib=None if rent else typed["size"],
        rent=rent,
        filesystem=typed["filesystem"],
        parameters=tuple(typed["set_"] or ()),
        labels=tuple(typed["label"] or ()),
        runs=typed["runs"],
        replicates=typed["replicates"],
        promise=typed["promise"],
        if_busy=typed["if_busy"],
        fail_if=tuple(typed["fail_if"] or ()),
        allow=tuple(typed["allow"] or ()),
    )
    return CommandRequest(request, limit)


def cost_limit(
    provider: str, max_cost: float | None, assume_price: float | None, *, rents: bool
) -> CostLimit:
    """Return the limit as typed. Raises InvalidValue for an amount that is not a valid sum, and
    for a limit where nothing is rented and so nothing is paid."""
    for name, value in (("--max-cost", max_cost), ("--assume-price", assume_price)):
        if value is None:
            continue
        if not 0 <= value < math.inf:
            raise InvalidValue(
                f"{name} {value:g} is not a price", advice="give US dollars, 0 or more"
            )
        if not rents:
            raise InvalidValue(
                f"{name} {value:g} cannot be used with --provider {provider}, which rents nothing",
                advice="leave it out: measuring an existing machine costs nothing",
                field="provider",
            )
    if assume_price is not None and max_cost is None:
        raise InvalidValue(
            f"--assume-price {assume_price:g} has no effect without --max-cost",
            advice="add --max-cost USD",
        )
    return CostLimit(max_cost, assume_price)


def _may_rent(provider: str) -> tuple[str, ...]:
    """The names of the options that say what to rent. A command line takes no other provider's
    (cli/run_command.py), so that nothing of other providers has to be loaded."""
    return (*RENT_OPTIONS, "size", *(option.name for option in own_options(provider)))


def provider_of(typed: Mapping[str, Any]) -> str:
    """The provider that was typed, or that follows from --host."""
    return typed["provider"] or ("ssh" if typed["host"] else "local")


def _here(path: str | None, devices: tuple[str, ...], hosts: tuple[str, ...]) -> str | None:
    """The directory on the target; on this machine made absolute from the working directory."""
    if hosts or (path is None and devices):
        return path
    return str(Path(path or ".").absolute())

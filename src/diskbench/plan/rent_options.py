"""The specification of a rental, and whether its limit of cost means anything, from options named
like the flags of `run`, and the flags of a specification: pure."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from diskbench.catalog.shipped import known_catalogue
from diskbench.errors import InvalidValue
from diskbench.limits import VALUE_CHARS
from diskbench.model.options import (
    Option,
    RentSpec,
    all_options,
    option_model,
    own_options,
    owners,
    rent_options,
)
from diskbench.model.value_fault import value_fault
from diskbench.plugin import Plugin, known_plugin
from diskbench.units import field_of

RENT_OPTIONS = tuple(option.name for option in rent_options())
"""Options that all renting providers share, besides `size`; each sets a field of RentSpec."""
_COMMON = frozenset({*RENT_OPTIONS, "size", "host"})
"""Options that several providers share: no provider owns them."""
_OF_MACHINES = ("path", "device", "destroy_data", "host")
"""Options of a machine that is there, unless they are a provider's own."""


def rent_spec(plugin: Plugin, options: Mapping[str, Any]) -> RentSpec | None:
    """Return what to rent; None for a provider that does not rent machines.

    `options` are keyed by the names of the flags; None and missing keys were not typed. Raises
    InvalidValue for an option that the provider does not have, or a value out of range.
    """
    own = own_options(plugin.name)
    mine = {option.name for option in own}
    for name, value in options.items():
        if value in (None, False) or name in mine | _COMMON:
            continue
        if known := [owner.name for owner in owners(name)]:
            raise foreign_option(f"--{name.replace('_', '-')} {value}", plugin.name, known, name)
    for name in _OF_MACHINES if plugin.rents else ():
        value = options.get(name)
        first = value if isinstance(value, str) else next(iter(value or ()), None)
        if first is not None and name not in mine:
            raise InvalidValue(
                f"--{name.replace('_', '-')} {first} cannot be used with --provider "
                f"{plugin.name}, which makes its own machine and disk",
                advice="leave it out, or measure a machine of yours with --provider ssh",
                field=name,
            )
    spec, size_gib = _spec(plugin, own, options), options.get("size")
    if plugin.rents:
        if size_gib is not None and (size_gib < 1 or size_gib != int(size_gib)):
            raise InvalidValue(
                f"--size {size_gib:g}: a disk is rented in whole GiB",
                advice="give 1 or more",
                field="size",
            )
        return spec.model_copy(update={"size_gib": None if size_gib is None else int(size_gib)})
    for name, value in typed(spec):
        raise InvalidValue(
            f"{name} {value} cannot be used with --provider {plugin.name}, which rents nothing",
            advice="choose one that rents: diskbench providers",
            field="provider",
        )
    return None


def foreign_option(option: str, provider: str, known: Collection[str], name: str) -> InvalidValue:
    """Return the error for a typed option that only the providers `known` have."""
    *before, last = known
    names = f"{', '.join(before)} and {last}" if before else last
    return InvalidValue(
        f"{option} cannot be used with --provider {provider}",
        advice=f"it is an option of {names}: leave it out, or add --provider {last}",
        field=name,
    )


def check_endpoint(url: str | None, option: str) -> None:
    """Raise InvalidValue for an API endpoint with credentials or a query (which may be a token),
    since endpoints are written into plans and evidence. The message contains no part of it."""
    if url is not None and any(character in url for character in "@?#"):
        raise InvalidValue(
            f"{option} holds credentials or options",
            advice="give only https://HOST:PORT; credentials come from the cloud's usual "
            "environment variables or files",
        )


def check_cost_limit(provider: Plugin, max_cost: float | None, assume_price: float | None) -> None:
    """Raise InvalidValue for an amount that is not a valid sum, and for a limit where nothing is
    rented and so nothing is paid."""
    for name, value in (("--max-cost", max_cost), ("--assume-price", assume_price)):
        if value is None:
            continue
        if not 0 <= value < math.inf:
            raise InvalidValue(
                f"{name} {value:g} is not a price", advice="give US dollars, 0 or more"
            )
        if not provider.rents:
            used = f"{name} {value:g} cannot be used with --provider {provider.name}"
            raise InvalidValue(
                f"{used}, which rents nothing",
                advice="leave it out: measuring an existing machine costs nothing",
                field="provider",
            )
    if assume_price is not None and max_cost is None:
        raise InvalidValue(
            f"--assume-price {assume_price:g} has no effect without --max-cost",
            advice="add --max-cost USD",
        )


def _spec(plugin: Plugin, own: Sequence[Option], options: Mapping[str, Any]) -> RentSpec:
    check_endpoint(options.get("endpoint_url"), "--endpoint-url")
    common = {
        option.field: options[option.name]
        for option in rent_options()
        if options.get(option.name) is not None
    }
    if "disk" in common and (known := known_catalogue(plugin.name)) is not None:
        common["disk"] = known.named(common["disk"])
    if "tags" in common:
        common["tags"] = key_values("--tag", common["tags"])
    groups: dict[str, dict[str, Any]] = {}
    for option in own:
        value = options.get(option.name)
        if isinstance(value, list | tuple):  # as `--host`, which other providers may repeat
            value = next(iter(value), None)
        if value is not None and value is not False and option.name != plugin.account_option:
            groups.setdefault(option.group, {})[option.field] = value
    try:
        for group, values in groups.items():
            if (model := option_model(group)) is not None:
                model.model_validate(values)
        account = options.get(plugin.account_option or "")
        return RentSpec.model_validate({**common, "account": account, **groups})
    except ValidationError as error:
        first = error.errors()[0]
        name, (reason, advice) = flag(str(first["loc"][-1])), value_fault(first)
        raise InvalidValue(
            f"{name}: {reason}",
            advice=advice or f"see diskbench run --provider {plugin.name} --help",
            field=field_of(name),
        ) from error


def stored_name(name: str) -> str:
    """Return the field of RentSpec that a common rental option sets."""
    known = {option.name: option.field for option in rent_options()}
    return known.get(name, "size_gib" if name == "size" else name)


def flag(field: str) -> str:
    """Return the flag that sets a field of RentSpec or a stored option of an installed provider."""
    if field == "size_gib":
        return "--size"
    every = (*rent_options(), *(option for _, option in all_options()))
    named = f"--{field.replace('_', '-')}"
    return next((option.flag for option in every if option.field == field), named)


def typed(spec: RentSpec) -> Iterator[tuple[str, object]]:
    """Yield `(flag, value)` for every field that differs from its default, in field order."""
    groups = spec.groups()
    for name, value in spec.model_dump(exclude_defaults=True, exclude=set(groups)).items():
        if name == "tags":
            yield from ((flag(name), f"{key}={text}") for key, text in value)
        else:
            yield flag(name), value
    for group, values in groups.items():
        known = {option.field: option.flag for _, option in all_options() if option.group == group}
        for name, value in values.items():
            yield known.get(name, f"--{name.replace('_', '-')}"), value


def words(spec: RentSpec, provider: str) -> list[str]:
    """Return the flags as words of a command: `--disk gp2 --size 20 --spot`."""
    flags: list[str] = []
    if spec.account is not None:
        known = known_plugin(provider)
        name = known.account_option if known else None
        flags += [f"--{(name or 'account').replace('_', '-')}", spec.account]
    for name, value in typed(spec.model_copy(update={"account": None})):
        text = f"{value:g}" if isinstance(value, float) else str(value)
        flags += [name] if isinstance(value, bool) else [name, text]
    return flags


def key_values(flag: str, pairs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse `k=v` texts into sorted pairs. Raises InvalidValue for a missing or repeated key, and
    for a pair that is too long to be printed."""
    values: dict[str, str] = {}
    for pair in pairs:
        if len(pair) > VALUE_CHARS:
            raise InvalidValue(
                f"{flag} {pair[:40]}… has {len(pair):,} characters",
                advice=f"at most {VALUE_CHARS:,} are kept and printed with a run",
                field=field_of(flag),
            )
        key, sep, value = pair.partition("=")
        is_pair = sep and key.strip()
        if not is_pair or key.strip() in values:
            is_twice = f"{flag} {key.strip()} is given twice"
            wrong = is_twice if is_pair else f"{flag} {pair!r} is not of the form key=value"
            raise InvalidValue(wrong, field=field_of(flag))
        values[key.strip()] = value.strip()
    return tuple(sorted(values.items()))

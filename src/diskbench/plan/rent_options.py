"""What to rent, from options by the names of `run`'s flags: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from diskbench.errors import InvalidValue
from diskbench.model.options import option_model, own_options, owners
from diskbench.model.rental import RentSpec
from diskbench.plan.rent_flags import field_of, flag, stored_name, typed
from diskbench.plugins import plugin

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


RENT_OPTIONS = (
    "disk", "iops", "throughput", "count", "stripe", "region", "zone", "instance_type", "image",
    "subnet", "security_group", "placement", "spot", "ssh_cidr", "endpoint_url",
)  # fmt: skip
"""Options that all renting providers share, beside `size`; each fills a field of RentSpec."""


def rent_spec(provider: str, options: Mapping[str, Any]) -> RentSpec | None:
    """What is to be rented; None for a provider that measures machines that are there.

    `options` are by the names of the flags; None and what is missing were not typed. Raises
    InvalidValue for one that means nothing to the provider, or a value out of its range.
    """
    check_owners(provider, options)
    spec = _spec(provider, options)
    if plugin(provider).rents:
        return spec.model_copy(update={"size_gib": _whole(options.get("size"))})
    for name, value in typed(spec):
        raise InvalidValue(
            f"{name} {value} does not go with --provider {provider}, which rents nothing",
            advice="name a provider that does: diskbench providers",
            field="provider",
        )
    return None


def check_owners(provider: str, options: Mapping[str, Any]) -> None:
    """Raise InvalidValue for an option that only other providers have."""
    own = {one.name for one in own_options(provider)}
    for name, value in options.items():
        if value in (None, False) or name in own or name in _COMMON:
            continue
        if known := [one.name for one in owners(name)]:
            raise foreign_option(f"{_flag_of(name)} {value}", provider, known, name)


def foreign_option(what: str, provider: str, known: Collection[str], name: str) -> InvalidValue:
    """The error for an option, as typed, that only the providers `known` have."""
    *rest, last = known
    names = f"{', '.join(rest)} and {last}" if rest else last
    return InvalidValue(
        f"{what} does not go with --provider {provider}",
        advice=f"it is an option of {names}: leave it out, or add --provider {last}",
        field=name,
    )


def takes_host(provider: str) -> bool:
    """Whether `--host` is the provider's own option, and not a machine that is there."""
    return any(one.name == "host" for one in own_options(provider))


def check_endpoint(url: str | None, what: str) -> None:
    """Raise InvalidValue for an API endpoint that holds credentials or a query (they may be a
    token): it is written into plans and evidence. Nothing of it is in the message."""
    if url is not None and any(one in url for one in "@?#"):
        raise InvalidValue(
            f"{what} holds credentials or options",
            advice="give https://HOST:PORT alone; credentials come from the cloud's usual "
            "environment variables or files",
        )


def account_of(provider: str, options: Mapping[str, Any]) -> str | None:
    """What is paid by, from the option that the provider calls it by. Raises InvalidValue for
    another provider's."""
    check_owners(provider, options)
    name = plugin(provider).account_option
    found: str | None = options.get(name) if name else None
    return found


_COMMON = frozenset({*RENT_OPTIONS, "size", "host"})
"""Options that mean something to several providers, so that none of them alone has them."""


def given(provider: str, options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The provider's own options that were typed, by group and stored name; not who pays."""
    account = plugin(provider).account_option
    found: dict[str, dict[str, Any]] = {}
    for one in own_options(provider):
        value = _single(options.get(one.name))
        if value is not None and value is not False and one.name != account:
            found.setdefault(one.group, {})[one.field] = value
    return found


def _single(value: object) -> object:
    """`--host` may be typed several times for machines that are there; here it is one."""
    return (value[0] if value else None) if isinstance(value, list | tuple) else value


def _spec(provider: str, options: Mapping[str, Any]) -> RentSpec:
    check_endpoint(options.get("endpoint_url"), "--endpoint-url")
    common = {
        stored_name(name): options[name] for name in RENT_OPTIONS if options.get(name) is not None
    }
    own = given(provider, options)
    try:
        for group, values in own.items():
            if (model := option_model(group)) is not None:
                model.model_validate(values)
        return RentSpec.model_validate({**common, "account": account_of(provider, options), **own})
    except ValidationError as error:
        first = error.errors()[0]
        name = flag(str(first["loc"][-1]))
        raise InvalidValue(
            f"{name} {first['input']}: {first['msg']}",
            advice=f"see diskbench run --provider {provider} --help",
            field=field_of(name),
        ) from error


def _flag_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _whole(size_gib: float | None) -> int | None:
    """The size of a disk; clouds sell whole GiB."""
    if size_gib is None:
        return None
    if size_gib < 1 or size_gib != int(size_gib):
        raise InvalidValue(
            f"--size {size_gib:g}: a disk is rented in whole GiB",
            advice="give 1 or more",
            field="size",
        )
    return int(size_gib)

"""A provider's own options: one pydantic model from which flags, matrix fields and schemas come."""

from __future__ import annotations

import functools
import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.plugins import known_plugin, loading, plugins, working

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic.fields import FieldInfo

    from diskbench.model.rental import RentSpec
    from diskbench.plugin import Plugin

InKey = Literal["disk", "value", "pair", "no"]
"""How an option stands in the key of a matrix cell: it names the disk (`nvme-20GiB`), it stands by
its value (`readonly`), as `option=value`, or not at all (how a machine is reached or paid)."""

_EXTRA = "diskbench"


class Options(Frozen):
    """Options that a provider has of its own (diskbench.plugin.Plugin.options).

    `group` is the key under which they are stored in a RentSpec; it never changes. Each field is
    made by `option`; its default is what holds when the option is not given.
    """

    group: ClassVar[str]
    panel: ClassVar[str]
    """The heading of the group in the help."""

    @classmethod
    def of(cls, spec: RentSpec) -> Self:
        """The options of this group in a spec. Raises pydantic.ValidationError for stored values
        that this model does not take."""
        return cls.model_validate(spec.group(cls.group))


def option(
    default: Any,  # noqa: ANN401 - the field's own type
    about: str,
    *,
    flag: str | None = None,
    metavar: str | None = None,
    values: Sequence[str] = (),
    in_key: InKey = "pair",
    of_disk: bool = False,
    scopes: bool = False,
    **bounds: Any,  # noqa: ANN401 - pydantic's own: ge, gt, le, lt
) -> Any:  # noqa: ANN401 - as pydantic.Field
    """A field of an Options model.

    `about` is its line in the help and in the schema. `flag` is what is typed (default: the field's
    name); `values` are proposed by shell completion. `of_disk` says that the option describes the
    disk and not the machine, so that cells which differ in it may share one machine. `scopes` says
    that it also says where leases are listed: `gc` and `doctor` take it, too.
    """
    extra: Any = {
        "flag": flag,
        "metavar": metavar or ("|".join(values) or None),
        "values": tuple(values),
        "in_key": in_key,
        "of_disk": of_disk,
        "scopes": scopes,
    }
    return Field(default, description=about, json_schema_extra={_EXTRA: extra}, **bounds)


@dataclass(frozen=True)
class Option:
    """One option of a provider. `field` is its stored name in `group`, `name` its name in a matrix
    and in the values of a command line, `flag` what is typed."""

    group: str
    panel: str
    field: str
    name: str
    flag: str
    kind: type
    default: Any
    about: str
    metavar: str | None
    values: tuple[str, ...]
    in_key: InKey
    of_disk: bool
    scopes: bool
    bounds: tuple[Any, ...]
    """Limits of the value, as pydantic has them in the metadata of a field."""


@functools.cache
def options_of_model(model: type[Options]) -> tuple[Option, ...]:
    """Return the options that a model declares, in its order."""
    hints = typing.get_type_hints(model)
    return tuple(
        _option(model, name, hints[name], info) for name, info in model.model_fields.items()
    )


@functools.cache
def own_options(provider: str) -> tuple[Option, ...]:
    """Return the provider's own options; empty for a provider that is not installed. Raises
    ProviderBroken for models that cannot be loaded."""
    return tuple(option_ for model in _models(provider) for option_ in options_of_model(model))


def takes_host(provider: str) -> bool:
    """Whether `--host` is the provider's own option, and not the address of a machine."""
    return any(option_.name == "host" for option_ in own_options(provider))


@functools.cache
def all_options() -> tuple[tuple[Plugin, Option], ...]:
    """Return every option of every plugin that can be loaded, with its plugin; an option of several
    plugins occurs several times."""
    by_name = {plugin.name: plugin for plugin in plugins()}
    return tuple(
        (by_name[name], option_)
        for name, options in working(by_name, own_options).items()
        for option_ in options
    )


@functools.cache
def disk_options(group: str) -> frozenset[str]:
    """Return the stored names of a group's options that describe the disk and not the machine."""
    model = option_model(group)
    every = options_of_model(model) if model is not None else ()
    return frozenset(option_.field for option_ in every if option_.of_disk)


@functools.cache
def option_model(group: str) -> type[Options] | None:
    """Return the model of a group of options; None if no installed plugin has it."""
    every = working([plugin.name for plugin in plugins()], _models).values()
    return next((model for models in every for model in models if model.group == group), None)


def owners(name: str) -> Iterator[Plugin]:
    """The plugins that have an option of that name."""
    return (plugin for plugin, option in all_options() if option.name == name)


@functools.cache
def _models(provider: str) -> tuple[type[Options], ...]:
    """The models of the provider's own options, each read once: a faulty one fails here."""
    plugin = known_plugin(provider)
    if plugin is None:
        return ()
    with loading(provider):
        models: tuple[type[Options], ...] = plugin.option_models()
        for model in models:
            options_of_model(model)
    return models


def _option(model: type[Options], field: str, hint: Any, info: FieldInfo) -> Option:  # noqa: ANN401 - a type
    extra = info.json_schema_extra
    declared: Any = extra.get(_EXTRA, {}) if isinstance(extra, dict) else {}
    flag = declared.get("flag") or f"--{field.replace('_', '-')}"
    return Option(
        group=model.group,
        panel=model.panel,
        field=field,
        name=flag.removeprefix("--").replace("-", "_"),
        flag=flag,
        kind=_kind(hint),
        default=info.get_default(),
        about=info.description or "",
        metavar=declared.get("metavar"),
        values=declared.get("values", ()),
        in_key=declared.get("in_key", "pair"),
        of_disk=declared.get("of_disk", False),
        scopes=declared.get("scopes", False),
        bounds=tuple(info.metadata),
    )


def _kind(hint: Any) -> type:  # noqa: ANN401 - a type
    """str, int, float or bool of `int | None` and the like."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        (hint,) = (part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is Literal:
        return str
    assert isinstance(hint, type), f"an option is text, a number or a switch, not {hint}"
    return hint

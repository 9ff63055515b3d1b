"""What to rent, as typed, and a provider's own options beside it: one pydantic model each, from
which flags, matrix fields and schemas come.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from diskbench.model.base import Frozen
from diskbench.plugin import Plugin
from diskbench.plugins import known_plugin, loading, plugins, working

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


Value = bool | int | float | str
"""What an option holds; the kind is kept as it was given."""


@dataclass(frozen=True)
class RentFlag:
    """How a field of RentSpec is typed: all that its flag, its help, its field in a matrix and what
    is shown of it are made from.

    `name` is that of the flag and of the field in a matrix, where it differs. `access` says that it
    is about how a machine is reached or paid: it is no part of what is measured, and private.
    """

    about: str
    metavar: str | None = None
    name: str | None = None
    access: bool = False


class RentSpec(Frozen):
    """What to rent, as typed: nothing in it was looked up. None leaves a choice to the provider.

    `disk` is the cloud's own name of a disk type, or `root` and `instance-store` for disks that
    come with the machine. `throughput_mib_per_s` is in the unit that the cloud sells (DiskSpec).
    `count` equal disks are attached; `stripe` makes one RAID 0 of them. `account` names what is
    paid by, in the provider's own terms; never a secret. `tags` are the user's own, put on
    everything that is made; `kms_key` names the user's key in the cloud that encrypts the disks;
    `snapshot` names one there that each disk is made from, which then holds data from the start;
    with `snapshot_of_fill` the lease makes one of a disk that it filled.

    Options that a provider has of its own (model/options.py) stand beside these fields, by their
    group: `{"disk": "gp2", "lab": {"time_scale": 60.0}}`. Only what differs from its default is
    kept. Options of a provider that is not installed are kept as they are.
    """

    model_config = ConfigDict(extra="allow")

    __pydantic_extra__: dict[str, dict[str, Value]]

    disk: Annotated[
        str | None,
        RentFlag("Disk type, by the provider's name: gp2, Premium_LRS, pd-ssd; or root.", "TYPE"),
    ] = None
    size_gib: int | None = Field(default=None, ge=1)
    region: Annotated[str | None, RentFlag("Region (default: the cloud's own configuration).")] = (
        None
    )
    iops: Annotated[
        int | None, RentFlag("IOPS to provision, where the type sells them.", "N"), Field(ge=1)
    ] = None
    throughput_mib_per_s: Annotated[
        float | None,
        RentFlag("{unit} to provision, where the type sells them.", "RATE", "throughput"),
        Field(gt=0),
    ] = None
    count: Annotated[
        int,
        RentFlag(
            "Equal disks to attach to a machine, one for each device that a job file names, or for "
            "--stripe.",
            "N",
        ),
        Field(ge=1),
    ] = 1
    stripe: Annotated[bool, RentFlag("Measure the disks as one RAID 0.")] = False
    zone: Annotated[str | None, RentFlag("Zone (default: one that has the machine).")] = None
    instance_type: Annotated[
        str | None,
        RentFlag("VM size (default: the cheapest that does not limit the disk).", "TYPE"),
    ] = None
    image: Annotated[str | None, RentFlag("Image id (default: a current Linux).", "ID")] = None
    subnet: Annotated[
        str | None, RentFlag("Subnet id (default: the default network's).", "ID", access=True)
    ] = None
    security_group: Annotated[
        str | None,
        RentFlag(
            "Security group id to use (default: one is made, open only to you).", "ID", access=True
        ),
    ] = None
    placement: Annotated[str | None, RentFlag("Placement group to use.")] = None
    spot: Annotated[bool, RentFlag("Rent spare capacity, cheaper and revocable.")] = False
    ssh_cidr: Annotated[
        str | None,
        RentFlag("Who may reach SSH (default: this machine's address).", "CIDR", access=True),
    ] = None
    tags: Annotated[
        tuple[tuple[str, str], ...],
        RentFlag(
            "A tag (label) of your own on everything that is rented; repeatable.",
            *("KEY=VALUE", "tag"),
            access=True,
        ),
    ] = ()
    kms_key: Annotated[
        str | None,
        RentFlag("Your key in the cloud, to encrypt the disks with.", "ID", access=True),
    ] = None
    snapshot: Annotated[
        str | None,
        RentFlag(
            "Snapshot id; each disk is made from it and holds its data.", "ID", "from_snapshot"
        ),
    ] = None
    snapshot_of_fill: Annotated[
        bool,
        RentFlag("Fill a disk, and measure disks made from a snapshot of it, deleted at the end."),
    ] = False
    account: str | None = None
    endpoint_url: Annotated[
        str | None,
        RentFlag("Another API endpoint, for example an emulator.", "URL", access=True),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _without_defaults(cls, data: object) -> object:
        """Keep of a group of options what differs from the defaults of its model."""
        if not isinstance(data, Mapping):
            return data
        groups = {
            name: _given(name, value)
            for name, value in data.items()
            if isinstance(value, Mapping | Options)
        }
        common = {name: value for name, value in data.items() if name not in groups}
        return {**common, **{name: values for name, values in groups.items() if values}}

    def groups(self) -> Mapping[str, Mapping[str, Value]]:
        """The options of providers, by group; only what differs from its default."""
        return self.__pydantic_extra__ or {}

    def group(self, name: str) -> Mapping[str, Value]:
        """The options of one group; only what differs from its default."""
        return self.groups().get(name, {})

    def with_groups(self, groups: Mapping[str, Mapping[str, Value]]) -> RentSpec:
        """The spec with these options of providers in place of those it has."""
        known = {name: getattr(self, name) for name in type(self).model_fields}
        return RentSpec.model_validate({**known, **groups})

    def _own(self, name: str) -> Value | None:
        return next((part[name] for part in self.groups().values() if name in part), None)

    def text(self, option: str) -> str | None:
        """The value of a provider's own option by its stored name; None where it is the default."""
        value = self._own(option)
        return None if value is None else str(value)

    def number(self, option: str) -> float | None:
        """The number that a provider's own option is, by its stored name; None as `text`."""
        value = self._own(option)
        return value if isinstance(value, int | float) else None

    def flag(self, option: str) -> bool:
        """Whether a provider's own option is switched on."""
        return self._own(option) is True

    @property
    def time_scale(self) -> float:
        """What the capacity of burst buckets is divided by; 1 for everything but emulations."""
        return self.number("time_scale") or 1.0


def _given(group: str, value: Any) -> dict[str, Value]:  # noqa: ANN401 - a mapping or a model
    """What differs from the defaults of a group's model. What the model does not take, as of
    another version of the provider, stays as it is stored."""
    if isinstance(value, Options):
        return value.model_dump(mode="json", exclude_defaults=True)
    stored = {name: item for name, item in value.items() if item is not None}
    if not stored or (model := option_model(group)) is None:
        return stored
    try:
        return model.model_validate(stored).model_dump(mode="json", exclude_defaults=True)
    except ValidationError:
        return stored


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
def rent_options() -> tuple[Option, ...]:
    """Return the options that say what to rent, of every provider; the account is each one's own
    (diskbench.plugin.Plugin.account_option), and so is the meaning of a size."""
    hints = typing.get_type_hints(RentSpec)
    return tuple(
        Option(
            group="",
            panel="Renting",
            field=field,
            name=typed.name or field,
            flag=f"--{(typed.name or field).replace('_', '-')}",
            kind=_kind(hints[field]),
            default=info.get_default(),
            about=typed.about,
            metavar=typed.metavar or "NAME",
            values=(),
            in_key="no" if typed.access else "pair",
            of_disk=False,
            scopes=False,
            bounds=tuple(part for part in info.metadata if part is not typed),
        )
        for field, info in RentSpec.model_fields.items()
        for typed in info.metadata
        if isinstance(typed, RentFlag)
    )


@functools.cache
def access_fields() -> frozenset[str]:
    """Return the fields of RentSpec about how a machine is reached or paid: private, and no part of
    what is measured."""
    return frozenset({"account", *(o.field for o in rent_options() if o.in_key == "no")})


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
    if typing.get_origin(hint) in (Literal, tuple):
        return str
    assert isinstance(hint, type), f"an option is text, a number or a switch, not {hint}"
    return hint

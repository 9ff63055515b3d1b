"""An option is declared once, by `option`, as a field of a pydantic model: of RentSpec, of a cell's
fields (model/matrix.py), or of a provider's own. Flag, help, completion, the field of a matrix and
its schema are made from that.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from diskbench.model.base import Frozen
from diskbench.plugin import Plugin, known_plugin, loading, plugins, working

InKey = Literal["disk", "value", "pair", "no"]
"""How an option stands in the key of a matrix cell: it names the disk (`nvme-20GiB`), it stands by
its value (`readonly`), as `option=value`, or not at all (how a machine is reached or paid)."""
_BOUNDS = ("ge", "gt", "le", "lt", "min_length")
Value = bool | int | float | str
"""What an option holds; the kind is kept as it was given."""


@dataclass(frozen=True)
class Option:
    """One option: what `option` says of a field, which adds nothing to its schema, and what the
    field and its model say.

    `flag` is what is typed (default: the field's name), `panel` its heading in the help (default:
    that of the model), `usual` what the flag is where it is not typed; a flag that `repeats` gives
    a list. `values` are proposed by shell completion. `of_disk` says that the option describes the
    disk and not the machine, so that cells which differ in it may share one machine. `scopes` says
    that it also says where leases are listed: `gc` and `doctor` take it, too.

    Of the options of `run` that no provider owns: `more` is what its help adds to `about`, `letter`
    its short flag. A `rare` one (default: one about renting) is left out of the plain help. `only`
    says that it means something for a machine that is there, or for a rented one, alone. `needs` is
    the option without which it has no effect, with a value of that. `command` is the only one of
    `run` and `plan` that has it. It `judges` the figures of what the command measured. `of_cells`
    is its help in `matrix run`, which takes it for all cells. `read` makes of what was given what a
    Cell holds, or raises UserError.

    `field` is its stored name in `group`, `name` its name in a matrix and in the values of a
    command line, `bounds` are limits of the value as pydantic has them in a field's metadata.
    """

    flag: str = ""
    panel: str = ""
    metavar: str | None = None
    values: tuple[str, ...] = ()
    usual: Any = None
    repeats: bool = False
    in_key: InKey = "pair"
    of_disk: bool = False
    scopes: bool = False
    more: str = ""
    letter: str = ""
    rare: bool | None = None
    only: Literal["", "there", "rented"] = ""
    needs: str = ""
    command: str = ""
    judges: bool = False
    of_cells: str = ""
    read: Callable[[Any], object] | None = None
    group: str = ""
    field: str = ""
    name: str = ""
    kind: Any = str
    about: str = ""
    bounds: tuple[Any, ...] = ()

    def __call__(self, _schema: dict[str, Any]) -> None:
        """What pydantic calls to add to a schema."""

    @property
    def help(self) -> str:
        """Its line in the help."""
        return self.about.removesuffix(".") + self.more if self.more else self.about


def option(default: Any, about: str, **declared: Any) -> Any:  # noqa: ANN401 - as pydantic.Field
    """A field of a model that is an option. `about` is its line in the help and in the schema; the
    other words are those of Option, and pydantic's limits of a value: ge, gt, le, lt."""
    bounds = {name: declared.pop(name) for name in _BOUNDS if name in declared}
    known: Any = Option(**declared)
    return Field(default, description=about, json_schema_extra=known, **bounds)


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
    panel: ClassVar[str] = "Renting"

    __pydantic_extra__: dict[str, dict[str, Value]]

    disk: str | None = option(
        None,
        "Disk type, by the provider's name: gp2, Premium_LRS, pd-ssd; or root.",
        metavar="TYPE",
        rare=False,
    )
    size_gib: int | None = Field(default=None, ge=1)
    region: str | None = option(
        None, "Region (default: the cloud's own configuration).", metavar="NAME", rare=False
    )
    iops: int | None = option(
        None, "IOPS to provision, where the type sells them.", metavar="N", ge=1
    )
    throughput_mib_per_s: float | None = option(
        None,
        "{unit} to provision, where the type sells them.",
        flag="--throughput",
        metavar="RATE",
        gt=0,
    )
    count: int = option(
        1,
        "Equal disks to attach to a machine, one for each device that a job file names, or for "
        "--stripe.",
        metavar="N",
        ge=1,
    )
    stripe: bool = option(default=False, about="Measure the disks as one RAID 0.")
    zone: str | None = option(None, "Zone (default: one that has the machine).", metavar="NAME")
    instance_type: str | None = option(
        None, "VM size (default: the cheapest that does not limit the disk).", metavar="TYPE"
    )
    image: str | None = option(None, "Image id (default: a current Linux).", metavar="ID")
    subnet: str | None = option(
        None, "Subnet id (default: the default network's).", metavar="ID", in_key="no"
    )
    security_group: str | None = option(
        None,
        "Security group id to use (default: one is made, open only to you).",
        metavar="ID",
        in_key="no",
    )
    placement: str | None = option(None, "Placement group to use.", metavar="NAME")
    spot: bool = option(default=False, about="Rent spare capacity, cheaper and revocable.")
    ssh_cidr: str | None = option(
        None, "Who may reach SSH (default: this machine's address).", metavar="CIDR", in_key="no"
    )
    tags: tuple[tuple[str, str], ...] = option(
        (),
        "A tag (label) of your own on everything that is rented; repeatable.",
        flag="--tag",
        metavar="KEY=VALUE",
        in_key="no",
    )
    kms_key: str | None = option(
        None, "Your key in the cloud, to encrypt the disks with.", metavar="ID", in_key="no"
    )
    snapshot: str | None = option(
        None,
        "Snapshot id; each disk is made from it and holds its data.",
        flag="--from-snapshot",
        metavar="ID",
    )
    snapshot_of_fill: bool = option(
        default=False,
        about="Fill a disk, then measure disks made from its snapshot; delete it at the end.",
    )
    account: str | None = None
    endpoint_url: str | None = option(
        None, "Another API endpoint, for example an emulator.", metavar="URL", in_key="no"
    )

    @model_validator(mode="before")
    @classmethod
    def _without_defaults(cls, data: object) -> object:
        """Keep of a group of options what differs from the defaults of its model."""
        if not isinstance(data, Mapping):
            return data
        groups = {n: _given(n, of) for n, of in data.items() if isinstance(of, Mapping | Options)}
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


@functools.cache
def options_of_model(model: type[Frozen]) -> tuple[Option, ...]:
    """Return the options that a model declares, in its order."""
    hints = typing.get_type_hints(model)
    return tuple(
        _option(model, name, hints[name], info.json_schema_extra, info)
        for name, info in model.model_fields.items()
        if isinstance(info.json_schema_extra, Option)
    )


def rent_options() -> tuple[Option, ...]:
    """Return the options that say what to rent, of every provider; the account is each one's own
    (diskbench.plugin.Plugin.account_option), and so is the meaning of a size."""
    return options_of_model(RentSpec)


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


def _option(
    model: type[Frozen],
    field: str,
    hint: Any,  # noqa: ANN401 - a type
    declared: Option,
    info: FieldInfo,
) -> Option:
    flag = declared.flag or f"--{field.replace('_', '-')}"
    kind, is_many = _kind(hint)
    by_flag = issubclass(model, (Options, RentSpec))
    if typing.get_origin(hint) is Literal and not by_flag:
        kind = hint
    return replace(
        declared,
        flag=flag,
        panel=declared.panel or str(getattr(model, "panel", "")),
        metavar=declared.metavar or "|".join(declared.values) or None,
        values=tuple(declared.values),
        repeats=declared.repeats or is_many,
        group=model.group if issubclass(model, Options) else "",
        field=field,
        name=flag[2:].replace("-", "_") if by_flag else field,
        kind=kind,
        about=info.description or "",
        bounds=tuple(info.metadata),
    )


def _kind(hint: Any) -> tuple[type, bool]:  # noqa: ANN401 - a type
    """str, int, float or bool of `int | None` and the like, and whether it is a list or mapping."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        (hint,) = (part for part in typing.get_args(hint) if part is not type(None))
    origin = typing.get_origin(hint)
    if origin in (Literal, tuple, dict):
        return str, origin is not Literal
    assert isinstance(hint, type), f"an option is text, a number or a switch, not {hint}"
    return (str if issubclass(hint, Frozen) else hint), False

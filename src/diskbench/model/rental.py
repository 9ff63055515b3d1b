"""What is rented: as typed, as resolved by looking, and where to look for it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field, ValidationError, model_validator

from diskbench.model.base import Frozen
from diskbench.model.disk import DiskSpec
from diskbench.model.options import Options, option_model

Value = bool | int | float | str
"""What an option holds; the kind is kept as it was given."""


class RentSpec(Frozen):
    """What to rent, as typed: nothing in it was looked up. None leaves a choice to the provider.

    `disk` is the cloud's own name of a disk type, or `root` and `instance-store` for disks that
    come with the machine. `throughput_mib_per_s` is in the unit that the cloud sells (DiskSpec).
    `count` equal disks are attached; `stripe` makes one RAID 0 of them. `account` names what is
    paid by, in the provider's own terms; never a secret.

    Options that a provider has of its own (model/options.py) stand beside these fields, by their
    group: `{"disk": "gp2", "lab": {"time_scale": 60.0}}`. Only what differs from its default is
    kept. Options of a provider that is not installed are kept as they are.
    """

    model_config = ConfigDict(extra="allow")

    __pydantic_extra__: dict[str, dict[str, Value]]

    disk: str | None = None
    size_gib: int | None = Field(default=None, ge=1)
    iops: int | None = Field(default=None, ge=1)
    throughput_mib_per_s: float | None = Field(default=None, gt=0)
    count: int = Field(default=1, ge=1)
    stripe: bool = False
    region: str | None = None
    zone: str | None = None
    instance_type: str | None = None
    image: str | None = None
    subnet: str | None = None
    security_group: str | None = None
    placement: str | None = None
    spot: bool = False
    ssh_cidr: str | None = None
    account: str | None = None
    endpoint_url: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_defaults(cls, data: object) -> object:
        """Keep of a group of options what differs from the defaults of its model."""
        if not isinstance(data, Mapping):
            return data
        groups = {name: _given(name, value) for name, value in data.items() if _is_group(value)}
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


def _is_group(value: object) -> bool:
    return isinstance(value, Mapping | Options)


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


class Scope(Frozen):
    """Where a lease's things are found again by their tags; nothing secret. `ca_file` and
    `insecure` say how the endpoint is trusted."""

    provider: str
    account: str | None = None
    region: str | None = None
    endpoint: str | None = None
    ca_file: str | None = None
    insecure: bool = False


class PricePart(Frozen):
    """What an hour of one part of a rental costs: the machine, a disk, an address.

    `hourly_usd` is None where no price is known. At least `minimum_s` seconds are billed. `source`
    says where the price was read, and when.
    """

    name: str
    hourly_usd: float | None
    minimum_s: float = 0.0
    source: str = ""


class Rental(Frozen):
    """What will be rented: a RentSpec resolved by read-only calls, before anything costs money.

    `zones` are tried in order. `offer` says in one line what will be rented, `promise` what its
    disk promises. `cores` and `memory_bytes` are the machine's, for planning before it exists.
    `prices` are those of its parts, and `hourly_usd` their sum, None unless all are known; what
    transactions cost comes on top (catalog/prices/cost.py). `details` is the provider's own, JSON
    only, and all that `acquire` needs beside the rest. It names no secret.
    """

    scope: Scope
    spec: RentSpec
    cloud: str | None = None
    """Whose catalogue the disk stands in; None: the provider's own name."""
    offer: str
    promise: str = ""
    zones: tuple[str, ...] = ()
    instance_type: str | None = None
    image: str | None = None
    disk: DiskSpec | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    hourly_usd: float | None = None
    prices: tuple[PricePart, ...] = ()
    warnings: tuple[str, ...] = ()
    holds_credit: bool = False
    """Filling the disk spends no burst credit (ports.HoldsCredit)."""
    details: dict[str, Any] = Field(default_factory=dict)

    @property
    def catalogue(self) -> str:
        """The provider whose catalogue lists the disk."""
        return self.cloud or self.scope.provider

    @property
    def promise_words(self) -> str:
        """`promise`, and of several disks that it is each one's; empty where it is."""
        several = self.disk is not None and self.disk.count > 1
        return f"each disk: {self.promise}" if several and self.promise else self.promise


class Claim(Frozen):
    """What every rented resource carries, to be found again (docs/design.md#conventions)."""

    lease_id: str
    expires_at: float
    """Unix seconds; after it everything of the lease may be taken away by anybody."""
    owner: str
    version: str
    turn: int = Field(default=1, ge=1)
    """Which of the trials that share the machine in turn; it distinguishes their disks."""


class LeaseEnd(Frozen):
    """When a lease ends from now on: `expires_at` in Unix seconds, and `left_s`, how many seconds
    that is from now by the database's clock (the guest's clock may be wrong)."""

    expires_at: float
    left_s: float


class Found(Frozen):
    """What is left of a lease, as listed: `resources` are `kind id` texts, in no order.

    `not_ours` carry the lease's tags, too, but another name: they were copied. `owner` is who
    the tags of `resources` say rented it (the setting `owner`, in the characters that the cloud
    takes), and `expires_at` (Unix seconds) what they say of its end; None where they do not.
    """

    lease_id: str
    scope: Scope
    expires_at: float | None = None
    owner: str | None = None
    resources: tuple[str, ...] = ()
    not_ours: tuple[str, ...] = ()

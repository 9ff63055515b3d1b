"""What a provider brings to diskbench, as one frozen value: the contract of an entry point.

An entry point of the group `diskbench.providers` names a Plugin. Everything heavy in it (the
provider's class, its model of options, its catalogue) is a reference that is imported when it is
first needed, so that a command which only lists providers imports no cloud's SDK and no pydantic.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Reference = str
"""`package.module:attribute`, as in entry points."""


@dataclass(frozen=True)
class GuestIdentity:
    """How a guest shows that it is a machine of this provider.

    Any hypervisor can write a cloud's name into its firmware, so `firmware` only says where the
    guest claims to run. `proof` is a POSIX shell script that runs inside the guest and prints what
    only a machine of that cloud can know; `is_instance` decides whether the printed text belongs to
    the instance id that the control plane gave the machine.
    """

    firmware: tuple[Mapping[str, str], ...]
    """Each mapping is DMI field (`sys_vendor`, `chassis_asset_tag` …) → regular expression that is
    searched in its value; a guest whose fields match all of one mapping is this provider's."""
    proof: str = ""
    is_instance: Callable[[str, str], bool] | None = None
    """(what `proof` printed, instance id) → whether it is that machine; None: never proved."""
    needs_root: bool = False
    """Whether `proof` runs as root."""
    type_in_product: bool = False
    """Whether DMI's `product_name` is the instance type itself (`m5.large`)."""
    network_nvme_models: tuple[str, ...] = ()
    """What the model of an NVMe device holds when a network disk stands behind it."""


@dataclass(frozen=True)
class Plugin:
    """A provider: what diskbench knows of it without importing it.

    `name` is what `--provider` takes and is stored in results; it never changes. `title` is the
    name for people (`Fake cloud`), `summary` the line that `diskbench providers` prints.
    """

    name: str
    title: str
    summary: str
    provider: Reference
    """What makes the provider: a class or function without required arguments that returns a
    diskbench.ports.Provider."""
    rents: bool = False
    """Whether it makes machines and disks (diskbench.ports.Renter)."""
    options: tuple[Reference, ...] = ()
    """pydantic models whose fields are the provider's own options of `diskbench run`, each also a
    field of a matrix (docs/contributing/provider.md). Field names are unique among them."""
    account_option: str | None = None
    """The own option that names who pays (a project, a subscription); it becomes
    RentSpec.account and Scope.account."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Common option of renting that means nothing to this provider → what to do instead."""
    promise_by_owner: bool = False
    """Whether `--promise` says what a disk should do, because no catalogue knows it."""
    zone_region: str | None = None
    """Regular expression whose first group is the region of a zone's name; None: not told."""
    place_option: str = "region"
    """The option whose value says where a cell is, for limits of a matrix (`PROVIDER/PLACE`)."""
    one_at_a_time: bool = False
    """Whether cells at one place measure one after the other: it is one machine."""
    throughput_unit_bytes: int = 2**20
    """Bytes a second in one unit of `--throughput` as the provider sells it: MiB/s or MB/s."""
    names_are_private: bool = False
    """Whether its regions, zones and machines have names that their owner gave: an anonymous site
    leaves them out."""
    label: str = ""
    """The name in legends of charts (`server`); "": there it is one of the others."""
    guest: GuestIdentity | None = None
    catalogue: str | None = None
    """`package:folder` with limits.yaml, machines.yaml, prices.yaml and charges.yaml, as far as it
    has them (catalog/yaml_loader.py; docs/contributing/disk-type.md); None without a catalogue."""
    errors: Reference | None = None
    """The table that turns the provider's own error codes into diskbench's errors."""
    quiet_loggers: tuple[str, ...] = ()
    """Loggers of its libraries that are silenced unless --debug is given."""

    def region_of(self, zone: str) -> str | None:
        """The region that a zone's name tells; None where names tell none."""
        found = re.fullmatch(self.zone_region, zone) if self.zone_region else None
        return found[1] if found else None

    def load(self) -> Any:  # noqa: ANN401 - ports.Provider stands above this module
        """A new provider (a diskbench.ports.Provider)."""
        return resolve(self.provider)()

    def option_models(self) -> tuple[Any, ...]:
        """The pydantic model classes of `options`, imported."""
        return tuple(resolve(reference) for reference in self.options)


def resolve(reference: Reference) -> Any:  # noqa: ANN401 - whatever stands there
    """The object that `module:attribute` names. Raises ImportError or AttributeError."""
    module, _, attribute = reference.partition(":")
    found: Any = importlib.import_module(module)
    for name in attribute.split("."):
        found = getattr(found, name)
    return found

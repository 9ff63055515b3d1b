"""What a provider contributes to diskbench, as one frozen value: the contract of an entry point.

An entry point of the group `diskbench.providers` names a Plugin. Everything heavy in it (the
provider's class, its model of options, its catalogue) is a reference that is imported when it is
first needed, so that a command which only lists providers imports no cloud's SDK and no pydantic.
"""

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Reference = str
"""`package.module:attribute`, as in entry points."""


@dataclass(frozen=True)
class GuestIdentity:
    """How a guest shows that it is a machine of this provider.

    Any hypervisor can write a cloud's name into its firmware, so `firmware` only says where the
    guest claims to run. `proof` is a POSIX shell script that runs inside the guest and prints data
    that only a machine of that cloud can read; `is_instance` decides whether the printed text
    belongs to the instance id that the control plane gave the machine.
    """

    firmware: tuple[Mapping[str, str], ...]
    """Each mapping is DMI field (`sys_vendor`, `chassis_asset_tag` …) → regular expression that is
    searched in its value; a guest whose fields match all of one mapping is this provider's."""
    proof: str = ""
    is_instance: Callable[[str, str], bool] | None = None
    """(output of `proof`, instance id) → whether it is that machine; None: it cannot be proved."""
    needs_root: bool = False
    """Whether `proof` runs as root."""
    machine_type: str = ""
    """A POSIX shell script that runs inside the guest, without credentials, and prints the name of
    its machine type, or a path that ends in it."""
    type_in_product: bool = False
    """Whether DMI's `product_name` is the instance type itself (`m5.large`)."""
    network_nvme_models: tuple[str, ...] = ()
    """Substrings of the NVMe model name that mark a network disk."""


@dataclass(frozen=True)
class Redaction:
    """What is removed from a recording of `diskbench doctor --live`, besides what is private in any
    cloud: UUIDs, addresses of machines and of people, keys, tokens, and the values typed for the
    account. Each removed value is replaced by a numbered one, the same for the same value.
    """

    variables: tuple[str, ...] = ()
    """Environment variables whose values are secret or name a person."""
    options: tuple[str, ...] = ()
    """Options of `run`, own ones and common ones, whose values are private."""
    fields: tuple[str, ...] = ()
    """Fields of JSON, XML and forms whose values are left out: user data, tags, passwords."""
    names: tuple[str, ...] = ()
    """Regular expressions whose first group is a name that the owner chose (of a folder, a
    network); it is then removed wherever it stands as a word."""
    patterns: Mapping[str, str] = field(default_factory=dict)
    """Regular expression without groups, whose match is private → what replaces it, with `{n}` for
    the number: `{r"\\b\\d{12}\\b": "{n:012d}"}`."""
    public: tuple[str, ...] = ()
    """Regular expressions of values that a pattern or a name finds and that everybody knows: the
    owners of public images, words of the cloud's own API. A secret is removed all the same."""


@dataclass(frozen=True, eq=False)
class Plugin:
    """A provider: what diskbench knows about it without importing it.

    `name` is what `--provider` takes and is stored in results; it never changes. `title` is the
    name for people (`Fake cloud`), `summary` the line that `diskbench providers` prints.
    """

    name: str
    title: str
    summary: str
    provider: Reference
    """A class or function without required arguments that returns a diskbench.ports.Provider."""
    rents: bool = False
    """Whether it makes machines and disks (diskbench.ports.Renter)."""
    options: tuple[Reference, ...] = ()
    """pydantic models whose fields are the provider's own options of `diskbench run`, each also a
    field of a matrix (docs/contributing/provider.md). Field names are unique among them."""
    account_option: str | None = None
    """The provider's own option that names the billed account (a project, a subscription); it
    becomes RentSpec.account and Scope.account."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Common renting option that this provider does not support → what to do instead."""
    promise_by_owner: bool = False
    """Whether `--promise` gives the expected rates of a disk, because no catalogue has them."""
    zone_region: str | None = None
    """Regular expression whose first group is the region in a zone's name; None where zone names
    hold no region."""
    place_option: str = "region"
    """The option whose value is the place of a cell, for limits of a matrix (`PROVIDER/PLACE`)."""
    one_at_a_time: bool = False
    """Whether cells at one place run one after the other, because the place is one machine."""
    throughput_unit_bytes: int = 2**20
    """Bytes a second in one unit of `--throughput` as the provider sells it: MiB/s or MB/s."""
    names_are_private: bool = False
    """Whether the owner named its regions, zones and machines; an anonymous site omits them."""
    label: str = ""
    """The name in legends of charts (`server`); "": charts group it under the others."""
    guest: GuestIdentity | None = None
    catalogue: str | None = None
    """`package:folder` with any of limits.yaml, machines.yaml, prices.yaml, charges.yaml,
    regions.yaml
    (catalog/yaml_loader.py; docs/contributing/provider.md); None without a catalogue."""
    errors: Reference | None = None
    """The table that turns the provider's own error codes into diskbench's errors."""
    redaction: Redaction = Redaction()
    """What is private in its requests and answers (docs/contributing/provider.md)."""
    quiet_loggers: tuple[str, ...] = ()
    """Loggers of its libraries that are silenced unless --debug is given."""

    @property
    def takes_tags(self) -> bool:
        """Whether what it makes carries the user's own tags (--tag)."""
        return self.rents and "tag" not in self.refuses

    def region_of(self, zone: str) -> str | None:
        """The region of `zone` by its name; None where zone names hold no region."""
        match = re.fullmatch(self.zone_region, zone) if self.zone_region else None
        return match[1] if match else None

    def load(self) -> Any:  # noqa: ANN401 - ports.Provider stands above this module
        """A new provider (a diskbench.ports.Provider)."""
        return resolve(self.provider)()

    def option_models(self) -> tuple[Any, ...]:
        """The pydantic model classes of `options`, imported."""
        return tuple(resolve(reference) for reference in self.options)


def resolve(reference: Reference) -> Any:  # noqa: ANN401 - whatever stands there
    """The object that `module:attribute` names. Raises ImportError or AttributeError."""
    module, _, attribute = reference.partition(":")
    target: Any = importlib.import_module(module)
    for name in attribute.split("."):
        target = getattr(target, name)
    return target

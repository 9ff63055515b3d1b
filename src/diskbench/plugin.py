"""What a provider contributes to diskbench, as one frozen value: the contract of an entry point;
and the installed plugins by name, ours and those of other packages.

An entry point of the group `diskbench.providers` names a Plugin. Everything heavy in it (the
provider's class, its model of options, its catalogue) is a reference that is imported when it is
first needed, so that a command which only lists providers imports no cloud's SDK and no pydantic.

A package whose provider cannot be loaded does not affect other providers: code that visits all
providers skips it with one warning, and code that names it gets ProviderBroken.
"""

import functools
import importlib
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

from diskbench.errors import DiskbenchError, ProviderBroken, UnknownName

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
    regions.yaml (catalog/shipped.py; docs/contributing/provider.md); None without one."""
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


T = TypeVar("T")

ENTRY_POINT_GROUP = "diskbench.providers"
_warned: set[str] = set()
"""The providers that a warning of this process named."""


def plugin_names() -> tuple[str, ...]:
    """The names of all installed plugins, sorted; imports none of them."""
    return tuple(sorted({point.name for point in _entry_points()}))


@functools.cache
def plugin(name: str) -> Plugin:
    """The plugin `name`. Raises UnknownName with the nearest names, and ProviderBroken for an entry
    point that cannot be loaded or names no Plugin with that name."""
    for point in (one for one in _entry_points() if one.name == name):
        with loading(name):
            loaded = point.load()
            if not isinstance(loaded, Plugin) or loaded.name != name:
                must = f"the entry point must name a diskbench.plugin.Plugin called {name!r}"
                raise TypeError(must)
            # An invalid expression would fail where it is used, for guests of any provider.
            firmware = loaded.guest.firmware if loaded.guest is not None else ()
            patterns = [pattern for marks in firmware for pattern in marks.values()]
            for pattern in (loaded.zone_region or "", *patterns):
                re.compile(pattern)
            return loaded
    raise UnknownName("provider", name, plugin_names(), field="provider")


@functools.cache
def plugins() -> tuple[Plugin, ...]:
    """All installed plugins that can be loaded, sorted by name."""
    return tuple(working(plugin_names(), plugin).values())


def known_plugin(name: str) -> Plugin | None:
    """The plugin `name`, or None: stored results may be of a provider that is not installed, or
    cannot be loaded."""
    return working([name], plugin).get(name) if name in plugin_names() else None


def working(names: Iterable[str], load: Callable[[str], T]) -> dict[str, T]:
    """What `load` returns for each provider, by its name and in order. One for which it raises
    ProviderBroken is left out, with a warning the first time."""
    loaded: dict[str, T] = {}
    for name in names:
        try:
            loaded[name] = load(name)
        except ProviderBroken as error:
            _warn(name, str(error).replace("\n ", ";"))
    return loaded


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn whatever a part of the provider's package raises while it is loaded into ProviderBroken,
    which names the entry point, the package and the error."""
    try:
        yield
    except ProviderBroken:
        raise
    except Exception as error:
        point = _entry_point(name)
        why = (
            error.message
            if isinstance(error, DiskbenchError)
            else f"{type(error).__name__}: {error}"
        )
        package = point.dist.name if point.dist is not None else "its package"
        raise ProviderBroken(
            f"provider {name!r} cannot be loaded (entry point {point.value} of {package}): {why}",
            advice=f"install {package} again, or uninstall it; the other providers work",
            field="provider",
        ) from error


@functools.cache
def network_nvme_models() -> frozenset[str]:
    """The `network_nvme_models` of all installed plugins."""
    guests = (installed.guest for installed in plugins() if installed.guest is not None)
    return frozenset(model for guest in guests for model in guest.network_nvme_models)


@functools.cache
def catalogue_folder(name: str, reference: str) -> Traversable:
    """The folder that `package:folder` of a provider's plugin names. Raises ProviderBroken."""
    package, _, inside = reference.partition(":")
    with loading(name):
        folder = resources.files(package) / inside
        if not folder.is_dir():
            raise FileNotFoundError(f"its catalogue {reference!r} is not a folder (package:folder)")
    return folder


def _warn(name: str, message: str) -> None:
    """Warn of the first fault of a provider; a process repeats nothing and adds nothing to it."""
    if name not in _warned:
        _warned.add(name)
        logging.getLogger(__name__).warning("%s", message)


def _entry_point(name: str) -> metadata.EntryPoint:
    return next(point for point in _entry_points() if point.name == name)


@functools.cache  # reads the metadata of every installed package: 11 ms
def _entry_points() -> metadata.EntryPoints:
    return metadata.entry_points(group=ENTRY_POINT_GROUP)

"""The contract tests' needs: a provider, direct access to its cloud, and a RentWatch."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import SecretBytes

from diskbench.catalog.books import Books
from diskbench.hosts.local import LocalHost
from diskbench.hosts.ssh import SshHost
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, Claim, Rental, Scope, SshAccess
from diskbench.model.spec import Cell, TargetSpec
from diskbench.ports import Host, Renter


class Rig(Protocol):
    """A provider under test, and access to its cloud beyond a user's."""

    provider: Renter
    spec: RentSpec
    """A small disk that the cloud sells, with a size."""
    wrong: tuple[RentSpec, ...]
    """Specs that the cloud does not sell; each must be refused before anything is rented."""

    def count(self, lease_id: str) -> int:
        """The number of resources that carry the lease, counted without the provider."""
        ...

    def ends(self, lease_id: str) -> set[float]:
        """The expiries of the lease's resources in Unix seconds, from every resource's tags and
        every machine's dead-man's switch, read without the provider; a set of one where they
        agree."""
        ...

    def add_leftover(self, lease_id: str) -> None:
        """Make a resource with the lease's tags and a name of the lease, of a kind that
        `acquire` never makes."""
        ...

    def add_copy(self, lease_id: str) -> str:
        """Make a resource of another name with the lease's tags, as tools that copy tags do;
        returns its kind and id as `Found.not_ours` has them."""
        ...

    def is_there(self, copy: str) -> bool:
        """Whether what `add_copy` returned still exists, read without the provider."""
        ...


@dataclass
class RigOnlooker:
    """A RentWatch that keeps the notes, and stops on request."""

    notes: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    on_note: Callable[[], None] = lambda: None

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.on_note()

    def stopping(self) -> bool:
        return self.stop.is_set()

    def span(self, _name: str) -> AbstractContextManager[None]:
        return nullcontext()

    def host(self, access: SshAccess, address: str) -> Host:
        return SshHost(address, config=access.config)

    def secret(self) -> SecretBytes:
        return SecretBytes(b"0" * 64)


def cell(rig: Rig, spec: RentSpec | None = None) -> Cell:
    """A cell that rents `spec`, or the rig's own disk."""
    return Cell(
        provider=rig.provider.name,
        target=TargetSpec(kind="device", path=""),
        rent=spec or rig.spec,
        profile="quick",
    )


def larger(rig: Rig) -> RentSpec:
    """The rig's disk, twice as large."""
    size = rig.spec.size_gib
    assert size is not None, "a rig's spec has a size"
    return rig.spec.model_copy(update={"size_gib": 2 * size})


def claim(lease_id: str, expires_at: float = 4e9, turn: int = 1) -> Claim:
    """A claim of the owner `tests` that ends at `expires_at` (Unix seconds), in the year 2096."""
    return Claim(lease_id=lease_id, expires_at=expires_at, owner="tests", version="0", turn=turn)


def resolved(rig: Rig, spec: RentSpec | None = None) -> Rental:
    """What the provider would rent by the shipped catalogue; raises what `resolve` raises."""
    return rig.provider.resolve(cell(rig, spec), Books())


def scope_of(rig: Rig) -> Scope:
    """The scope in which the rig's disk is rented."""
    return resolved(rig).scope


def acquire(rig: Rig, lease_id: str, onlooker: RigOnlooker | None = None) -> Acquired:
    """Rent the rig's disk; raises what `acquire` raises."""
    return rig.provider.acquire(claim(lease_id), resolved(rig), onlooker or RigOnlooker())


def guest_of(acquired: Acquired) -> Host:
    """A connection to the machine: over SSH, or this machine where there is no address. The
    caller closes it."""
    if acquired.ssh is None:
        return LocalHost()
    return SshHost(acquired.address, config=acquired.ssh.config)

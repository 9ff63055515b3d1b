"""The edges of the world as the engine sees them. Each docstring is the contract that
`tests/contract/` holds every adapter to, the fakes included."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import SecretBytes

from diskbench.catalog.books import Books
from diskbench.catalog.overlay import Overlay
from diskbench.limits import RECORD_BYTES
from diskbench.model.disk import Acquired, SshAccess
from diskbench.model.finding import Finding, Quota
from diskbench.model.rental import Claim, Found, LeaseEnd, Rental, Scope
from diskbench.model.spec import Cell
from diskbench.visible import UNKNOWN


@dataclass(frozen=True)
class Completed:
    """How a command ended on a host."""

    exit: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """Standard output as text; undecodable bytes, and NULs that no database keeps, are
        replaced."""
        return self.stdout.decode(errors="replace").replace("\0", UNKNOWN)


class Host(Protocol):
    """A machine on which commands run.

    A Host is used by one thread at a time. It connects at first use and reconnects by itself at
    the next call after a broken connection; it never repeats a command by itself, because only the
    caller knows whether the command may run twice. A command that was running when the connection
    broke raises ConnectionLost and may or may not have run to its end.
    """

    name: str

    def connect(self) -> None:
        """Connect now unless connected; raises as `run` does. Lets a caller time it, no more."""
        ...

    def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 60.0, root: bool = False
    ) -> Completed:
        """Run `script` with POSIX sh and wait for it.

        `root=True` runs it as root: directly when the user is root, else through `sudo -n`;
        raises HostUnavailable when neither is possible. A non-zero exit is returned, not raised.
        Raises ConnectionLost when the connection breaks or `timeout_s` passes, LimitExceeded when
        it prints more than `limits.COMMAND_BYTES`, HostUnavailable when the host cannot be
        reached, trusted or logged in to. A host that was reached before and
        no longer answers is ConnectionLost: it may come back.
        """
        ...

    def stream(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 30.0, root: bool = False
    ) -> Iterator[bytes]:
        """Yield the standard output of `script` line by line as it comes, without line ends.

        `timeout_s` is the longest silence borne: after it, or when the connection breaks,
        ConnectionLost is raised; LimitExceeded for a line or stream beyond those of `limits`. Ends
        when the script ends; its exit status is not looked at.
        Closing the iterator ends the script's connection, not what it started.
        """
        ...

    def put(self, path: str, data: bytes, *, mode: int = 0o600, root: bool = False) -> None:
        """Write a file atomically (temporary name, then rename); twice is as once."""
        ...

    def fetch(
        self, script: str, sink: "ByteSink", *, timeout_s: float = 60.0, root: bool = False
    ) -> int:
        """Run `script` and copy its standard output to `sink`; returns its exit status.

        Raises ConnectionLost when the connection breaks or is silent for `timeout_s`; what reached
        the sink is then partial.
        """
        ...

    def close(self) -> None:
        """Give back the connection; any number of times."""
        ...


class ByteSink(Protocol):
    """Somewhere bytes can be written to."""

    def write(self, data: bytes, /) -> object:
        """Take `data`."""
        ...


@runtime_checkable
class EvidenceStore(Protocol):
    """Write-once files under slash-separated keys in any object store."""

    url: str

    def put(self, key: str, data: bytes | Path) -> None:
        """Write `data`, or a file of any size, once. The same bytes again are accepted, others
        raise StoreUnavailable."""
        ...

    def get(self, key: str, *, limit: int = RECORD_BYTES) -> bytes:
        """The bytes of `key`; raises KeyError when there are none, LimitExceeded when there are
        more than `limit`."""
        ...

    def copy(self, key: str, sink: "ByteSink") -> None:
        """Write the bytes of `key` to `sink`, piece by piece; raises KeyError when there are
        none."""
        ...

    def replace(self, key: str, data: bytes) -> None:
        """Write `data`, also over what `key` holds: for records of ours, which tell how something
        stands, or cannot be read any more."""
        ...

    def list(self, prefix: str) -> Sequence[str]:
        """All keys that start with `prefix/`, sorted."""
        ...

    def folders(self, prefix: str) -> Sequence[str]:
        """The names directly under `prefix/` that have keys below them, sorted."""
        ...

    def delete(self, prefix: str) -> None:
        """Delete all keys that start with `prefix/`; none is as well."""
        ...

    def check_writable(self) -> None:
        """Write, read and delete a probe; raises StoreUnavailable naming URL and cause."""
        ...


class Provider(Protocol):
    """Where a machine with a disk comes from. What more it can do is a small protocol of its own,
    so that a provider's type says it (docs/design.md#abilities). What diskbench knows of it before
    it is made is its diskbench.plugin.Plugin.

    A provider that is no Renter measures machines that are there: `cell.address`, or this one.
    """

    name: str

    def check(self, cell: Cell) -> None:
        """Refuse what can be known without a call and without a machine; raises UserError."""
        ...


class RentWatch(Protocol):
    """Who looks on while something is rented."""

    def note(self, text: str) -> None:
        """Something happened that a person wants to see: `volume vol-0abc is attached`."""
        ...

    def stopping(self) -> bool:
        """Whether to give up; asked between calls and while waiting."""
        ...

    def span(self, name: str) -> AbstractContextManager[None]:
        """Counts the time spent inside as a part of renting called `name` (`volume`, `SSH`)."""
        ...

    def host(self, access: SshAccess, address: str) -> Host:
        """The machine at `address`, reached and verified by `access`; connects at first use. The
        caller closes it."""
        ...

    def secret(self) -> SecretBytes:
        """What the keys of leases derive from: the same for every process that may take a lease
        over. Raises InvalidValue when there is none that can be used."""
        ...


@runtime_checkable
class Renter(Provider, Protocol):
    """A provider that makes machines and disks, and gives them back.

    Names, tags and client tokens of everything it makes derive from `claim.lease_id`, so that the
    second time finds what the first one made.
    """

    def resolve(self, cell: Cell, books: Books) -> Rental:
        """What would be rented for `cell`, by read-only calls, chosen and priced by `books`; raises
        UserError with the offending value and what is allowed. Rents nothing."""
        ...

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """The machine and disk of `rental`, made or found by its lease; twice is as once.

        Returns when the machine answers SSH with the expected host key, its disk is found inside
        by identity and size, and what the provider reports is what was asked for. May leave a part
        behind when it raises: the caller releases. Raises RentalFailed (capacity, a resource
        that never became ready, something other than asked for), UserError (credentials,
        permission, quota) or Interrupted when `watch.stopping()` turns true.
        """
        ...

    def release(
        self,
        lease_id: str,
        scope: Scope,
        *,
        made: Sequence[str] = (),
        copied: Sequence[str] = (),
    ) -> None:
        """Give back everything that was made for `lease_id`, in the order of dependence, to the
        end, and verify by listing; nothing left to give is as well. May be called while another
        process is still in `acquire`.

        A thing was made for the lease when it carries its tag and its name, and is among `made`
        (Acquired.made) where that has anything of its kind. What else carries the tag is left
        alone and logged as a warning. `copied` names such things, as `Found.not_ours` has them,
        that a person wants deleted: then these are deleted, and nothing else.

        Raises ReleaseFailed once, naming everything that is left and why.
        """
        ...

    def found(self, scope: Scope) -> Sequence[Found]:
        """Every lease of which anything is left in `scope`, and everything that carries the tags of
        one without its name, by listing; raises UserError."""
        ...

    def gone(self, lease_id: str, scope: Scope) -> str | None:
        """Why the lease's machine will not answer any more (`i-0abc was terminated: …`), or None
        while it may. Asked when SSH does not answer."""
        ...


@runtime_checkable
class SwapsDisks(Renter, Protocol):
    """A renter that can give a machine other disks, so that trials may use it in turn."""

    def check_swap(self, cell: Cell) -> None:
        """Refuse a cell that cannot share its machine, without a call; raises UserError: its disk
        comes with the machine, or the machine follows from its disk."""
        ...

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """The machine of `claim.lease_id` with the disks of `rental` in place of those of earlier
        turns, which are detached and deleted; twice is as once. `claim.turn` is 2 or more: the
        first disks are `acquire`'s.

        `rental` was resolved for the zone that the machine is in, and describes the same machine.
        Nothing of an earlier turn may be mounted. Returns and raises as `acquire` does, and raises
        RentalFailed for a machine that is gone. `release` and `found` take disks of every turn.
        """
        ...


@runtime_checkable
class Regional(Protocol):
    """A renter whose leases are listed region by region, so that one which does not answer hides
    none of the others."""

    def regions(self, scope: Scope) -> Sequence[str]:
        """Every region in which `scope` may have something; raises UserError."""
        ...


@runtime_checkable
class Examinable(Protocol):
    """A provider that can say beforehand whether renting from it would work."""

    def examine(self, scope: Scope) -> Sequence[Finding]:
        """Who we are there, what we may do, and how far our clock is off, by calls that change
        nothing. What goes wrong is a finding; nothing is raised."""
        ...


@runtime_checkable
class Metered(Protocol):
    """A provider whose accounts may have only so much at once."""

    def quotas(self, scope: Scope) -> Sequence[Quota]:
        """The quotas of `scope.region` that renting counts against, by calls that change nothing.
        Raises UserError."""
        ...


@runtime_checkable
class Governed(Protocol):
    """A provider that must be allowed what it does, by a policy that somebody writes."""

    def policy(self) -> str:
        """The least that must be allowed, in the form that the cloud's own tools take."""
        ...


@runtime_checkable
class Foresees(Protocol):
    """A renter that can say without a call what it would probably rent."""

    def foresee(self, cell: Cell, books: Books) -> Rental:
        """What `resolve` is expected to answer, by `books` alone: None for a machine, a
        price or an image that it does not know. Raises UserError as `check` does."""
        ...


@runtime_checkable
class Refreshes(Protocol):
    """A provider whose cloud tells limits and prices of its machines and disks by API."""

    def refreshed(self, books: Books) -> Overlay:
        """What the cloud says today of the things that `books` knows, to be laid over the shipped
        catalogue. Changes nothing."""
        ...


@runtime_checkable
class EndsMachines(Protocol):
    """A renter whose cloud itself ends a machine that nobody gives back, by a switch that is set
    when it is made and needs no controller."""

    def ends_by(self) -> str:
        """What the switch is and what it does then, in a few words."""
        ...


@runtime_checkable
class ExtendsLeases(Protocol):
    """A renter that can move the end of a lease in all places where it stands: the timer in the
    guest, the cloud's own switch that ends the machine, and the tags. Where one of them cannot be
    moved, a renter does not implement this protocol."""

    def extend(
        self, lease_id: str, scope: Scope, end: LeaseEnd, guest: "Host", made: Sequence[str] = ()
    ) -> None:
        """Let everything that was made for the lease end at `end`; `found` then reports that end.
        `guest` is the lease's machine and `made` is `Acquired.made`, as in `release`. Twice is as
        once. A thing that only carries a copy of the tags keeps its own end.

        What switches the machine off is moved first, the tag that `found` reads last: an extension
        that fails half-way leaves the earlier end on the tags, and never a tag that promises more
        time than the switch leaves. Raises DiskbenchError then.
        """
        ...


@runtime_checkable
class Caches(Protocol):
    """A renter whose machines can keep what is read or written of a disk: host caching."""

    def host_caches(self) -> Sequence[str]:
        """What `--cache` may be there."""
        ...


@runtime_checkable
class Provisions(Protocol):
    """A renter that sells IOPS or throughput of a disk apart from its size."""

    def provisioned(self) -> Sequence[str]:
        """The disk types whose `--iops` or `--throughput` are chosen."""
        ...


@runtime_checkable
class TellsTime(Protocol):
    """A renter whose cloud says what time it is."""

    def present(self, scope: Scope) -> datetime:
        """The cloud's own present, UTC, by a call that changes nothing. Raises UserError."""
        ...


@runtime_checkable
class HoldsCredit(Protocol):
    """A renter whose disks' burst credit can be held while they are filled (the lab)."""

    def set_credit(self, lease_id: str, *, on: bool) -> None:
        """Let credit move, or hold it; in force when this returns, twice is as once."""
        ...


class Clock(Protocol):
    """Time, so that tests need not wait for it."""

    def utc(self) -> str:
        """Now, as ISO 8601 in UTC with microseconds."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that never go backward."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

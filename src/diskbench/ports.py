"""The protocols through which the engine reaches hosts, stores and clouds. Each docstring is the
contract that `tests/contract/` tests on every adapter, the fakes included."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import SecretBytes

from diskbench.catalog.books import Books, Overlay
from diskbench.limits import RECORD_BYTES
from diskbench.model.finding import Finding, Quota
from diskbench.model.metrics import CloudMetric
from diskbench.model.rental import Acquired, Claim, Found, LeaseEnd, Rental, Scope, SshAccess
from diskbench.model.result import StepResult, Tick
from diskbench.model.spec import Cell, Plan, Step
from diskbench.visible import UNKNOWN


class ByteSink(Protocol):
    """A destination for bytes: a file, or whatever else has `write`."""

    def write(self, data: bytes, /) -> object:
        """Write the bytes."""


@dataclass(frozen=True)
class Completed:
    """How a command ended on a host."""

    exit: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """Standard output as text; undecodable bytes and NULs, which no database stores, are
        replaced."""
        return self.stdout.decode(errors="replace").replace("\0", UNKNOWN)


Stdin = bytes | Callable[[Callable[[bytes], None]], None]
"""The standard input of a script, or who is given what writes to it as long as the script runs;
where the connection broke that does nothing."""


class Host(Protocol):
    """A machine on which commands run.

    A Host is used by one thread at a time. It connects at first use and reconnects by itself at
    the next call after a broken connection; it never repeats a command by itself, because only the
    caller knows whether the command may run twice. A command that was running when the connection
    broke raises ConnectionLost and may or may not have run to its end.
    """

    name: str

    def connect(self) -> None:
        """Connect now unless connected, so that a caller can time it. Raises as `run` does."""
        ...

    def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 60.0, root: bool = False
    ) -> Completed:
        """Run `script` with POSIX sh and wait for it.

        `root=True` runs it as root: directly when the user is root, else through `sudo -n`;
        raises HostUnavailable when neither is possible. A non-zero exit is returned, not raised.
        Raises ConnectionLost when the connection breaks or `timeout_s` passes, LimitExceeded when
        it prints more than `limits.COMMAND_BYTES`, HostUnavailable when the host cannot be
        reached, trusted or logged in to. A host that was reached before and no longer answers
        raises ConnectionLost, because it may come back.
        """
        ...

    def stream(
        self, script: str, *, stdin: Stdin = b"", timeout_s: float = 30.0, root: bool = False
    ) -> Iterator[bytes]:
        """Yield the standard output of `script` line by line as it comes, without line ends.

        `timeout_s` is the longest allowed silence: after it, or when the connection breaks,
        ConnectionLost is raised; LimitExceeded for a line or stream beyond those of `limits`. Ends
        when the script ends; its exit status is ignored. Closing the iterator closes the script's
        connection; processes that the script started go on.
        """
        ...

    def fetch(
        self, script: str, sink: "ByteSink", *, timeout_s: float = 60.0, root: bool = False
    ) -> int:
        """Run `script` and copy its standard output to `sink`; returns its exit status.

        Raises ConnectionLost when the connection breaks or is silent for `timeout_s`; the sink
        then holds a part of the output.
        """
        ...

    def close(self) -> None:
        """Close the connection; may be called any number of times."""
        ...


@runtime_checkable
class EvidenceStore(Protocol):
    """Write-once files under slash-separated keys in any object store."""

    url: str

    def put(self, key: str, data: bytes | Path) -> None:
        """Write `data` (bytes, or a file of any size) under a new key. Writing the same bytes again
        is accepted; other bytes raise StoreUnavailable."""
        ...

    def get(self, key: str, *, limit: int = RECORD_BYTES) -> bytes:
        """The bytes of `key`; raises KeyError when there are none, LimitExceeded when there are
        more than `limit`."""
        ...

    def copy(self, key: str, sink: "ByteSink") -> None:
        """Write the bytes of `key` to `sink` in chunks; raises KeyError when there are none."""
        ...

    def replace(self, key: str, data: bytes) -> None:
        """Write `data` to `key`, overwriting it: for records of a changing state, and for records
        that can no longer be read."""
        ...

    def list(self, prefix: str) -> Sequence[str]:
        """All keys that start with `prefix/`, sorted."""
        ...

    def sizes(self, prefix: str) -> Mapping[str, int]:
        """The bytes that each key starting with `prefix/` takes in the store, sorted by key."""
        ...

    def folders(self, prefix: str) -> Sequence[str]:
        """The names directly under `prefix/` that have keys below them, sorted."""
        ...

    def delete(self, prefix: str) -> None:
        """Delete all keys that start with `prefix/`; there may be none."""
        ...

    def remove(self, keys: Iterable[str]) -> None:
        """Delete these keys; any of them may be missing."""
        ...

    def check_writable(self) -> None:
        """Write, read and delete a probe; raises StoreUnavailable with the URL and the cause."""
        ...

    def settle(self, prefix: str = "") -> None:
        """Return when what was put so far under `prefix/`, or all, survives a power failure. Raises
        StoreUnavailable."""
        ...


class Provider(Protocol):
    """A source of machines with disks. Each further ability is a small protocol of its own, so that
    a provider's type shows it (docs/design.md#abilities). What diskbench knows about a provider
    before it is constructed is in its diskbench.plugin.Plugin.

    A command or a worker constructs it once, and all its threads call it.

    A provider that is no Renter measures existing machines: `cell.address`, or this machine.
    """

    name: str

    def check(self, cell: Cell) -> None:
        """Reject a cell by checks that need neither a call nor a machine; raises UserError."""
        ...


class RentWatch(Protocol):
    """The caller of a renter: shows progress, may stop it, opens hosts, knows the secret."""

    def note(self, text: str) -> None:
        """Report progress for a person: `volume vol-0abc is attached`."""
        ...

    def stopping(self) -> bool:
        """Whether to give up; polled between calls and while waiting."""
        ...

    def span(self, name: str) -> AbstractContextManager[None]:
        """Record the time spent inside as the part `name` of renting (`volume`, `SSH`)."""
        ...

    def host(self, access: SshAccess, address: str) -> Host:
        """The machine at `address`, reached and verified by `access`; connects at first use. The
        caller closes it."""
        ...

    def secret(self) -> SecretBytes:
        """The secret from which the keys of leases derive: the same for every process that may take
        over a lease. Raises InvalidValue when there is no usable one."""
        ...


@runtime_checkable
class KeepsSessions(Protocol):
    """A provider that keeps sessions at its cloud (credentials, clients, connections) from one call
    to the next."""

    def close(self) -> None:
        """End all sessions; called when the command or the worker ends. A later call opens new
        ones."""
        ...


@runtime_checkable
class Renter(Provider, Protocol):
    """A provider that makes machines and disks, and gives them back.

    Everything that it makes carries `claim.tags` from the call on that makes it: companies refuse
    what does not. Names, our tags and client tokens derive from `claim.lease_id`, so that a second
    attempt finds what the first one made.
    """

    def resolve(self, cell: Cell, books: Books) -> Rental:
        """The machine and disks to rent for `cell`, found by read-only calls, chosen and priced by
        `books`. Rents nothing. Raises UserError with the offending value and the allowed ones."""
        ...

    def acquire(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """The machine and disk of `rental`, made or found by its lease; idempotent.

        Returns when the machine answers SSH with the expected host key, its disk is found inside
        by identity and size, and the provider reports what was requested. May leave resources
        behind when it raises: the caller releases them. Raises RentalFailed (capacity, a resource
        that never became ready or differs from the request), UserError (credentials, permission,
        quota) or Interrupted when `watch.stopping()` turns true.
        """
        ...

    def release(
        self, lease_id: str, scope: Scope, *, made: Sequence[str] = (), copied: Sequence[str] = ()
    ) -> None:
        """Give back every resource that was made for `lease_id`, dependent ones first, and verify
        by listing. Does not stop at the first failure; there may be nothing left to give back. May
        be called while another process is still in `acquire`.

        A resource was made for the lease when it carries the lease's tag and name and, where `made`
        (Acquired.made) lists resources of its kind, is among them. Other resources with the tag
        are kept and logged as a warning. `copied` names such resources (as `Found.not_ours` does)
        that a person wants deleted: then these are deleted, and nothing else.

        Raises ReleaseFailed once, naming everything that is left and why.
        """
        ...

    def found(self, scope: Scope) -> Sequence[Found]:
        """Every lease with resources left in `scope`, and every resource that carries a lease's
        tags without its name, by listing; raises UserError."""
        ...

    def gone(self, lease_id: str, scope: Scope) -> str | None:
        """Why the lease's machine will not answer any more (`i-0abc was terminated: …`), or None
        while it may. Called when SSH does not answer."""
        ...


@runtime_checkable
class SwapsDisks(Renter, Protocol):
    """A renter that can give a machine other disks, so that trials may use it in turn."""

    def check_swap(self, cell: Cell) -> None:
        """Reject, without a call, a cell that cannot share its machine because its disk comes with
        the machine, or because its disk determines the machine; raises UserError."""
        ...

    def swap(self, claim: Claim, rental: Rental, watch: RentWatch) -> Acquired:
        """The machine of `claim.lease_id` with the disks of `rental` in place of those of earlier
        turns, which are detached and deleted; idempotent. `claim.turn` is 2 or more: `acquire`
        attaches the first disks.

        `rental` was resolved for the zone that the machine is in, and describes the same machine.
        No disk of an earlier turn may be mounted. Returns and raises as `acquire` does, and raises
        RentalFailed for a machine that is gone. `release` and `found` include disks of all turns.
        """
        ...


@runtime_checkable
class SnapshotsDisks(SwapsDisks, Protocol):
    """A renter that can make a snapshot of a disk, and disks from it."""

    def snapshot(
        self, claim: Claim, rental: Rental, fill: Callable[[], None], watch: RentWatch
    ) -> str:
        """The snapshot of the lease's first disk, in the form that `RentSpec.snapshot` takes,
        complete; made or found by its lease. `fill` acquires the first turn and writes to its disk,
        and is called before the snapshot is made; never where there is one. `release` and `found`
        include it. Raises as `acquire` does."""
        ...


@runtime_checkable
class Regional(Protocol):
    """A renter whose leases are listed region by region, so that a region which does not answer
    does not hide the others."""

    def regions(self, scope: Scope) -> Sequence[str]:
        """Every region in which `scope` may have resources; raises UserError."""
        ...


@runtime_checkable
class Examinable(Protocol):
    """A provider that can check in advance whether renting from it would work."""

    def examine(self, scope: Scope) -> Sequence[Finding]:
        """Our identity there, our permissions and the skew of our clock, by read-only calls. A
        failure is reported as a finding; nothing is raised."""
        ...


@runtime_checkable
class Rehearses(Renter, Protocol):
    """A renter whose cloud checks requests without carrying them out."""

    def rehearse(self, rental: Rental) -> Sequence[Finding]:
        """Whether the cloud would accept the requests that `acquire` sends for `rental`, by calls
        that make nothing and cost nothing; one finding of the check `dry run` for each request,
        and one that names the requests that cannot be tried (all by
        `diskbench.providers.skeleton.doctor`). A refused request is a finding. Raises UserError
        where nobody can be asked."""
        ...


@runtime_checkable
class Metered(Protocol):
    """A provider whose accounts have quotas."""

    def quotas(self, scope: Scope) -> Sequence[Quota]:
        """The quotas of `scope.region` that renting counts against, by read-only calls. Raises
        UserError."""
        ...


@runtime_checkable
class Governed(Protocol):
    """A provider whose calls need permissions that an administrator grants by a policy."""

    def policy(self, region: str | None = None) -> str:
        """The smallest sufficient policy, in the format of the cloud's own tools; of the part of
        the cloud in which `region` is."""
        ...


@runtime_checkable
class Foresees(Protocol):
    """A renter that can predict without a call what it would rent."""

    def foresee(self, cell: Cell, books: Books) -> Rental:
        """The predicted result of `resolve`, from `books` alone: an unknown machine, price or image
        is None. Raises UserError as `check` does."""
        ...


@runtime_checkable
class Refreshes(Protocol):
    """A provider whose cloud has an API for limits and prices of its machines and disks."""

    def refreshed(self, books: Books, region: str | None = None) -> Overlay:
        """The cloud's present limits and prices of the entries in `books`, as an overlay of the
        shipped catalogue, in `region` (default: that of the shipped prices). Read-only."""
        ...


@runtime_checkable
class EndsMachines(Protocol):
    """A renter whose cloud itself ends a machine that was not given back, by a switch that is set
    when the machine is made and needs no controller."""

    def ends_by(self) -> str:
        """What the switch is and what it does, in a few words."""
        ...


@runtime_checkable
class ExtendsLeases(Protocol):
    """A renter that can move the end of a lease everywhere it is stored: the timer in the guest,
    the cloud's own switch that ends the machine, and the tags. A renter that cannot move one of
    them does not implement this protocol."""

    def extend(
        self, lease_id: str, scope: Scope, end: LeaseEnd, guest: "Host", made: Sequence[str] = ()
    ) -> None:
        """Set the end of every resource of the lease to `end`; `found` then reports that end.
        `guest` is the lease's machine and `made` is `Acquired.made`, as in `release`. Idempotent.
        A resource that only carries a copy of the tags keeps its own end.

        The switch that ends the machine is moved first, the tag that `found` reads last: an
        extension that fails half-way leaves the earlier end on the tags, so a tag never promises
        more time than the switch leaves. Raises DiskbenchError then.
        """
        ...


@runtime_checkable
class Caches(Protocol):
    """A renter whose hosts can cache reads or writes of a disk."""

    def host_caches(self) -> Sequence[str]:
        """The values that `--cache` accepts."""
        ...


@runtime_checkable
class Provisions(Protocol):
    """A renter that sells IOPS or throughput of a disk separately from its size."""

    def provisioned(self) -> Sequence[str]:
        """The disk types that accept `--iops` or `--throughput`."""
        ...


@runtime_checkable
class TellsTime(Protocol):
    """A renter whose cloud reports its time."""

    def present(self, scope: Scope) -> datetime:
        """The cloud's present time, UTC, by a read-only call. Raises UserError."""
        ...


@runtime_checkable
class HoldsCredit(Protocol):
    """A renter that can freeze the burst credit of its disks while they are filled (the lab)."""

    def set_credit(self, lease_id: str, *, on: bool) -> None:
        """Let credit change (`on`) or freeze it; in effect when this returns; idempotent."""
        ...


@runtime_checkable
class Monitors(Protocol):
    """A renter whose cloud counts by itself what its disks and machines do, and tells it."""

    def metrics(
        self, rental: Rental, acquired: Acquired, since: datetime, until: datetime
    ) -> Sequence[CloudMetric]:
        """What the cloud has counted so far of the measured disks and their machine between two
        times (UTC), by few read-only calls and without waiting for what is not published yet:
        the caller asks again, also once the resources were given back. Empty where it counts
        nothing of such a disk. Raises DiskbenchError where it cannot be asked; the caller then goes
        on without."""
        ...


class Watcher:
    """Receives progress from the threads of the trials; its methods must not block. By itself it
    shows nothing, and passes on notes."""

    def __init__(self, noted: Callable[[str, str], None] = lambda _trial, _text: None) -> None:
        self._noted = noted

    def measuring(self, plan: Plan) -> None:
        """The machine of a trial is there, and its plan is final: it is about to be measured."""

    def step_started(self, trial_id: str, run_index: int, step: Step) -> None:
        """A step is about to run."""

    def tick(self, trial_id: str, tick: Tick) -> None:
        """One second of the running step."""

    def step_finished(self, trial_id: str, result: StepResult) -> None:
        """A step is done and its rows are stored."""

    def note(self, trial_id: str, text: str) -> None:
        """A message for the user: a broken connection, a stop that takes effect."""
        self._noted(trial_id, text)

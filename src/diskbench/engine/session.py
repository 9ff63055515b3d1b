"""The adapters of one process: database, evidence store, hosts. This is the one wiring module, used
by every command that runs, resumes or gives back."""

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from platformdirs import user_data_path
from pydantic import SecretBytes

from diskbench.catalog.books import Books
from diskbench.engine.processes import BEAT_S, enrol, new_id
from diskbench.engine.trial.probe import parsing_once
from diskbench.engine.trial.watch import Timing
from diskbench.errors import DiskbenchError, StoreUnavailable
from diskbench.hosts.ssh import host_at
from diskbench.model.rental import SshAccess
from diskbench.model.spec import Plan
from diskbench.ports import EvidenceStore, Host, Renter
from diskbench.providers.keys import lease_directory, lease_keys, load_secret, write_access
from diskbench.providers.registry import Providers
from diskbench.results.refreshed_catalogue import open_books
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.evidence_place import check_readable, is_same_store
from diskbench.store.executors import beat, remove_executor
from diskbench.store.rows import evidence_url_of

_ENDS_WITHIN_S = 2.0
"""How long `close` waits for background threads, which may be waiting for the database."""


@dataclass
class Session:
    """The stores and connections of a process; hosts stay connected from probe to release."""

    database: sa.Engine
    evidence: EvidenceStore
    executor_id: str
    books: Books
    """The catalogue from which everything in this session is planned."""
    secret_file: Path | None = None
    """The file with the secret from which SSH keys are derived; None: the user's own file."""
    owner: str = "diskbench"
    """The value of the owner tag on everything that is rented."""
    tags: tuple[tuple[str, str], ...] = ()
    """The user's own tags on everything that is rented; those of a plan win."""
    timing: Timing = field(default_factory=Timing)
    providers: Providers = field(default_factory=Providers)
    parse_once: Callable[[Host, Plan], None] = field(default_factory=parsing_once)
    ends_work: Callable[[], bool] = lambda: True
    """Stops the workflow engine where it was launched; returns whether no workflow runs any more.
    """
    hosts: dict[str, Host] = field(default_factory=dict)
    """The connected host of each trial; one that was probed is kept here for the measurement."""
    _over: threading.Event = field(default_factory=threading.Event)
    _background: list[threading.Thread] = field(default_factory=list)
    _stores: dict[str, EvidenceStore] = field(default_factory=dict)
    _evidence: dict[str, EvidenceStore] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def connect(self, plan: Plan) -> Host:
        """The trial's host; each call returns the same object."""
        with self._lock:
            if plan.trial_id not in self.hosts:
                access = self._access(plan)
                config = access.config if access else None
                self.hosts[plan.trial_id] = host_at(plan.address or "", config)
            return self.hosts[plan.trial_id]

    def secret(self) -> SecretBytes:
        """The secret from which keys of rented machines are derived, the same for all workers:
        DISKBENCH_SECRET, else the secret file, created at first use. Raises InvalidValue as
        providers.keys.load_secret."""
        return load_secret(self.secret_file or user_data_path("diskbench") / "secret")

    def renter(self, plan: Plan) -> Renter | None:
        """The provider that rents the plan's machine; None for a machine that exists already."""
        return self.providers.renter(plan.cell.provider) if plan.rental else None

    def evidence_of(self, trial_id: str) -> EvidenceStore:
        """The evidence store of a trial, which never changes: the one in the rows of its runs, or
        this process's own for a trial that has none yet. Raises StoreUnavailable."""
        with self._lock:
            known = self._evidence.get(trial_id)
        if known is not None:
            return known
        url = evidence_url_of(self.database, trial_id)
        if url is None:
            return self.evidence
        with self._lock:
            if url not in self._stores:
                own = is_same_store(url, self.evidence.url)
                if not own:
                    check_readable(url)
                self._stores[url] = self.evidence if own else open_evidence(url)
            self._evidence[trial_id] = self._stores[url]
            return self._stores[url]

    def disconnect(self, plan: Plan) -> None:
        """Close the trial's connection."""
        with self._lock:
            host = self.hosts.pop(plan.trial_id, None)
        if host is not None:
            host.close()

    def _access(self, plan: Plan) -> SshAccess | None:
        """SSH access to the plan's machine. Where a process on another machine began the trial, the
        key is derived again here, from the secret that workers share."""
        access = plan.acquired.ssh if plan.acquired else None
        if access is None or plan.acquired is None or Path(access.config).exists():
            return access
        return write_access(
            plan.lease_id,
            lease_keys(self.secret(), plan.lease_id),
            lease_directory(plan.lease_id),
            address=plan.acquired.address,
            user=access.user,
            port=access.port,
        )

    def keep_running(self, work: Callable[[threading.Event], None]) -> None:
        """Run `work` in a background thread until the session is closed, which sets its event."""
        thread = threading.Thread(target=work, args=(self._over,), daemon=True)
        self._background.append(thread)
        thread.start()

    def close(self) -> None:
        """Close the connections to hosts, stop the workflow engine, remove this process from the
        executors, end the sessions at the clouds, and close the database.

        A process whose workflow still runs after that, in the middle of a call to a cloud, stays
        among the executors until it exits: no other process takes over its trials before.
        """
        with self._lock:
            hosts = list(self.hosts.values())
            self.hosts.clear()
        for host in hosts:  # trials that were suspended
            with contextlib.suppress(Exception):
                host.close()
        if self.ends_work():
            self._over.set()
            for thread in self._background:
                thread.join(_ENDS_WITHIN_S)
            with contextlib.suppress(DiskbenchError):  # another process declares it dead
                remove_executor(self.database, self.executor_id)
            self.providers.close()
        self.database.dispose()


def open_session(
    database_url: str,
    evidence_url: str,
    *,
    books: Books | None = None,
    secret_file: Path | None = None,
    owner: str = "diskbench",
    tags: tuple[tuple[str, str], ...] = (),
    timing: Timing | None = None,
    providers: Providers | None = None,
) -> Session:
    """Open database, evidence store and catalogue, and register this process as an executor with a
    heartbeat. `books` and `providers` are those that the caller has opened already; the session
    closes the providers.

    Raises StoreUnavailable when a store cannot be used, InvalidValue for a refreshed catalogue that
    cannot be read.
    """
    timing = timing or Timing()
    books = books or open_books()
    with timing.span("open stores"):
        database = open_database(database_url)
        evidence = open_evidence(evidence_url)
        evidence.check_writable()
        executor_id = new_id()
        enrol(database, executor_id)
    session = Session(
        database=database,
        evidence=evidence,
        executor_id=executor_id,
        books=books,
        secret_file=secret_file,
        owner=owner,
        tags=tags,
        timing=timing,
        providers=providers or Providers(),
    )

    def keep_beating(over: threading.Event) -> None:
        while not over.wait(BEAT_S):
            # The run's own writes say so where a person sees it.
            with contextlib.suppress(StoreUnavailable):
                beat(database, executor_id)

    session.keep_running(keep_beating)
    return session

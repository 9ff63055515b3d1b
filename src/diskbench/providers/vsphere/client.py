"""All calls to vSphere: sessions, errors translated, calls repeated, tasks awaited; with the
timeouts."""

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote

from diskbench.errors import DiskbenchError, Interrupted, LoggedOut
from diskbench.extras import missing
from diskbench.model.rental import Scope
from diskbench.ports import RentWatch
from diskbench.providers.skeleton.cloud import Sessions, unless_missing
from diskbench.providers.vsphere import errors
from diskbench.providers.vsphere.errors import is_missing, refused, sdk, vim, vmodl
from diskbench.providers.vsphere.login import (
    VsphereServer,
    connect,
    credentials,
    record,
    server_in,
    trust_in,
)
from diskbench.providers.waits import CloudTiming, Still, repeated, until


@dataclass(frozen=True)
class VsphereTiming(CloudTiming):
    """Seconds, as CloudTiming; `disk_s` and `disk_s_per_gib` are for making a disk, which eager
    zeroing writes in full."""

    first_poll_s: float = 0.5
    clone_s: float = 3600.0
    power_s: float = 300.0
    address_s: float = 900.0
    disk_s: float = 600.0
    disk_s_per_gib: float = 60.0


_PAGE = 500
"""Objects per page of a listing; our choice."""

T = TypeVar("T")
Ref = Any
"""A managed object of pyVmomi's: its types are made at run time."""


@dataclass(frozen=True)
class Item:
    """One managed object with those of the requested properties that are set."""

    ref: Ref
    values: dict[str, Any]

    @property
    def id(self) -> str:
        """vSphere's id (`vm-53`)."""
        return moid(self.ref)

    @property
    def name(self) -> str:
        return unquote(str(self.values.get("name", "")))  # %2f stands for a slash


@dataclass
class VsphereSession:
    """One login at a server. Threads may share it: pyVmomi's stub locks its pool of connections
    (pyVmomi 8.0, SoapStubAdapter)."""

    instance: Any
    refused: threading.Event = field(default_factory=threading.Event)
    """Never set: the credentials are in the environment, and a login that ended is repeated."""
    content: Any = None
    logging_in: threading.Lock = field(default_factory=threading.Lock)

    def close(self) -> None:
        sdk("Disconnect", "pyVim.connect")(self.instance)


@dataclass(frozen=True)
class Vsphere:
    """A session. `watch` is checked before a call is repeated."""

    session: VsphereSession
    timing: VsphereTiming
    watch: RentWatch | None = None

    @property
    def instance(self) -> Any:  # noqa: ANN401 - as Ref
        """The service instance, where every call of the API begins."""
        return self.session.instance

    @property
    def stub(self) -> Any:  # noqa: ANN401 - as Ref
        return self.instance._stub  # noqa: SLF001 - a session has no other handle in pyVmomi

    @property
    def content(self) -> Any:  # noqa: ANN401 - as Ref
        """The service's content: its managers and root folder, fetched once."""
        if self.session.content is None:
            self.session.content = self.call("RetrieveContent", self.instance.RetrieveContent)
        return self.session.content

    def call(self, action: str, send: Callable[[], T]) -> T:
        """The answer of `send`; unanswered calls are repeated, with backoff and jitter. `action`
        names it for people (`VirtualMachine.Clone`). Raises diskbench's errors. Only for calls that
        may be repeated: vSphere refuses a second clone of one name, a second power-on."""
        return repeated(lambda: self._once(action, send), self.timing, self.watch)

    def listed(self, kind: str, paths: Sequence[str], root: Ref | None = None) -> tuple[Item, ...]:
        """Every object of a kind (`VirtualMachine`) below `root`, with the properties at
        `paths`."""
        return self.call(f"list of {kind}", lambda: self._listed(kind, paths, root))

    def properties(self, ref: Ref, paths: Sequence[str]) -> Item | None:
        """One object with the properties at `paths`; None when it no longer exists."""
        query = vmodl.query.PropertyCollector
        spec = query.FilterSpec(
            objectSet=[query.ObjectSpec(obj=ref)],
            propSet=[query.PropertySpec(type=type(ref), pathSet=list(paths))],
        )
        ask = partial(self.call, f"properties of {moid(ref)}", lambda: self._pages(spec))
        items = unless_missing(ask, is_missing)
        return None if items is None else next(iter(items), Item(ref, {}))

    def run(self, action: str, what: str, start: Callable[[], Ref], limit_s: float) -> Any:  # noqa: ANN401 - what the task gives
        """Start a task, wait for its end and return its result. `what` names the resource in
        messages. Raises the diskbench error for the task's. On a stop request a running task is
        cancelled, so that it makes nothing after its lease was released."""
        task = self.call(action, start)
        ask = partial(self._task, task, action)
        try:
            return until(ask, what, limit_s, self.timing, self.watch).values.get("info.result")
        except Interrupted:
            with contextlib.suppress(DiskbenchError):
                self._once("Task.Cancel", task.CancelTask)
            # The result of one that continues is found by its lease later.
            with contextlib.suppress(DiskbenchError):
                until(partial(self._task, task, "Task.Cancel"), "end of a task", 30.0, self.timing)
            raise

    def reconfigure(
        self, vm: Ref, action: str, what: str, spec: Ref, limit_s: float | None = None
    ) -> None:
        """Change a machine as `spec` says, by default within `timing.disk_s`; else as `run`."""
        limit_s = self.timing.disk_s if limit_s is None else limit_s
        self.run(action, what, lambda: vm.ReconfigVM_Task(spec=spec), limit_s)

    def switch(self, action: str, what: str, start: Callable[[], Ref]) -> None:
        """Switch a machine on or off, as `run`; one that is so already stays."""
        try:
            self.run(action, what, start, self.timing.power_s)
        except DiskbenchError as error:
            if errors.fault_name(error) != "InvalidPowerState":
                raise

    def _task(self, task: Ref, action: str) -> Item | Still:
        paths = ("info.state", "info.result", "info.error", "info.progress")
        task_info = self.properties(task, paths)
        state = task_info.values.get("info.state") if task_info else None
        if task_info is None or state == "success":
            return task_info or Item(task, {})
        if state == "error":
            fault = task_info.values["info.error"]
            raise errors.of_fault(fault, action) from fault
        queued = state == "queued"
        return Still("waiting in vCenter's queue" if queued else "vCenter is working on it")

    def _once(self, action: str, send: Callable[[], T]) -> T:
        try:
            return self._send(action, send)
        except LoggedOut:
            # vCenter ends sessions that were idle for half an hour, as while a disk is zeroed.
            self._send("SessionManager.Login", self._log_in)
            return self._send(action, send)

    def _send(self, action: str, send: Callable[[], T]) -> T:
        try:
            return send()
        except Exception as error:
            raise errors.translate(error, action) from error

    def _log_in(self) -> None:
        user, password = credentials()
        manager = self.content.sessionManager
        with self.session.logging_in:
            # A login is refused in a session that is logged in already, as by another thread.
            if manager.currentSession is None:
                manager.Login(user, password, None)

    def _listed(self, kind: str, paths: Sequence[str], root: Ref | None) -> tuple[Item, ...]:
        managed_type, recursive = getattr(vim, kind), True
        make, top = self.content.viewManager.CreateContainerView, root or self.content.rootFolder
        view = make(top, [managed_type], recursive)
        try:
            query = vmodl.query.PropertyCollector
            viewed = vim.view.ContainerView
            through = query.TraversalSpec(name="view", path="view", skip=False, type=viewed)
            spec = query.FilterSpec(
                objectSet=[query.ObjectSpec(obj=view, skip=True, selectSet=[through])],
                propSet=[query.PropertySpec(type=managed_type, pathSet=list(paths))],
                reportMissingObjectsInResults=True,
            )
            return self._pages(spec)
        finally:
            with contextlib.suppress(vmodl.MethodFault, *errors.NO_ANSWER):
                view.Destroy()

    def _pages(self, spec: Any) -> tuple[Item, ...]:  # noqa: ANN401 - as Ref
        collector = self.content.propertyCollector
        options = vmodl.query.PropertyCollector.RetrieveOptions(maxObjects=_PAGE)
        page = collector.RetrievePropertiesEx([spec], options)
        items: list[Item] = []
        while page is not None:
            found = (
                (one.obj, {pair.name: pair.val for pair in one.propSet}) for one in page.objects
            )
            items += [Item(ref, values) for ref, values in found]
            page = collector.ContinueRetrievePropertiesEx(page.token) if page.token else None
        return tuple(items)


def moid(ref: Ref) -> str:
    """The id of a managed object (`vm-53`)."""
    return str(ref._GetMoId())  # noqa: SLF001 - pyVmomi's public way to it


def reference(vsphere: Vsphere, kind: str, name: str) -> Ref:
    """The managed object of a kind with that id, without any call."""
    made: Ref = getattr(vim, kind)(name, vsphere.stub)
    return made


class VsphereSessions(Sessions[VsphereSession]):
    """The sessions of one provider, by server."""

    def at(
        self, server: VsphereServer, timing: VsphereTiming, watch: RentWatch | None = None
    ) -> Vsphere:
        """A session at the server, logged in. Raises ExtraMissing without the SDK, HostUnavailable
        for a certificate that cannot be trusted, AccessDenied for credentials, Unanswered when the
        server does not answer in `timing.retry_s`."""
        session = self.of(server, lambda: _open(server, timing, watch))
        return Vsphere(session, timing, watch)

    def of_scope(
        self, scope: Scope, timing: VsphereTiming, watch: RentWatch | None = None
    ) -> Vsphere:
        """A session at the server of a scope, verified to be the same installation. Raises
        AccessDenied otherwise: the empty listing of another one would look like a clean one."""
        server = server_in(scope)
        vsphere = self.at(server, timing, watch)
        installation = vsphere.call("About", lambda: str(vsphere.content.about.instanceUuid))
        if scope.account not in {None, installation}:
            raise refused("another vCenter", server=server, installation=installation, scope=scope)
        return vsphere


def _open(server: VsphereServer, timing: VsphereTiming, watch: RentWatch | None) -> VsphereSession:
    try:
        sdk("SmartConnect", "pyVim.connect")
    except ImportError as error:
        raise missing("vsphere", "--provider vsphere needs pyVmomi", field="provider") from error
    login, trust = credentials(), trust_in(server)
    session = VsphereSession(None)
    session.instance = Vsphere(session, timing, watch).call(
        "login", lambda: connect(server, login, trust)
    )
    record(session.instance._stub)  # noqa: SLF001 - as Vsphere.stub
    return session

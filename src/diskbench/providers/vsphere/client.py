"""All calls to vSphere: sessions, errors translated, calls repeated, tasks awaited."""

from __future__ import annotations

import contextlib
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from diskbench.errors import (
    AccessDenied,
    DiskbenchError,
    HostUnavailable,
    Interrupted,
    InvalidValue,
    LoggedOut,
)
from diskbench.extras import missing
from diskbench.providers import patience
from diskbench.providers.http_proxy import proxy_for
from diskbench.providers.unanswered import repeated
from diskbench.providers.vsphere.disk_request import server_url
from diskbench.providers.vsphere.errors import (
    NO_ANSWER,
    is_missing,
    of_fault,
    translate,
)
from diskbench.providers.vsphere.options import VsphereOptions
from diskbench.providers.vsphere.record import record
from diskbench.providers.vsphere.sdk import sdk
from diskbench.providers.waits import Still, until

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Sequence

    from diskbench.model.rental import RentSpec, Scope
    from diskbench.ports import RentWatch
    from diskbench.providers.vsphere.timing import VsphereTiming

SERVER_VARIABLE = "VSPHERE_SERVER"
USER_VARIABLE = "VSPHERE_USER"
PASSWORD_VARIABLE = "VSPHERE_PASSWORD"  # noqa: S105 - the variable's name
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
        """Its name in the user interface."""
        return unquote(str(self.values.get("name", "")))  # %2f stands for a slash


@dataclass(frozen=True)
class VsphereServer:
    """The address of vCenter (or one ESXi host), and how its certificate is verified."""

    url: str
    ca_file: str | None = None
    insecure: bool = False


@dataclass
class Vsphere:
    """A session. `watch` is checked before a call is repeated."""

    instance: Any
    timing: VsphereTiming
    watch: RentWatch | None = None
    _content: Any = None

    @property
    def stub(self) -> Any:  # noqa: ANN401 - as Ref
        """The SOAP stub, which holds the connections."""
        return self.instance._stub  # noqa: SLF001 - a session has no other handle in pyVmomi

    @property
    def content(self) -> Any:  # noqa: ANN401 - as Ref
        """The service's content: its managers and root folder, fetched once."""
        if self._content is None:
            self._content = self.call("RetrieveContent", self.instance.RetrieveContent)
        return self._content

    def call(self, action: str, send: Callable[[], T]) -> T:
        """The answer of `send`; unanswered calls are repeated, with backoff and jitter.

        `action` names it for people (`VirtualMachine.Clone`). Raises diskbench's errors. Only
        for calls that may be repeated: vSphere refuses a second clone of one name, a second
        power-on.
        """
        return repeated(lambda: self._once(action, send), self.timing, self.watch)

    def listed(self, kind: str, paths: Sequence[str], root: Ref | None = None) -> tuple[Item, ...]:
        """Every object of a kind (`VirtualMachine`) below `root`, with what is at `paths`."""
        return self.call(f"list of {kind}", lambda: self._listed(kind, paths, root))

    def properties(self, ref: Ref, paths: Sequence[str]) -> Item | None:
        """One object with the properties at `paths`; None when it no longer exists."""
        try:
            return self.call(f"properties of {moid(ref)}", lambda: self._properties(ref, paths))
        except DiskbenchError as error:
            if is_missing(error):
                return None
            raise

    def run(self, action: str, what: str, start: Callable[[], Ref], limit_s: float) -> Any:  # noqa: ANN401 - what the task gives
        """Start a task, wait for its end and return its result. `what` names the resource in
        messages.

        Raises the diskbench error for the task's. On a stop request a running task is cancelled,
        so that it makes nothing after its lease was released.
        """
        task = self.call(action, start)
        try:
            return until(
                lambda: self._task(task, action), what, limit_s, self.timing, self.watch
            ).values.get("info.result")
        except Interrupted:
            self._cancel(task)
            raise

    def _task(self, task: Ref, action: str) -> Item | Still:
        found = self.properties(task, ("info.state", "info.result", "info.error", "info.progress"))
        state = found.values.get("info.state") if found else None
        if found is None or state == "success":
            return found or Item(task, {})
        if state == "error":
            fault = found.values["info.error"]
            raise of_fault(fault, action) from fault
        return Still("waiting in vCenter's queue" if state == "queued" else "vCenter is at it")

    def _cancel(self, task: Ref) -> None:
        """Cancel a task and wait for its end; the result of one that continues is found by its
        lease later."""
        with contextlib.suppress(DiskbenchError):
            self._once("Task.Cancel", task.CancelTask)
        with contextlib.suppress(DiskbenchError):
            until(lambda: self._task(task, "Task.Cancel"), "end of a task", 30.0, self.timing, None)

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
            raise translate(error, action) from error

    def _log_in(self) -> None:
        user, password = _credentials()
        manager = self.content.sessionManager
        if (
            manager.currentSession is None
        ):  # a login is refused in a session that is logged in already
            manager.Login(user, password, None)

    def _listed(self, kind: str, paths: Sequence[str], root: Ref | None) -> tuple[Item, ...]:
        vim = sdk("vim")
        vmodl = sdk("vmodl")

        wanted, recursive = getattr(vim, kind), True
        view = self.content.viewManager.CreateContainerView(
            root or self.content.rootFolder, [wanted], recursive
        )
        try:
            query = vmodl.query.PropertyCollector
            through = query.TraversalSpec(
                name="view", path="view", skip=False, type=vim.view.ContainerView
            )
            spec = query.FilterSpec(
                objectSet=[query.ObjectSpec(obj=view, skip=True, selectSet=[through])],
                propSet=[query.PropertySpec(type=wanted, pathSet=list(paths))],
                reportMissingObjectsInResults=True,
            )
            return self._pages(spec)
        finally:
            with contextlib.suppress(vmodl.MethodFault, *NO_ANSWER):
                view.Destroy()

    def _properties(self, ref: Ref, paths: Sequence[str]) -> Item:
        vmodl = sdk("vmodl")

        query = vmodl.query.PropertyCollector
        spec = query.FilterSpec(
            objectSet=[query.ObjectSpec(obj=ref)],
            propSet=[query.PropertySpec(type=type(ref), pathSet=list(paths))],
        )
        found = self._pages(spec)
        return found[0] if found else Item(ref, {})

    def _pages(self, spec: Any) -> tuple[Item, ...]:  # noqa: ANN401 - as Ref
        vmodl = sdk("vmodl")

        collector = self.content.propertyCollector
        options = vmodl.query.PropertyCollector.RetrieveOptions(maxObjects=_PAGE)
        page = collector.RetrievePropertiesEx([spec], options)
        found: list[Item] = []
        while page is not None:
            found += [
                Item(managed.obj, {pair.name: pair.val for pair in managed.propSet})
                for managed in page.objects
            ]
            page = collector.ContinueRetrievePropertiesEx(page.token) if page.token else None
        return tuple(found)


def moid(ref: Ref) -> str:
    """The id of a managed object (`vm-53`)."""
    return str(ref._GetMoId())  # noqa: SLF001 - pyVmomi's public way to it


def reference(vsphere: Vsphere, kind: str, name: str) -> Ref:
    """The managed object of a kind with that id, without any call."""
    vim = sdk("vim")

    made: Ref = getattr(vim, kind)(name, vsphere.stub)
    return made


def server_of(spec: RentSpec) -> VsphereServer:
    """The server of a spec, or the environment's. Raises InvalidValue where neither names one."""
    named = spec.endpoint_url or os.environ.get(SERVER_VARIABLE)
    if not named:
        raise InvalidValue(
            "no vSphere server: neither --endpoint-url nor VSPHERE_SERVER names one",
            advice="add --endpoint-url https://vcenter.example",
            field="endpoint_url",
        )
    typed = VsphereOptions.of(spec)
    return VsphereServer(
        server_url(named),
        str(Path(typed.ca_file).expanduser().absolute()) if typed.ca_file else None,
        typed.insecure,
    )


def server_in(scope: Scope) -> VsphereServer:
    """The server of a scope, or the environment's."""
    named = scope.endpoint or os.environ.get(SERVER_VARIABLE)
    if not named:
        raise InvalidValue(
            "no vSphere server: neither --endpoint-url nor VSPHERE_SERVER names one",
            advice="add --endpoint-url https://vcenter.example",
            field="endpoint_url",
        )
    return VsphereServer(server_url(named), scope.ca_file, scope.insecure)


@contextlib.contextmanager
def session(
    server: VsphereServer, timing: VsphereTiming, watch: RentWatch | None = None
) -> Iterator[Vsphere]:
    """A session for the block, closed with it.

    Raises ExtraMissing without the SDK, HostUnavailable for a certificate that cannot be trusted,
    AccessDenied for credentials, Unanswered when the server does not answer in `timing.retry_s`.
    """
    try:
        disconnect = sdk("Disconnect", "pyVim.connect")
    except ImportError as error:
        raise missing("vsphere", "--provider vsphere needs pyVmomi", field="provider") from error
    vsphere = Vsphere(None, timing, watch)
    credentials, trust = _credentials(), _trust(server)
    vsphere.instance = vsphere.call("login", lambda: _connect(server, credentials, trust))
    record(vsphere.stub)
    try:
        yield vsphere
    finally:
        # The session expires by itself; an error of the block must not be hidden.
        with contextlib.suppress(Exception):
            disconnect(vsphere.instance)


def _connect(server: VsphereServer, credentials: tuple[str, str], trust: ssl.SSLContext) -> Any:  # noqa: ANN401 - as Ref
    connect = sdk("SmartConnect", "pyVim.connect")

    parts = urlsplit(server.url)
    user, password = credentials
    try:
        return connect(
            host=parts.hostname,
            port=parts.port,
            user=user,
            pwd=password,
            # Always given: without a context pyVmomi verifies no certificate at this machine's own
            # addresses.
            sslContext=trust,
            httpConnectionTimeout=patience.ANSWER_S,
            **_through(server.url),
        )
    except Exception as error:
        # pyVim raises a bare Exception for a server of another protocol.
        if type(error) is Exception:
            raise ConnectionError(str(error)) from error
        raise


def _through(url: str) -> dict[str, Any]:
    """What pyVmomi takes for HTTPS_PROXY, which it does not read itself."""
    proxy = proxy_for(url)
    if proxy is None:
        return {}
    found: dict[str, Any] = {"httpProxyHost": proxy.host, "httpProxyPort": proxy.port}
    return found | ({"customHeaders": dict(proxy.headers)} if proxy.headers else {})


def _credentials() -> tuple[str, str]:
    user, password = (os.environ.get(name) for name in (USER_VARIABLE, PASSWORD_VARIABLE))
    if not user or not password:
        missing = USER_VARIABLE if not user else PASSWORD_VARIABLE
        raise AccessDenied(
            f"there are no credentials for vSphere: {missing} is not set",
            advice="set VSPHERE_USER (as user@domain) and VSPHERE_PASSWORD",
        )
    return user, password


def _trust(server: VsphereServer) -> ssl.SSLContext:
    try:
        trust = ssl.create_default_context(cafile=server.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise HostUnavailable(
            f"--ca-file {server.ca_file} cannot be used: {error}",
            advice="it holds certificates in PEM form",
            field="ca_file",
        ) from error
    if server.insecure:
        trust.check_hostname = False
        trust.verify_mode = ssl.CERT_NONE
    return trust

"""All calls to Azure: errors translated, throttled calls repeated."""

from __future__ import annotations

import importlib
import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from diskbench.errors import AccessDenied, Busy, NotListedYet, Unanswered
from diskbench.extras import missing
from diskbench.providers import waits
from diskbench.providers.azure.errors import (
    MISSING,
    error_code,
    no_region,
    no_subscription,
    translate,
)
from diskbench.providers.azure.form import is_azure
from diskbench.providers.azure.pipeline import request_policies
from diskbench.providers.skeleton.cloud import Sessions
from diskbench.providers.waits import nap, repeated

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.rental import RentSpec, Scope
    from diskbench.ports import RentWatch
    from diskbench.providers.azure.timing import AzureTiming

Item = dict[str, Any]
"""One resource in Azure's JSON."""
SUBSCRIPTION_VARIABLE = "AZURE_SUBSCRIPTION_ID"
LOCATION_VARIABLE = "AZURE_DEFAULTS_LOCATION"
"""Azure CLI's own name for `az config set defaults.location=`."""
CA_VARIABLE = "AZURE_CA_FILE"
"""Certificates that verify Azure's endpoint and login; REQUESTS_CA_BUNDLE works as well."""
PUBLIC = "https://management.azure.com"
"""Azure's public endpoint."""
_CLIENTS = {
    "compute": ("azure.mgmt.compute", "ComputeManagementClient"),
    "network": ("azure.mgmt.network", "NetworkManagementClient"),
    "resources": ("azure.mgmt.resource.resources", "ResourceManagementClient"),
}


@dataclass(frozen=True)
class Azure:
    """One set of credentials in one subscription, at Azure's public endpoint or at `endpoint`.
    Threads may share it."""

    subscription: str
    endpoint: str | None
    refused: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    _made: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)

    def edge(
        self, timing: AzureTiming, watch: RentWatch | None = None, until: float | None = None
    ) -> AzureClient:
        """Azure's services, called with these timeouts. Waits that Azure asks for (Retry-After)
        must end by `until` (Unix seconds); None: within the timeouts."""
        return AzureClient(self, timing, watch, until)

    def client(self, service: str) -> Any:  # noqa: ANN401 - one of three classes without a base
        """One client per service, made at first use: each imports thousands of models."""
        with self._lock:
            if service not in self._made:
                module, name = _CLIENTS[service]
                made = getattr(importlib.import_module(module), name)
                settings = self._settings()
                scope = token_scope(self.endpoint or PUBLIC)
                policies = request_policies(self.credential(), scope, settings)
                self._made[service] = made(
                    self.credential(), self.subscription, policies=policies, **settings
                )
            return self._made[service]

    def emulated_endpoint(self) -> str | None:
        """The endpoint when it is not one of Azure."""
        return self.endpoint if self.endpoint and not is_azure(self.endpoint) else None

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "connection_timeout": waits.CONNECT_S,
            "read_timeout": waits.ANSWER_S,
            "user_agent": "diskbench",
            **_trust(),
        }
        if self.endpoint is not None:
            settings["base_url"] = self.endpoint.rstrip("/")
            settings["credential_scopes"] = [token_scope(self.endpoint)]
        return settings

    def credential(self) -> Any:  # noqa: ANN401 - a TokenCredential
        """The credential that the SDK's own chain finds; it gets new tokens by itself."""
        from azure.identity import DefaultAzureCredential

        with self._lock:
            if "credential" not in self._made:
                # The login service of a private cloud is not in Microsoft's instance discovery.
                private = self.emulated_endpoint() is not None
                self._made["credential"] = DefaultAzureCredential(
                    disable_instance_discovery=private, **_trust()
                )
            return self._made["credential"]

    def close(self) -> None:
        """Close the connections of all clients and of the credential."""
        with self._lock:
            for made in self._made.values():
                made.close()


@dataclass(frozen=True)
class AzureClient:
    """Azure's services. `watch` is checked before each call and each repetition; see Azure.edge
    for `until`."""

    azure: Azure
    timing: AzureTiming
    watch: RentWatch | None = None
    until: float | None = None

    def call(self, action: str, service: str, method: str, *args: object, **more: object) -> Item:
        """Send one request (`virtual_machines.get`) and return the answer as JSON; throttled
        requests are repeated with backoff and jitter. Every request is idempotent: resources are
        put by name. Raises diskbench's errors."""
        answer: Item = _json(
            self._repeated(action, lambda: self._method(service, method)(*args, **more))
        )
        return answer

    def listed(
        self, action: str, service: str, method: str, *args: object, **more: object
    ) -> list[Item]:
        """All items of a paginated listing."""

        def ask() -> list[Item]:
            return [_json(item) for item in self._method(service, method)(*args, **more)]

        items: list[Item] = self._repeated(action, ask)
        return items

    def finished(
        self,
        what: str,
        limit_s: float,
        action: str,
        service: str,
        method: str,
        *args: object,
        insist: bool = True,
        **more: object,
    ) -> Item:
        """Wait for the end of a long-running operation. Raises diskbench's errors, RentalFailed
        when it takes longer than `limit_s`, Interrupted when `watch` is stopping. Without
        `insist`, Busy is raised at once, so that the caller can check what is in progress; its
        subclass NotListedYet where the operation succeeded and its result is not found yet."""
        from azure.core.exceptions import AzureError

        from diskbench.providers.azure.polling import WatchedPolling

        def answer_of(ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever is asked
            return self._repeated(action, ask)

        def run() -> Any:  # noqa: ANN401
            polling = WatchedPolling(what, limit_s, self.timing, self.watch, answer_of)
            poller = self._method(service, method)(*args, polling=polling, **more)
            try:
                return poller.result()
            except AzureError as error:
                if polling.succeeded and error_code(error) in MISSING:
                    raise NotListedYet(f"{what} is made, and Azure does not list it yet") from error
                raise

        answer: Item = _json(self._repeated(action, run, insist=insist))
        return answer

    def posted(self, action: str, path: str, body: Item) -> tuple[int, Item]:
        """Post to a path of Resource Manager for which the SDK's packages have no method; status
        and answer. Raises as `call` does."""
        from azure.core.exceptions import HttpResponseError
        from azure.core.rest import HttpRequest
        from azure.mgmt.core.exceptions import ARMErrorFormat

        def ask() -> tuple[int, Item]:
            client = self.azure.client("resources")
            answer = client.send_request(HttpRequest("POST", path, json=body))
            if answer.status_code >= 400:
                raise HttpResponseError(response=answer, error_format=ARMErrorFormat)
            return answer.status_code, answer.json() if answer.content else {}

        status_and_body: tuple[int, Item] = self._repeated(action, ask)
        return status_and_body

    def _method(self, service: str, method: str) -> Any:  # noqa: ANN401
        group, _, name = method.partition(".")
        return getattr(getattr(self.azure.client(service), group), name)

    def _repeated(self, action: str, ask: Callable[[], Any], *, insist: bool = True) -> Any:  # noqa: ANN401
        def once() -> Any:  # noqa: ANN401
            from azure.core.exceptions import AzureError

            nap(0, self.timing, self.watch)
            try:
                return ask()
            except AzureError as error:
                translated = translate(error, action)
                if isinstance(translated, AccessDenied):
                    self.azure.refused.set()
                raise translated from error

        def again(error: BaseException) -> bool:
            return isinstance(error, Unanswered) and (insist or not isinstance(error, Busy))

        return repeated(once, self.timing, self.watch, again, self.until)


class AzureSessions:
    """The sessions of one provider, by subscription and endpoint."""

    def __init__(self) -> None:
        self._sessions: Sessions[Azure] = Sessions()

    def at(self, subscription: str | None, endpoint: str | None) -> Azure:
        """Credentials by the SDK's own chain, without any call.

        Raises ExtraMissing without the SDK, InvalidValue when no subscription is known.
        """
        try:
            import azure.identity  # noqa: F401 - whether it is there
        except ImportError as error:
            raise missing(
                "azure", "--provider azure needs the Azure SDK for Python", field="provider"
            ) from error
        known = (subscription or os.environ.get(SUBSCRIPTION_VARIABLE) or "").lower()
        if not known:
            raise no_subscription()
        return self._sessions.of((known, endpoint), lambda: Azure(known, endpoint))

    def of_scope(self, scope: Scope) -> Azure:
        """The subscription of a scope."""
        return self.at(scope.account, scope.endpoint)

    def close(self) -> None:
        """Close the connections of all sessions."""
        self._sessions.close()


def region_of(spec: RentSpec) -> str:
    """The given region, or the environment's. Raises InvalidValue."""
    known = spec.region or os.environ.get(LOCATION_VARIABLE)
    if not known:
        raise no_region()
    return known


def token_scope(endpoint: str) -> str:
    """The scope of a token. Each sovereign cloud has its own audience, shared by its regional
    endpoints; a private cloud's endpoint is its own audience."""
    from azure.core import AzureClouds
    from azure.mgmt.core.tools import get_arm_endpoints

    host = urlsplit(endpoint).hostname or ""
    for cloud in AzureClouds:
        known = get_arm_endpoints(cloud)
        own = urlsplit(known["resource_manager"]).hostname or ""
        if host == own or host.endswith(f".{own}"):
            return str(known["credential_scopes"][0])
    return endpoint.rstrip("/") + "/.default"


def _trust() -> dict[str, Any]:
    file = os.environ.get(CA_VARIABLE)
    return {"connection_verify": file} if file else {}


def _json(answer: Any) -> Any:  # noqa: ANN401 - a model, or nothing
    return answer.as_dict() if hasattr(answer, "as_dict") else answer

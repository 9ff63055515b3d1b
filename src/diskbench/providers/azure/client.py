"""All calls to Azure: errors translated, throttled calls repeated; with the timeouts for Azure.

The SDK's pipeline for requests is used without its automatic registration of resource providers.
azure-mgmt-core 1.6.0, ARMAutoResourceProviderRegistrationPolicy: it answers
MissingSubscriptionRegistration by registering the provider and asking for its state every 10 s
without a limit, and cannot be interrupted. Registration is checked before renting instead
(policy.py). Its retries are left out as well: calls are repeated here.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from diskbench.errors import AccessDenied, Busy, NotListedYet, Unanswered
from diskbench.extras import missing
from diskbench.model.options import RentSpec
from diskbench.model.rental import Scope
from diskbench.ports import RentWatch
from diskbench.providers import recorder, waits
from diskbench.providers.azure.disk_request import is_azure
from diskbench.providers.azure.errors import (
    MISSING,
    error_code,
    no_region,
    no_subscription,
    translate,
)
from diskbench.providers.skeleton.cloud import Sessions
from diskbench.providers.waits import CloudTiming, nap, repeated


@dataclass(frozen=True)
class AzureTiming(CloudTiming):
    """Seconds, as CloudTiming. A Retry-After in Azure's answer takes precedence."""

    network_s: float = 300.0
    machine_s: float = 900.0
    snapshot_s: float = 14400.0
    """A snapshot of terabytes takes hours; our choice."""
    disk_s: float = 300.0
    attach_s: float = 300.0
    delete_s: float = 1800.0
    settle_s: float = 30.0
    """How long a listing may lag behind what was made or deleted."""
    young_s: float = 900.0
    """The age of a lease, by its id, up to which something of it may have been made just now."""


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


class AzureSessions(Sessions[Azure]):
    """The sessions of one provider, by subscription and endpoint."""

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
        return self.of((known, endpoint), lambda: Azure(known, endpoint))

    def of_scope(self, scope: Scope) -> Azure:
        """The subscription of a scope."""
        return self.at(scope.account, scope.endpoint)


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


def request_policies(credential: Any, scope: str, settings: dict[str, Any]) -> list[Any]:  # noqa: ANN401 - the SDK's classes
    """The policies of one client, in the order of azure-mgmt-compute 39.0.0."""
    from azure.core.pipeline import policies
    from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy, ARMHttpLoggingPolicy

    return [
        policies.RequestIdPolicy(),
        policies.HeadersPolicy(),
        policies.UserAgentPolicy(settings["user_agent"]),
        policies.ProxyPolicy(),
        policies.ContentDecodePolicy(),
        policies.RedirectPolicy(),
        ARMChallengeAuthenticationPolicy(credential, scope),
        policies.CustomHookPolicy(),
        policies.NetworkTraceLoggingPolicy(),
        policies.SensitiveHeaderCleanupPolicy(),
        ARMHttpLoggingPolicy(),
        *([_recording_policy()] if recorder.is_recording() else []),
    ]


def _recording_policy() -> Any:  # noqa: ANN401 - a policy of azure.core, imported with it
    """The policy that keeps the exchanges of a client for a recording in progress."""
    from azure.core.pipeline.policies import SansIOHTTPPolicy

    class Recorded(SansIOHTTPPolicy):  # type: ignore[type-arg]
        def on_response(self, request: Any, response: Any) -> None:  # noqa: ANN401 - azure.core's
            http_request, answer = request.http_request, response.http_response
            if hasattr(answer, "read"):
                answer.read()  # an answer that is streamed has no content yet
            body = http_request.content if hasattr(http_request, "content") else http_request.body
            recorder.note(
                method=http_request.method,
                url=http_request.url,
                sent=http_request.headers,
                asked=body if isinstance(body, str | bytes) else None,
                status=answer.status_code,
                headers=answer.headers,
                body=answer.content if hasattr(answer, "content") else answer.body(),
            )

    return Recorded()

"""All calls to Azure's Resource Manager, by path and verb: errors translated, throttled calls
repeated; with the timeouts for Azure. The resource type in the path says what a request needs as
permission and as API version, so azure-core and azure-identity do, without the package of a class
for each resource.

The pipeline registers no resource provider by itself: ARMAutoResourceProviderRegistrationPolicy
(azure-mgmt-core 1.6.0) asks for the state every 10 s without a limit, and cannot be interrupted.
doctor.py checks it before renting. The SDK's retries are left out, since calls are repeated here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from diskbench.errors import AccessDenied, Busy, NotListedYet, Unanswered
from diskbench.extras import missing
from diskbench.model.options import RentSpec
from diskbench.model.rental import Scope
from diskbench.ports import RentWatch
from diskbench.providers import recorder, waits
from diskbench.providers.azure.disk_request import is_azure
from diskbench.providers.azure.errors import MISSING, error_code, is_missing, refused, translate
from diskbench.providers.skeleton.cloud import Sessions, shared_property, unless_missing
from diskbench.providers.waits import CloudTiming, nap, repeated
from diskbench.yaml_lines import packaged


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
    metric_s: float = 60.0
    """The period of Azure Monitor's metrics; burst credits have five of them."""
    settle_s: float = 30.0
    """How long a listing may lag behind what was made or deleted."""
    young_s: float = 900.0
    """The age of a lease, by its id, up to which something of it may have been made just now."""


Item = dict[str, Any]
"""One resource in Azure's JSON."""
Query = Mapping[str, str] | None
T = TypeVar("T")
PUBLIC = "https://management.azure.com"
MACHINES = "Microsoft.Compute/virtualMachines"
DISKS = "Microsoft.Compute/disks"
SNAPSHOTS = "Microsoft.Compute/snapshots"
SCHEDULES = "Microsoft.DevTestLab/schedules"
TAGS = "Microsoft.Resources/tags"
API = packaged("diskbench.providers.azure", "api.yaml")
"""What Azure's APIs call things."""
_VERSIONS = {kind.lower(): version for kind, version in API["versions"].items()}
_RIGHTS = {"GET": "read", "PUT": "write", "PATCH": "write", "DELETE": "delete", "POST": "action"}


def kind_of(path: str) -> str:
    """The type of the resource at a path, as permissions name it."""
    parts = path.strip("/").split("/")
    at = max((n for n, part in enumerate(parts) if part.lower() == "providers"), default=None)
    if at is None:
        return "/".join(("Microsoft.Resources", *parts[::2]))
    if at + 2 == len(parts):  # a provider, not what it has
        return "Microsoft.Resources/subscriptions/providers"
    return "/".join((parts[at + 1], *parts[at + 2 :: 2]))


def version_of(kind: str) -> str:
    """The API version of a resource type."""
    while kind.lower() not in _VERSIONS:
        kind, _, _ = kind.rpartition("/")
    return str(_VERSIONS[kind.lower()])


@dataclass(frozen=True)
class Azure:
    """One set of credentials in one subscription, at Azure's public endpoint or at `endpoint`.
    Threads may share it."""

    subscription: str
    endpoint: str | None
    refused: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    def edge(
        self, timing: AzureTiming, watch: RentWatch | None = None, until: float | None = None
    ) -> AzureClient:
        """Azure's services, called with these timeouts. Waits that Azure asks for (Retry-After)
        must end by `until` (Unix seconds); None: within the timeouts."""
        return AzureClient(self, timing, watch, until)

    @shared_property
    def client(self) -> Any:  # noqa: ANN401 - an ARMPipelineClient
        from azure.mgmt.core import ARMPipelineClient

        url = (self.endpoint or PUBLIC).rstrip("/")
        return ARMPipelineClient(
            url,
            policies=request_policies(self.credential, token_scope(url)),
            connection_timeout=waits.CONNECT_S,
            read_timeout=waits.ANSWER_S,
            **_trust(),
        )

    def emulated_endpoint(self) -> str | None:
        """The endpoint when it is not one of Azure."""
        return self.endpoint if self.endpoint and not is_azure(self.endpoint) else None

    @shared_property
    def credential(self) -> Any:  # noqa: ANN401 - a TokenCredential
        """The credential that the SDK's own chain finds; it gets new tokens by itself."""
        from azure.identity import DefaultAzureCredential

        # The login service of a private cloud is not in Microsoft's instance discovery.
        private = self.emulated_endpoint() is not None
        return DefaultAzureCredential(disable_instance_discovery=private, **_trust())

    def close(self) -> None:
        for name in {"client", "credential"} & self.__dict__.keys():
            getattr(self, name).close()


@dataclass(frozen=True)
class AzureClient:
    """Azure's services. `watch` is checked before each call and each repetition; see Azure.edge
    for `until`."""

    azure: Azure
    timing: AzureTiming
    watch: RentWatch | None = None
    until: float | None = None

    def path(self, group: str | None = None, kind: str = "", name: str = "") -> str:
        """The path of this subscription, of a resource group in it, or of a resource or the
        resources of a kind there."""
        parts = [f"/subscriptions/{self.azure.subscription}"]
        parts += [f"resourceGroups/{group}"] if group else []
        parts += [f"providers/{kind}"] if kind else []
        return "/".join([*parts, name] if name else parts)

    def get(self, path: str, query: Query = None) -> Item:
        """The resource at a path as JSON. Every request is idempotent: resources are put by name;
        throttled ones are repeated with backoff and jitter. Raises diskbench's errors."""
        item: Item = self.sent("GET", path, query=query).json()
        return item

    def find(self, path: str, query: Query = None) -> Item | None:
        """The resource at a path; None where Azure reports that it does not exist."""
        return unless_missing(lambda: self.get(path, query), is_missing)

    def listed(self, path: str, query: Query = None) -> list[Item]:

        def ask() -> list[Item]:
            page = self._send("GET", path, query=query).http_response.json()
            if isinstance(page, list):
                return page
            items = list(page["value"])
            while following := page.get("nextLink"):
                page = self._send("GET", path, url=following).http_response.json()
                items += page["value"]
            return items

        return self._repeated(f"{kind_of(path)}/read", ask)

    def sent(self, verb: str, path: str, body: Item | None = None, query: Query = None) -> Any:  # noqa: ANN401 - azure.core's HttpResponse
        """The answer to one request. Raises as `get` does."""
        action = f"{kind_of(path)}/{_RIGHTS[verb]}"
        return self._repeated(action, lambda: self._send(verb, path, body, query).http_response)

    def finished(
        self, what: str, limit_s: float, verb: str, path: str, body: Item | None = None,
        *, insist: bool = True, query: Query = None,
    ) -> Item:  # fmt: skip
        """Send a request, and wait for the end of the long-running operation. Raises diskbench's
        errors, RentalFailed when it takes longer than `limit_s`, Interrupted when `watch` is
        stopping. Without `insist`, Busy is raised at once, so that the caller can check what is in
        progress; its subclass NotListedYet where the operation succeeded and its result is not
        found yet."""
        from azure.core.exceptions import AzureError

        from diskbench.providers.azure.polling import WatchedPolling

        action = f"{kind_of(path)}/{_RIGHTS[verb]}"

        def run() -> Item:
            again = partial(self._repeated, action)
            polling = WatchedPolling(what, limit_s, self.timing, self.watch, again)
            first = self._send(verb, path, body, query)
            client = self.azure.client
            try:
                polling.initialize(client, first, lambda answer: answer.http_response.json())
                if not polling.finished():
                    polling.run()
                return polling.resource() or {}
            except AzureError as error:
                if polling.succeeded and error_code(error) in MISSING:
                    raise NotListedYet(
                        f"{what} was made, but Azure does not list it yet"
                    ) from error
                raise

        return self._repeated(action, run, insist=insist)

    def _send(
        self, verb: str, path: str, body: Item | None = None, query: Query = None, url: str = ""
    ) -> Any:  # noqa: ANN401 - azure.core's PipelineResponse
        """One request, to `url` where that is given, as the next page of a listing is."""
        from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
        from azure.core.rest import HttpRequest
        from azure.mgmt.core.exceptions import ARMErrorFormat

        client = self.azure.client
        if not url:
            asked = {"api-version": version_of(kind_of(path)), **(query or {})}
            url = client.format_url(f"{quote(path)}?{urlencode(asked, quote_via=quote)}")
        request = HttpRequest(verb, url, json=body)
        answer = client.send_request(request, _return_pipeline_response=True)
        if (status := answer.http_response.status_code) >= 400:
            kind = ClientAuthenticationError if status == 401 else HttpResponseError
            raise kind(response=answer.http_response, error_format=ARMErrorFormat)
        return answer

    def _repeated(self, action: str, ask: Callable[[], T], *, insist: bool = True) -> T:
        def once() -> T:
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
        """Credentials by the SDK's own chain, without any call. Raises ExtraMissing without the
        SDK, InvalidValue when no subscription is known."""
        try:
            import azure.identity  # noqa: F401 - whether it is there
        except ImportError as error:
            raise missing(
                "azure", "--provider azure needs the Azure SDK for Python", field="provider"
            ) from error
        known = (subscription or os.environ.get("AZURE_SUBSCRIPTION_ID") or "").lower()
        if not known:
            raise refused("no subscription")
        return self.of((known, endpoint), lambda: Azure(known, endpoint))

    def of_scope(self, scope: Scope) -> Azure:
        return self.at(scope.account, scope.endpoint)


def region_of(spec: RentSpec) -> str:
    """The given region, or the environment's. Raises InvalidValue."""
    # Azure CLI's own name for `az config set defaults.location=`.
    known = spec.region or os.environ.get("AZURE_DEFAULTS_LOCATION")
    if not known:
        raise refused("no region")
    return known


def resource_skus(edge: AzureClient, region: str) -> list[Item]:
    """All that the subscription may rent in a region (Resource SKUs, "List")."""
    path = edge.path(kind="Microsoft.Compute/skus")
    return edge.listed(path, {"$filter": f"location eq '{region}'"})


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
    # It verifies Azure's endpoint and login; REQUESTS_CA_BUNDLE works as well.
    file = os.environ.get("AZURE_CA_FILE")
    return {"connection_verify": file} if file else {}


def request_policies(credential: Any, scope: str) -> list[Any]:  # noqa: ANN401 - the SDK's classes
    """The policies of the client, in the order of azure-mgmt-compute 39.0.0."""
    from azure.core.pipeline import policies
    from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy, ARMHttpLoggingPolicy

    return [
        policies.RequestIdPolicy(),
        policies.HeadersPolicy(),
        policies.UserAgentPolicy("diskbench"),
        policies.ProxyPolicy(),
        policies.ContentDecodePolicy(),
        policies.RedirectPolicy(),
        ARMChallengeAuthenticationPolicy(credential, scope),
        policies.CustomHookPolicy(raw_response_hook=_keep if recorder.is_recording() else None),
        policies.NetworkTraceLoggingPolicy(),
        policies.SensitiveHeaderCleanupPolicy(),
        ARMHttpLoggingPolicy(),
    ]


def _keep(response: Any) -> None:  # noqa: ANN401 - azure.core's PipelineResponse
    request, answer = response.http_request, response.http_response
    answer.read()  # an answer that is streamed has no content yet
    body = request.content if isinstance(request.content, str | bytes) else None
    recorder.note(
        method=request.method, url=request.url, sent=request.headers, asked=body,
        status=answer.status_code, headers=answer.headers, body=answer.content,
    )  # fmt: skip

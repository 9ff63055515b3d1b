"""The login by Google's own chain of credentials, and all calls to Compute Engine: errors
translated, throttled calls repeated, accepted changes awaited; with the timeouts for Google Cloud.
Requests and answers are mappings in the form of the REST reference. `api.yaml` has the path of each
call, so google-auth and requests do, without the package of a class for each message.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from diskbench.errors import AccessDenied, Throttled
from diskbench.extras import missing
from diskbench.model.rental import Scope
from diskbench.ports import RentWatch
from diskbench.providers import recorder
from diskbench.providers.gcp.errors import LOG_IN, is_missing, of_operation, refused, translate
from diskbench.providers.skeleton.cloud import Sessions, shared_property, unless_missing
from diskbench.providers.waits import ANSWER_S, CloudTiming, Still, repeated, until
from diskbench.yaml_lines import packaged

UNIVERSE = "googleapis.com"
SCOPE = "https://www.googleapis.com/auth/compute"
"""The only OAuth scope requested: to view and manage Compute Engine."""
T = TypeVar("T")
PROJECT_VARIABLE = "GOOGLE_CLOUD_PROJECT"
KEY_FILE_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
MTLS_VARIABLE = "GOOGLE_API_USE_MTLS_ENDPOINT"
"""`always`, `never`, or `auto`: where a client has a certificate (google.aip.dev/auth/4114)."""


@dataclass(frozen=True)
class Login:
    """Credentials and their endpoint. `endpoint` is None for Google's own, `universe` the domain
    of the credentials' cloud; `emulated` marks an endpoint that is not Google's. Threads may
    share it: a session of requests has a pool of connections, and Google calls it safe to share
    between threads (googleapis/python-bigquery, docs/index.rst, 2020)."""

    project: str
    endpoint: str | None
    universe: str
    emulated: bool
    credentials: Any = field(repr=False)
    refused: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    @shared_property
    def session(self) -> Any:  # noqa: ANN401 - an AuthorizedSession
        """The connections to Compute Engine. A service account signs its tokens itself, and a
        client's certificate is used where the environment names one, as by Google's own clients."""
        from google.auth.transport.requests import AuthorizedSession

        login = self.credentials
        if hasattr(login, "with_always_use_jwt_access"):
            login = login.with_always_use_jwt_access(always_use_jwt_access=True)
        session: Any = AuthorizedSession(login, default_host=f"compute.{UNIVERSE}")  # type: ignore[no-untyped-call]
        session.configure_mtls_channel()
        record(session)
        return session

    @property
    def url(self) -> str:
        """The endpoint that is called."""
        if self.endpoint is not None:
            return self.endpoint.rstrip("/")
        asked = os.environ.get(MTLS_VARIABLE, "auto").lower()
        mutual = asked == "always" or (asked == "auto" and self.session.is_mtls)
        return f"https://compute.{'mtls.' if mutual else ''}{self.universe}"

    def close(self) -> None:
        """Close the connections."""
        if "session" in self.__dict__:
            self.session.close()


def log_in(project: str | None, endpoint: str | None) -> Login:
    """Find Application Default Credentials, and the project: the given one or the credentials'.

    Only an endpoint that is not Google's is called without credentials: where nobody is logged
    in, or where it uses plain HTTP, over which a token is sent only to its issuer. Makes no
    call, unless the chain ends at a metadata service. Raises AccessDenied without credentials,
    InvalidValue without a project.
    """
    in_the_clear = endpoint is not None and urlsplit(endpoint).scheme == "http"
    anonymous = in_the_clear and not _issued_by(str(endpoint))
    credentials: Any
    credentials, default_project = (None, None) if anonymous else _default(endpoint)
    if credentials is None:
        from google.auth.credentials import AnonymousCredentials

        credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]
        default_project = os.environ.get(PROJECT_VARIABLE)
    project_id = project or default_project
    if not project_id:
        raise refused("no project", project_variable=PROJECT_VARIABLE)
    universe = str(getattr(credentials, "universe_domain", UNIVERSE))
    emulated = endpoint is not None and not is_google(endpoint, universe)
    if in_the_clear and not anonymous:
        # With Google's universe set, the SDK would query Google about these credentials.
        universe = urlsplit(str(endpoint)).netloc
        credentials = credentials.with_universe_domain(universe)
    return Login(project_id, endpoint, universe, emulated, credentials)


def _issued_by(endpoint: str) -> bool:
    """Whether the key file in use was issued by the endpoint: by an emulator that issues tokens
    itself."""
    try:
        key_file = json.loads(Path(os.environ[KEY_FILE_VARIABLE]).read_text("utf-8"))
        return urlsplit(str(key_file["token_uri"])).netloc == urlsplit(endpoint).netloc
    except (KeyError, OSError, ValueError, TypeError):
        return False


def _default(endpoint: str | None) -> tuple[Any, str | None]:
    """The default credentials and their project; (None, None) where none exist and none are
    needed."""
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError

    try:
        credentials_and_project: tuple[Any, str | None] = google.auth.default(scopes=[SCOPE])
    except GoogleAuthError as error:
        is_none = isinstance(error, DefaultCredentialsError)
        if is_none and endpoint is not None and not is_google(endpoint):
            return None, None
        message = (
            "there are no Google credentials"
            if "credentials were not found" in str(error)
            else f"the Google credentials cannot be used: {error}"
        )
        raise AccessDenied(message, advice=LOG_IN) from error
    return credentials_and_project


def is_google(url: str, universe: str = UNIVERSE) -> bool:
    """Whether an endpoint is Google's, or one of the credentials' sovereign cloud `universe`."""
    host = urlsplit(url).hostname or ""
    return any(host == name or host.endswith(f".{name}") for name in (UNIVERSE, universe))


@dataclass(frozen=True)
class GceTiming(CloudTiming):
    """Seconds, as CloudTiming; `call_s` limits one call."""

    first_poll_s: float = 0.5
    call_s: float = ANSWER_S
    instance_s: float = 600.0
    disk_s: float = 300.0
    snapshot_s: float = 14400.0
    """A snapshot of terabytes takes hours; our choice."""
    attach_s: float = 180.0
    firewall_s: float = 180.0


Item = dict[str, Any]
API = packaged("diskbench.providers.gcp", "api.yaml")
"""What Google's APIs call things."""
_PATHS: dict[str, str] = API["paths"]
_VERBS = dict.fromkeys(("get", "list", "aggregatedList", "getFromFamily"), "GET") | {
    "delete": "DELETE"
}


@dataclass(frozen=True)
class Compute:
    """The Compute Engine API of one project, at Google's public endpoint or at another.

    `watch` is checked before a call is repeated.
    """

    login: Login
    timing: GceTiming
    watch: RentWatch | None = None

    @property
    def project(self) -> str:
        """The project that is listed and billed."""
        return self.login.project

    def watched(self, watch: RentWatch) -> Compute:
        """The same API with a `watch` that can stop it."""
        return Compute(self.login, self.timing, watch)

    def call(self, collection: str, method: str, request: Item | None = None) -> Item:
        """Send one request and return the answer; throttled requests are repeated with backoff and
        jitter.

        Every request is idempotent, by a requestId or by nature. Raises diskbench's errors.
        """
        action = f"compute.{collection}.{method}"
        return self._repeated(action, lambda: self._sent(collection, method, request or {}))

    def found(
        self, collection: str, request: Item | None = None, *, method: str = "get"
    ) -> Item | None:
        """The answer of `call`; None where there is no such resource."""
        return unless_missing(lambda: self.call(collection, method, request), is_missing)

    def listed(self, collection: str, request: Item | None = None) -> list[Item]:
        """All items of a listing."""
        pages = self._pages(collection, "list", request)
        return [item for page in pages for item in page.get("items", [])]

    def listed_everywhere(
        self, collection: str, request: Item | None = None, *, holds: str | None = None
    ) -> list[Item]:
        """All items of a listing over all zones; `holds` is the field of the items where it is
        not the collection's name. Raises when a zone did not answer: it would look like an empty
        zone."""
        pages = self._pages(collection, "aggregatedList", request)
        return [
            item
            for page in pages
            for scoped in page.get("items", {}).values()
            for item in scoped.get(holds or collection, [])
        ]

    def _repeated(self, action: str, send: Callable[[], T]) -> T:
        def once() -> T:
            try:
                return send()
            except Exception as error:  # noqa: BLE001 - `translate` raises what is a fault of ours
                translated = translate(error, action)
                if isinstance(translated, AccessDenied):
                    self.login.refused.set()
                raise translated from translated.__cause__ or error

        return repeated(once, self.timing, self.watch)

    def _sent(self, collection: str, method: str, request: Item) -> Item:
        """The answer to one request. Raises as requests and google-auth do, and ValueError where it
        is no answer of Google's."""
        named = {"project": self.project, **request}
        verb, path, query, body = parts_of(f"{collection}.{method}", named)
        url = f"{self.login.url}/compute/v1/{path}"
        answer = self.login.session.request(
            verb, url, params=query, json=body, timeout=self.timing.call_s
        )
        answer.raise_for_status()
        match json.loads(answer.content):
            case dict(told):
                return told
            case other:
                raise ValueError(f"{type(other).__name__} instead of an object")

    def _pages(self, collection: str, method: str, request: Item | None) -> list[Item]:
        """The pages of a listing. Raises Throttled for an incomplete one."""
        action = f"compute.{collection}.{method}"

        def read() -> list[Item]:
            pages, token, lacking = list[Item](), Item(), list[str]()
            while token or not pages:
                page = self._sent(collection, method, {**(request or {}), **token})
                pages.append(page)
                token = {"pageToken": page["nextPageToken"]} if page.get("nextPageToken") else {}
                lacking += page.get("unreachables", [])
                items = page.get("items", {})
                for name, scoped in items.items() if isinstance(items, dict) else ():
                    if scoped.get("warning", {}).get("code") == "UNREACHABLE":
                        lacking.append(name)
            if lacking:
                raise Throttled(
                    f"{action} has no data about {', '.join(lacking)}",
                    look_at="look at status.cloud.google.com",
                )
            return pages

        return self._repeated(action, read)


def parts_of(call: str, request: Item) -> tuple[str, str, dict[str, str], Item | None]:
    """The verb of a call (`disks.insert`), its path below the API's version, its query and its
    body, which is the field with a resource's name (`diskResource`): pure. Raises KeyError for an
    unknown call, and without a name of the path."""
    template = f"projects/{{project}}/{_PATHS[call]}".rstrip("/")
    body = next((part for name, part in request.items() if name.endswith("Resource")), None)
    plain = {
        name: str(part).lower() if isinstance(part, bool) else str(part)
        for name, part in request.items()
        if not name.endswith("Resource")
    }
    path = template.format_map({name: quote(part, safe=":") for name, part in plain.items()})
    query = {name: part for name, part in plain.items() if f"{{{name}}}" not in template}
    return _VERBS.get(call.partition(".")[2], "POST"), path, query, body


class GcpSessions(Sessions[Login]):
    """The sessions of one provider, by project and endpoint."""

    def at(self, project: str | None, endpoint: str | None, timing: GceTiming) -> Compute:
        """Credentials and project by the SDK's own chain, without any call.

        Raises ExtraMissing without the SDK, AccessDenied without credentials, InvalidValue when
        no project is known.
        """
        try:
            import google.auth.transport.requests  # noqa: F401 - only whether it is there
        except ImportError as error:
            raise missing(
                "gcp", "--provider gcp needs the Google Cloud SDK for Python", field="provider"
            ) from error
        login = self.of((project, endpoint), lambda: log_in(project, endpoint))
        # The project that the credentials name is the one that a rental's scope names later.
        return Compute(self.of((login.project, endpoint), lambda: login), timing)

    def of_scope(self, scope: Scope, timing: GceTiming) -> Compute:
        """The project of a scope. Without permission to list, calls fail; they never return an
        empty listing."""
        return self.at(scope.account, scope.endpoint, timing)


def record(session: Any) -> None:  # noqa: ANN401 - a requests.Session
    """Have the exchanges of a session kept by a recording in progress."""
    if not recorder.is_recording():
        return

    def keep(answer: Any, **_: object) -> None:  # noqa: ANN401 - a requests.Response
        recorder.note(
            method=answer.request.method,
            url=answer.request.url,
            sent=answer.request.headers,
            asked=answer.request.body,
            status=answer.status_code,
            headers=answer.headers,
            body=answer.content,
        )

    session.hooks["response"].append(keep)


def change(
    compute: Compute, collection: str, method: str, request: Item, what: str, limit_s: float
) -> Item:
    """Send a change, wait for its end, and return the operation. Raises the diskbench error when
    Google refuses the change, at once or later, RentalFailed after `limit_s`, Interrupted when the
    watch is stopping."""
    started = compute.call(collection, method, request)
    return finish(compute, started, f"compute.{collection}.{method}", what, limit_s)


def finish(compute: Compute, operation: Item, action: str, what: str, limit_s: float) -> Item:
    """Wait until an operation is done, and return it. Raises as `change`."""

    def ask() -> Item | Still:
        state = operation
        if state.get("status") != "DONE":
            # That answer is from the moment of the change: the operation is read again, from its
            # zone, its region or the global collection.
            scope = next((one for one in ("zone", "region") if operation.get(one)), "global")
            where = {} if scope == "global" else {scope: last(operation[scope])}
            request = {**where, "operation": operation["name"]}
            state = compute.call(f"{scope}Operations", "get", request)
        kind, status = state.get("operationType", "operation"), str(state.get("status", ""))
        return state if status == "DONE" else Still(f"{kind} is {status.lower() or 'under way'}")

    done = until(ask, what, limit_s, compute.timing, compute.watch)
    error = of_operation(done, action)
    if error is not None:
        raise error
    return done


def last(url: str) -> str:
    """The name at the end of a resource's URL."""
    return url.rpartition("/")[2]

"""Questions to Google's services beside Compute Engine, over plain HTTP: what may be done here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.providers.gcp.client import record
from diskbench.providers.gcp.errors import translate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.providers.gcp.credentials import Login
    from diskbench.providers.gcp.timing import GceTiming

SCOPE = "https://www.googleapis.com/auth/cloud-platform.read-only"
"""The OAuth scope of these questions; the scope for renting, Compute Engine, does not suffice."""


def asked(
    login: Login,
    service: str,
    path: str,
    timing: GceTiming,
    body: Mapping[str, Any] | None = None,
) -> Any:  # noqa: ANN401 - a response of requests'
    """The answer of a service (`cloudresourcemanager`): to a POST with a body, else to a GET. An
    emulator answers for all of them at its one endpoint. Raises diskbench's errors where there is
    no answer."""
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import AuthorizedSession
    from requests.exceptions import RequestException

    credentials = login.credentials
    if hasattr(credentials, "with_scopes"):
        credentials = credentials.with_scopes([SCOPE])
    root = login.endpoint if login.emulated else f"https://{service}.{login.universe}"
    session: Any = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
    record(session)
    verb = "GET" if body is None else "POST"
    try:
        return session.request(
            verb, f"{str(root).rstrip('/')}{path}", json=body, timeout=timing.call_s
        )
    except (GoogleAuthError, RequestException, OSError) as error:
        raise translate(error, path.rpartition("/")[2].replace(":", ".")) from error


def message_of(answer: Any) -> str:  # noqa: ANN401 - a response of requests'
    """What an answer that is an error says."""
    try:
        return str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code}"

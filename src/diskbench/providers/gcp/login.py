"""Credentials, endpoint and project, by Google's own chain of credentials."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from diskbench.errors import AccessDenied, InvalidValue
from diskbench.providers.gcp.errors import LOG_IN

UNIVERSE = "googleapis.com"
SCOPE = "https://www.googleapis.com/auth/compute"
"""The only OAuth scope requested: to view and manage Compute Engine."""
PROJECT_VARIABLE = "GOOGLE_CLOUD_PROJECT"
KEY_FILE_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"


@dataclass(frozen=True)
class Login:
    """Credentials and their endpoint. `endpoint` is None for Google's own, `universe` the domain
    of the credentials' cloud; `emulated` marks an endpoint that is not Google's."""

    project: str
    endpoint: str | None
    universe: str
    emulated: bool
    credentials: Any = field(repr=False)


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
        raise InvalidValue(
            f"no Google Cloud project: neither --project nor {PROJECT_VARIABLE} nor the "
            "credentials name one",
            advice="add --project, or: gcloud config set project PROJECT",
            field="project",
        )
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

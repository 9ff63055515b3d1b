"""Whether Azure permits the rental: query the permissions that it lists for the caller.

Resource Manager, "Permissions - List" (Microsoft.Authorization, 2022-04-01): what every role
assignment of the caller at the subscription allows; the union of them counts.
"""

from __future__ import annotations

import base64
import fnmatch
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError
from diskbench.model.finding import Finding, refusal
from diskbench.providers.azure import policy
from diskbench.providers.azure.client import PUBLIC, token_scope
from diskbench.providers.azure.errors import translate
from diskbench.providers.azure.registration import (
    NEEDED,
    REGISTERED,
    SWITCH,
    how_to_register,
    state_of_provider,
    without_switch,
)
from diskbench.providers.skeleton.doctor import http_date, reported_time, skew

if TYPE_CHECKING:
    from diskbench.model.rental import Scope
    from diskbench.providers.azure.client import Azure, AzureClient, AzureSessions
    from diskbench.providers.azure.timing import AzureTiming

API_VERSION = "2022-04-01"
_NAMES = ("upn", "unique_name", "appid", "oid")
"""Claims of a token that identify its owner, the most specific first."""
_ADVICE = "give it this role: diskbench doctor --print-policy azure"


def examine(sessions: AzureSessions, scope: Scope, timing: AzureTiming) -> list[Finding]:
    """See ports.Examinable."""
    where = f"azure {scope.region}" if scope.region else "azure"
    try:
        azure = sessions.of_scope(scope)
        identity = _who(azure)
    except DiskbenchError as error:
        return [refusal("credentials", where, error)]
    account = f"{identity} in subscription {azure.subscription}"
    before, answers = datetime.now(UTC), list[Any]()
    try:
        _ask(azure, timing, answers)
    except DiskbenchError as error:
        return [refusal("permissions", where, error), *_clock(where, answers, before)]
    listed = json.loads(answers[-1].body())["value"]
    return [
        Finding(check="credentials", where=where, state="ok", told=account),
        *_clock(where, answers, before),
        *_permissions(where, listed),
        *_registrations(azure.edge(timing), where),
    ]


def present(sessions: AzureSessions, scope: Scope, timing: AzureTiming) -> datetime:
    """See ports.TellsTime."""
    answers = list[Any]()
    try:
        _ask(sessions.of_scope(scope), timing, answers)
    except DiskbenchError:
        if not answers:
            raise
    return reported_time("azure", http_date(answers[-1].headers.get("Date")))


def _ask(azure: Azure, timing: AzureTiming, answers: list[Any]) -> None:
    """Query our permissions; every answer, a refusal too, is added to `answers`."""

    def keep(response: Any) -> None:  # noqa: ANN401 - azure.core's
        answers.append(response.http_response)

    path = f"/subscriptions/{azure.subscription}/providers/Microsoft.Authorization/permissions"
    azure.edge(timing).call(
        "Microsoft.Authorization/permissions/read", "resources", "resources.get_by_id",
        path, api_version=API_VERSION, raw_response_hook=keep,
    )  # fmt: skip


def allowed(permissions: list[dict[str, Any]], action: str) -> bool:
    """Whether one of the listed permissions allows the action: one of its `actions` matches and
    none of its `notActions`; `*` matches anything."""

    def among(patterns: list[str]) -> bool:
        return any(fnmatch.fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)

    return any(
        among(permission.get("actions") or []) and not among(permission.get("notActions") or [])
        for permission in permissions
    )


def _permissions(where: str, listed: list[dict[str, Any]]) -> list[Finding]:
    needed = policy.actions()
    missing = [action for action in needed if not allowed(listed, action)]
    findings = [
        Finding(
            check="permissions",
            where=where,
            # Without these nothing can be checked in advance, but everything can be rented.
            state="warning" if action in policy.DOCTORS else "problem",
            told=f"{action} is not allowed"
            + (" (only doctor --live needs it)" if action == policy.VALIDATE else ""),
            advice=_ADVICE,
        )
        for action in missing
    ]
    summary = f"{len(needed) - len(missing)} of {len(needed)} actions are allowed"
    return [*findings, Finding(check="permissions", where=where, state="ok", told=summary)]


def _registrations(edge: AzureClient, where: str) -> list[Finding]:
    """Whether the subscription is registered for the resource providers that a rental uses."""
    check, findings = "registrations", list[Finding]()
    for namespace in (*NEEDED, SWITCH):
        try:
            state = state_of_provider(edge, namespace)
        except DiskbenchError as error:
            findings.append(refusal(check, where, error))
            continue
        if state == REGISTERED:
            findings.append(Finding(check=check, where=where, state="ok", told=f"{namespace}"))
        elif namespace == SWITCH:
            findings.append(
                Finding(
                    check=check, where=where, state="warning", told=without_switch(state),
                    advice=how_to_register(namespace),
                )
            )  # fmt: skip
        else:
            problem = f"the subscription is not registered for {namespace} ({state})"
            findings.append(
                Finding(
                    check=check, where=where, state="problem", told=problem,
                    advice=how_to_register(namespace),
                )
            )  # fmt: skip
    return findings


def _clock(where: str, answers: list[Any], before: datetime) -> list[Finding]:
    if not answers:
        return []
    return [skew(where, http_date(answers[-1].headers.get("Date")), before, datetime.now(UTC))]


def _who(azure: Azure) -> str:
    """The identity in our token. Raises diskbench's errors."""
    from azure.core.exceptions import AzureError

    audience = token_scope(azure.endpoint or PUBLIC)
    try:
        token = azure.credential().get_token(audience).token
    except AzureError as error:
        raise translate(error, "login") from error
    claims = _claims(token)
    return next((str(claims[name]) for name in _NAMES if claims.get(name)), "logged in")


def _claims(token: str) -> dict[str, Any]:
    """The claims of a token, unverified; empty where it cannot be parsed."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}

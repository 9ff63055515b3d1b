"""The reason for a failed Azure login, in one line: pure.

DefaultAzureCredential reports each kind of credential that it tried, most of them as absent;
only those that exist and failed are useful (azure-identity 1.27, ChainedTokenCredential).
"""

from __future__ import annotations

import re

_TRIED = re.compile(r"^\s+(?P<kind>\w+)Credential: (?P<said>.+)$", re.MULTILINE)
_ABSENT = re.compile(
    r"unavailable|not found|not be found|not installed|requires the|[Nn]o accounts|not fully config"
)


def why_no_login(message: str) -> str:
    """The SDK's message without the kinds of credentials that are absent."""
    tried = [(match["kind"], " ".join(match["said"].split())) for match in _TRIED.finditer(message)]
    failed = [f"{kind}: {why}" for kind, why in tried if not _ABSENT.search(why)]
    if tried and not failed:
        return f"no login to Azure was found (tried: {', '.join(kind for kind, _ in tried)})"
    why = "; ".join(failed) or " ".join(message.split())
    return f"Azure does not accept the credentials: {why}"

"""URLs of stores as they may be printed, logged and kept."""

import re

_CREDENTIALS = re.compile(r"^(?P<scheme>[A-Za-z][\w+.-]*)://(?P<before>[^?#]*)@")
_SECRET_QUERY = re.compile(r"([?&][^=&]*(?:pass|secret|token|key|sig)[^=&]*=)[^&#]*", re.IGNORECASE)
_LOCAL = ("sqlite", "file")
"""Schemes whose `@` is part of a path; what SQLAlchemy adds to them comes after a `+`."""


def printable(url: str) -> str:
    """`url` without its password: `postgresql://me:***@host/db`. Never fails, whatever the text.

    Everything up to the last `@` counts as credentials, so that a password with an unescaped `/`
    or `@` does not show; so do query parameters that are named like a secret.
    """
    found = _CREDENTIALS.match(url)
    if found and found["scheme"].split("+")[0] not in _LOCAL:
        user, colon, _ = found["before"].partition(":")
        kept = f"{user}:***@" if colon else f"{user}@"
        url = f"{found['scheme']}://{kept}{url[found.end() :]}"
    return _SECRET_QUERY.sub(r"\1***", url)

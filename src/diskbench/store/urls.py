"""URLs of stores: which forms are taken, and how they may be printed, logged and kept.

A URL may hold a password. So whatever is not surely one of the known forms is refused, without a
word of it in the message; and a URL is printed from its parts, never by cutting secrets out of it.
This module needs the standard library alone, since every command reads the settings.
"""

import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from diskbench.errors import InvalidValue
from diskbench.visible import UNSEEN

DATABASE_FORMS = (
    "write sqlite:////absolute/path.db, a path (/absolute/path.db, ./path.db), or "
    "postgresql://user:password@host:5432/database"
)
EVIDENCE_FORMS = (
    "write file:///absolute/directory, a path (/absolute/path, ./path), s3://bucket/prefix, "
    "gs://bucket/prefix or az://container/prefix"
)
ENCODE = (
    "in a URL a user or password is percent-encoded: %40 for @, %3A for :, %2F for /, %3F for ?, "
    "%23 for #, %25 for %; python3 -c 'import getpass, urllib.parse as u; "
    'print(u.quote(getpass.getpass(), safe=""))\' encodes one'
)
_ELSEWHERE = "leave them out: they come from the cloud's usual environment variables or files"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9.-]*)(\+[a-z0-9]+)?://")
_POSTGRES = ("postgresql", "postgres")
_BUCKETS = ("s3", "gs", "az")
_PLAIN_NAME = re.compile(r"[\w.][\w. +-]*(/[\w. +-]*)*")
"""A relative path that cannot be mistaken for anything else."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+(%[\w.-]+)?\]|[\w.-]*)", re.ASCII)
_BUCKET = re.compile(r"[A-Za-z0-9._-]+")
_ENCODED = re.compile(r"(?:[^%]|%[0-9A-Fa-f]{2})*")
_RAW = re.compile(r"[/?#@\[\]]")
_SQLITE_PARAMETERS = frozenset(
    {"mode", "uri", "cache", "immutable", "nolock", "timeout", "vfs", "check_same_thread"}
)
_SHOWN_PARAMETERS = frozenset({
    "application_name", "connect_timeout", "dbname", "host", "hostaddr", "port", "sslmode",
    "sslrootcert", "target_session_attrs", "user",
})  # fmt: skip
_PARAMETERS = _SHOWN_PARAMETERS | {
    "channel_binding", "client_encoding", "gssencmode", "gsslib", "keepalives",
    "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname",
    "load_balance_hosts", "options", "passfile", "password", "require_auth", "requirepeer",
    "service", "ssl_max_protocol_version", "ssl_min_protocol_version", "sslcert", "sslcertmode",
    "sslcompression", "sslcrl", "sslcrldir", "sslkey", "sslnegotiation", "sslpassword", "sslsni",
    "tcp_user_timeout",
}  # fmt: skip
"""What libpq knows (PostgreSQL 17, section 32.1.2) and has a meaning here."""
_FAMILIAR = frozenset(
    {*_POSTGRES, *_BUCKETS, "sqlite", "file", "memory", "mysql", "mariadb", "mssql", "oracle",
     "http", "https", "s3a", "gcs", "abfs", "abfss", "adl"}
)  # fmt: skip
"""Words that are schemes and no secrets, whatever stands behind them."""


def database_url(text: str) -> str:
    """The URL of a database, a path made one. Raises InvalidValue for another form, saying which
    are taken and nothing of the text, which may hold a password."""
    _check_letters(text, "the database URL", DATABASE_FORMS)
    match = _SCHEME.match(text)
    if match is None:
        return f"sqlite:///{_path(text, 'the database', DATABASE_FORMS)}"
    if match[1] in _POSTGRES:
        _postgres(text)
    elif match[1] == "sqlite":
        after_scheme = text[match.end() :]  # empty: a database in memory
        path, _, query = after_scheme.partition("?")
        names = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
        if after_scheme and not (path.startswith("/") and names <= _SQLITE_PARAMETERS):
            raise InvalidValue("the SQLite URL cannot be read", advice=DATABASE_FORMS)
    else:
        raise InvalidValue(
            f"a database of {_scheme_words(match[1])} is not supported", advice=DATABASE_FORMS
        )
    return text


def evidence_url(text: str) -> str:
    """The URL of an evidence store, a path made one. Raises InvalidValue as `database_url` does."""
    _check_letters(text, "the evidence URL", EVIDENCE_FORMS)
    match = _SCHEME.match(text)
    if match is None:
        return Path(_path(text, "the evidence", EVIDENCE_FORMS)).as_uri()
    scheme, after_scheme = match[1] + (match[2] or ""), text[match.end() :]
    if scheme not in {*_BUCKETS, "file", "memory"}:
        raise InvalidValue(
            f"an evidence store of {_scheme_words(scheme)} is not supported", advice=EVIDENCE_FORMS
        )
    place, _, path = after_scheme.partition("/")
    if any(mark in after_scheme for mark in "?#") or "@" in place or ":" in place:
        raise InvalidValue(
            f"the evidence URL ({scheme}://…) holds credentials or options",
            advice=f"{_ELSEWHERE}; {EVIDENCE_FORMS}",
        )
    if (scheme == "file" and (place or not path)) or not _ENCODED.fullmatch(after_scheme):
        raise InvalidValue("the evidence URL (file://…) cannot be read", advice=EVIDENCE_FORMS)
    if scheme in _BUCKETS and not _BUCKET.fullmatch(place):
        raise InvalidValue(f"the evidence URL ({scheme}://…) has no bucket", advice=EVIDENCE_FORMS)
    return text


def printable(url: str) -> str:
    """`url` without its secrets: `postgresql://me:***@host/db`. Nothing is shown of a text in an
    unknown form. Never fails."""
    match = _SCHEME.match(url)
    try:
        if match and match[1] in _POSTGRES:
            return _postgres(url)
        if match and match[1] == "sqlite":
            return database_url(url)
        return evidence_url(url) if match else "***"
    except InvalidValue:
        return f"{match[1]}://***" if match and match[1] in _FAMILIAR else "***"


def database_file(url: str) -> Path | None:
    """The file of a SQLite database; None for any other database."""
    if not url.startswith("sqlite"):
        return None
    path, _, query = url.partition(":///")[2].partition("?")
    if "uri" in dict(parse_qsl(query)):
        path = path.removeprefix("file:")
    return None if path in ("", ":memory:") else Path(path)


def evidence_directory(url: str) -> Path | None:
    """The directory of an evidence store on this machine; None for any other store."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _scheme_words(scheme: str) -> str:
    return scheme if scheme.partition("+")[0] in _FAMILIAR else "that scheme"


def _check_letters(text: str, place: str, forms: str) -> None:
    if not text.strip():
        raise InvalidValue(f"{place} is empty", advice=forms)
    if UNSEEN.search(text) or "\n" in text or "\t" in text:
        raise InvalidValue(f"{place} holds control characters", advice=forms)


def _path(text: str, place: str, forms: str) -> str:
    """The absolute form of a path. `host=h password=p` and `postgresql:/u:p@h/d` are none."""
    plain = text.startswith(("/", "./", "../", "~/")) or _PLAIN_NAME.fullmatch(text)
    if not plain or text in {*_FAMILIAR, "~", "."} or "?" in text:
        raise InvalidValue(f"{place} is neither a URL of a known form nor a path", advice=forms)
    return str(Path(text).expanduser().absolute())


def _postgres(url: str) -> str:
    """The URL without its secrets, from its parts. Raises InvalidValue where a letter could belong
    to two of them."""
    scheme, _, after_scheme = url.partition("://")
    end = next((i for i, char in enumerate(after_scheme) if char in "/?#"), len(after_scheme))
    authority, after_scheme = after_scheme[:end], after_scheme[end:]
    if "@" in after_scheme or "#" in after_scheme or authority.count("@") > 1:
        raise InvalidValue(
            "the database URL has an unencoded @, /, ? or # in its user or password", advice=ENCODE
        )
    credentials, at, place = authority.rpartition("@")
    user, colon, password = credentials.partition(":")
    if any(_RAW.search(part) or not _ENCODED.fullmatch(part) for part in (user, password)):
        raise InvalidValue(
            "the database URL has an unencoded letter or a bare % in its user or password",
            advice=ENCODE,
        )
    host = _HOST.match(place)
    port = place[host.end() :] if host else place
    is_port = bool(re.fullmatch(r":[0-9]{1,5}", port)) and 0 < int(port[1:]) < 2**16
    if (port and not is_port) or (at and not credentials):
        raise InvalidValue(
            "the host of the database URL is not of the form host or host:port",
            advice=f"{DATABASE_FORMS}; {ENCODE}",
        )
    path, _, query = after_scheme.partition("?")
    if not _ENCODED.fullmatch(after_scheme) or "/" in path[1:]:
        raise InvalidValue("the database URL has no database", advice=DATABASE_FORMS)
    parameters = tuple(parse_qsl(query, keep_blank_values=True))
    if not {name for name, _ in parameters} <= _PARAMETERS or (query and not parameters):
        raise InvalidValue(
            "the database URL has an unknown parameter",
            advice=f"the known ones are libpq's: {', '.join(sorted(_PARAMETERS))}",
        )
    secret, at = ":***" if colon else "", "@" if user or colon else ""
    shown = f"{scheme}://{user}{secret}{at}{place}{path}"
    said = ((name, value if name in _SHOWN_PARAMETERS else "***") for name, value in parameters)
    query = "&".join(f"{name}={value}" for name, value in said)
    return f"{shown}?{query}" if query else shown

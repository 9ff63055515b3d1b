"""Keeps the requests and answers of a provider while `diskbench doctor --live` runs.

A provider calls `note` for each answer that it gets over HTTP; without a recording in progress that
does nothing. One recording at a time in a process: requests of all its threads belong to it.
"""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from diskbench.model.finding import Exchange

_SENT = frozenset({"content-type", "soapaction", "x-amz-target"})
"""Headers of requests that are kept: those that name the request and its format. No other header is
kept, because it may hold credentials."""
_ANSWERED = frozenset(
    {"azure-asyncoperation", "content-type", "location", "retry-after", "x-ms-error-code"}
)
"""Headers of answers that are kept."""
_lock = threading.Lock()
_recordings: list[list[Exchange]] = []


@contextlib.contextmanager
def recording() -> Iterator[list[Exchange]]:
    """Keep all exchanges of the block, in the order of their answers."""
    exchanges: list[Exchange] = []
    with _lock:
        _recordings.append(exchanges)
    try:
        yield exchanges
    finally:
        with _lock:
            _recordings[:] = [other for other in _recordings if other is not exchanges]


def is_recording() -> bool:
    """Whether a recording is in progress."""
    return bool(_recordings)


def note(**parts: Any) -> None:  # noqa: ANN401 - those of `exchange_of`
    """Keep one exchange, if a recording is in progress; `parts` as `exchange_of` takes them."""
    if not _recordings:
        return
    exchange = exchange_of(**parts)
    with _lock:
        for exchanges in _recordings:
            exchanges.append(exchange)


def exchange_of(
    *,
    method: str,
    url: str,
    sent: Mapping[str, str],
    asked: bytes | str | None,
    status: int,
    headers: Mapping[str, str],
    body: bytes | str | None,
) -> Exchange:
    """An exchange as it is recorded. `url` may hold the host."""
    parts = urlsplit(url)
    return Exchange(
        method=method,
        url=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        sent=_only(sent, _SENT),
        asked=_content(asked),
        status=status,
        headers=_only(headers, _ANSWERED),
        body=_content(body),
    )


def _only(headers: Mapping[str, str], names: frozenset[str]) -> dict[str, str]:
    return {name.lower(): _text(value) for name, value in headers.items() if name.lower() in names}


def _text(value: Any) -> str:  # noqa: ANN401 - str, or bytes as botocore has them
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _content(body: bytes | str | None) -> Any:  # noqa: ANN401 - what the JSON holds
    if not body:
        return None
    text = _text(body)
    try:
        return json.loads(text)
    except ValueError:
        return text

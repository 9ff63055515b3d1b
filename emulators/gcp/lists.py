"""Answers that list: filtered, in pages, and by scope."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from emulators.gcp import regions
from emulators.gcp.call import Call, invalid
from emulators.gcp.filters import compile_filter
from emulators.gcp.regions import link

PAGE = 500
"""Results in a page where none is asked for: description of `maxResults`."""


def listed(call: Call, kind: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One page of the rows that the call's filter takes; `kind` as in `compute#diskList`."""
    test = compile_filter(call.query.get("filter", ""))
    taken = [row for row in rows if test(row)]
    page, token = _page(call, taken)
    answer: dict[str, Any] = {"kind": kind, "id": call.scope, "selfLink": link(call.scope)}
    if page:
        answer["items"] = page
    return answer | ({"nextPageToken": token} if token else {})


def aggregated(
    call: Call, kind: str, collection: str, rows: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Rows by path, told by scope; a scope without any carries a warning in their place."""
    test = compile_filter(call.query.get("filter", ""))
    page, token = _page(call, [path for path, row in rows.items() if test(row)])
    items: dict[str, Any] = {}
    for scope in (*(f"zones/{zone}" for zone in regions.ZONES), *_regions(), "global"):
        below = f"projects/{call.project}/{scope}/"
        found = [rows[path] for path in page if path.startswith(below)]
        items[scope] = {collection: found} if found else {"warning": _empty(scope)}
    answer = {"kind": kind, "id": call.scope, "items": items, "selfLink": link(call.scope)}
    return answer | ({"nextPageToken": token} if token else {})


def _regions() -> list[str]:
    return [f"regions/{region}" for region in regions.REGIONS]


def _page(call: Call, rows: Sequence[Any]) -> tuple[list[Any], str | None]:
    size = int(call.query.get("maxResults", PAGE)) or PAGE
    given = call.query.get("pageToken", "")
    try:
        first = int(base64.urlsafe_b64decode(given)) if given else 0
    except (binascii.Error, ValueError):
        raise invalid("pageToken", given, "Invalid page token.") from None
    rest = rows[first + size :]
    token = base64.urlsafe_b64encode(str(first + size).encode()).decode() if rest else None
    return list(rows[first : first + size]), token


def _empty(scope: str) -> dict[str, Any]:
    return {
        "code": "NO_RESULTS_ON_PAGE",
        "message": f"There are no results for scope '{scope}' on this page.",
        "data": [{"key": "scope", "value": scope}],
    }

"""The `filter` of a list: one comparison, of the forms that the adapter sends. Pure.

Grammar: description of `filter` in the discovery document. Whole filters (AND, OR, NOT, order) are
not emulated: they are refused, as Compute Engine refuses what is no filter.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from emulators.gcp.call import Refusal

Test = Callable[[Mapping[str, Any]], bool]

_COMPARISON = re.compile(
    r'(?P<field>[A-Za-z][\w.-]*)(?:=(?P<equal>[^\s*"]+)|(?P<there>:\*)| eq "(?P<form>[^"]+)")'
)
"""`name=VALUE`, `labels.KEY:*` (it is there) and `targetLink eq "REGULAR EXPRESSION"`."""


def compile_filter(text: str) -> Test:
    """A test for rows. Raises Refusal for what is no filter."""
    if not text.strip():
        return lambda _row: True
    asked = _COMPARISON.fullmatch(text)
    if asked is None:
        message = f"Invalid value for field 'filter': '{text}'. Invalid list filter expression."
        raise Refusal(400, "invalid", message)
    pattern = ".*" if asked["there"] else asked["form"] or re.escape(asked["equal"])

    def holds(row: Mapping[str, Any]) -> bool:
        found: Any = row
        for part in asked["field"].split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found is not None and re.fullmatch(pattern, str(found)) is not None

    return holds

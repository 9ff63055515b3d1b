"""The `filter` of a list: what it takes of what there is. Pure.

Grammar: description of `filter` in the discovery document (comparisons with =, !=, >, <, >=, <=,
`:`, and eq and ne with regular expressions; AND, OR, NOT, parentheses; a blank is AND).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from emulators.gcp.call import Refusal

Test = Callable[[Mapping[str, Any]], bool]

_TOKEN = re.compile(
    r"\s*(?:(?P<quoted>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<op>!=|>=|<=|[=<>:()])"
    r"|(?P<word>[^\s()=!<>:\"']+))"
)
_COMPARISONS = frozenset({"=", "!=", ">", "<", ">=", "<=", ":", "eq", "ne"})


def compile_filter(text: str) -> Test:
    """A test for rows. Raises Refusal for what is no filter."""
    if not text.strip():
        return lambda _row: True
    tokens = _tokens(text)
    test, rest = _either(tokens, text)
    if rest:
        raise _bad(text)
    return test


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    while text[at:].strip():
        one = _TOKEN.match(text, at)
        if one is None:
            raise _bad(text)
        found.append(one[0].strip())
        at = one.end()
    return found


def _either(tokens: list[str], text: str) -> tuple[Test, list[str]]:
    first, rest = _all(tokens, text)
    tests = [first]
    while rest and rest[0] == "OR":
        one, rest = _all(rest[1:], text)
        tests.append(one)
    return (lambda row: any(test(row) for test in tests)), rest


def _all(tokens: list[str], text: str) -> tuple[Test, list[str]]:
    first, rest = _one(tokens, text)
    tests = [first]
    while rest and rest[0] not in {"OR", ")"}:
        one, rest = _one(rest[1:] if rest[0] == "AND" else rest, text)
        tests.append(one)
    return (lambda row: all(test(row) for test in tests)), rest


def _one(tokens: list[str], text: str) -> tuple[Test, list[str]]:
    if not tokens:
        raise _bad(text)
    if tokens[0] == "NOT":
        inner, rest = _one(tokens[1:], text)
        return (lambda row: not inner(row)), rest
    if tokens[0] == "(":
        inner, rest = _either(tokens[1:], text)
        if not rest or rest[0] != ")":
            raise _bad(text)
        return inner, rest[1:]
    if len(tokens) < 3 or tokens[1] not in _COMPARISONS:
        raise _bad(text)
    return _comparison(tokens[0], tokens[1], tokens[2]), tokens[3:]


def _comparison(name: str, operator: str, written: str) -> Test:
    value = re.sub(r"\\(.)", r"\1", written[1:-1]) if written[0] in "\"'" else written
    if operator in {"eq", "ne"}:
        try:
            re.compile(value)
        except re.error:
            raise _bad(value) from None

    def holds(row: Mapping[str, Any]) -> bool:
        found = _field(row, name)
        if operator in {"!=", "ne"}:
            return not _equal(found, value, "=" if operator == "!=" else "eq")
        if operator in {"=", "eq", ":"}:
            return _equal(found, value, operator)
        return found is not None and _ordered(found, operator, value)

    return holds


def _field(row: Mapping[str, Any], name: str) -> Any:
    found: Any = row
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _equal(found: Any, value: str, operator: str) -> bool:
    if isinstance(found, list):
        return any(_equal(one, value, operator) for one in found)
    if found is None:
        return False
    if value == "*":
        return True
    text = str(found).lower() if isinstance(found, bool) else str(found)
    if operator == "eq":
        return re.fullmatch(value, text) is not None
    pattern = ".*".join(re.escape(part) for part in value.split("*"))
    if operator == ":":
        return re.search(pattern, text) is not None
    return re.fullmatch(pattern, text) is not None


def _ordered(found: Any, operator: str, value: str) -> bool:
    try:
        left: Any = float(found)
        right: Any = float(value)
    except ValueError:
        left, right = str(found), value
    less, same = bool(left < right), bool(left == right)
    return {"<": less, "<=": less or same, ">": not less and not same, ">=": not less}[operator]


def _bad(text: str) -> Refusal:
    message = f"Invalid value for field 'filter': '{text}'. Invalid list filter expression."
    return Refusal(400, "invalid", message)

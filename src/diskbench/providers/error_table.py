"""A cloud's errors as a table in `errors.yaml` of its package, and the function that reads it.

The file holds tables by name, each a list of rows with the fields of ErrorRow (statuses as `429` or
`500-599`). YAML's anchors (`&name`, `*name`) repeat a sentence. A row maps codes of the cloud to an
error of diskbench, with its message and advice. Whether an attempt is worth repeating follows from
the error's class (diskbench/errors.py). The first row that matches decides; the last row matches
everything.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

from diskbench import errors
from diskbench.errors import DiskbenchError, Unanswered
from diskbench.yaml_lines import packaged


@dataclass(frozen=True)
class ErrorRow:
    """One kind of error. `message` and `advice` are templates: `{said}`, `{code}`, `{action}`, what
    the patterns of `codes` and `found` capture by name, and what the cloud's own code adds."""

    kind: type[DiskbenchError]
    message: str
    advice: str = ""
    """What to do next; for Unanswered and its subclasses, what to check before resuming."""
    codes: tuple[str, ...] = ()
    """Regular expressions, each matched with a whole code."""
    statuses: Container[int] = ()
    """HTTP statuses that match independent of the code."""
    action: str = ""
    """The call for which the codes match; empty for any."""
    said: str = ""
    """Regular expression that must be found in what the cloud said, in any case, beside the code;
    empty for any. Some clouds use one code for several kinds of error."""
    found: tuple[str, ...] = ()
    """Regular expressions; the groups of the first that is found in what the cloud said fill
    templates."""
    otherwise: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Templates for names that `found` does not fill."""
    field: str = ""
    """The option of the run, by its field, that the advice names (`tags`)."""


ErrorTable = tuple[ErrorRow, ...]


def error_tables(package: str) -> dict[str, ErrorTable]:
    """The tables in `errors.yaml` of a provider's package, by name. Raises KeyError or TypeError
    for a field that a row does not have."""
    tables = packaged(package, "errors.yaml")
    return {name: tuple(map(_row, rows)) for name, rows in tables.items()}


def _row(fields: dict[str, Any]) -> ErrorRow:
    read: dict[str, Any] = {**fields, "kind": getattr(errors, fields["kind"])}
    read |= {name: tuple(fields.get(name, ())) for name in ("codes", "found")}
    ranges = [str(one).partition("-") for one in fields.get("statuses", ())]
    read["statuses"] = tuple(
        status for low, _, high in ranges for status in range(int(low), int(high or low) + 1)
    )
    return ErrorRow(**read)


def error_of(
    table: ErrorTable,
    codes: tuple[str, ...],
    said: str,
    action: str,
    status: int = 0,
    more: Mapping[str, str] | None = None,
) -> DiskbenchError:
    """The error of the first row that matches a cloud's answer: its codes (a row matches any;
    messages name the first), its text, the call's name and the status. `more` holds further values
    for the templates. A table's last row matches everything."""
    for row in table:
        if row.action and row.action != action:
            continue
        if row.said and not re.search(row.said, said, re.IGNORECASE):
            continue
        tried = (re.fullmatch(pattern, code) for code in codes for pattern in row.codes)
        match = next(filter(None, tried), None)
        if match or status in row.statuses or not (row.codes or row.statuses):
            code = next((code for code in codes if code), "") or str(status)
            told = f"{said} ({code})"
            base = {"said": said, "code": code, "action": action, "told": told, **(more or {})}
            return _made(row, base | (match.groupdict() if match else {}))
    raise AssertionError("a table's last row matches everything")


def _made(row: ErrorRow, base: dict[str, str]) -> DiskbenchError:
    matches = (re.search(pattern, base["said"]) for pattern in row.found)
    from_text = next((match.groupdict() for match in matches if match), {})
    filled = {key: template.format(**base) for key, template in row.otherwise.items()}
    words = {**base, **filled, **from_text}
    message, advice = row.message.format(**words), row.advice.format(**words)
    if issubclass(row.kind, Unanswered):
        return row.kind(message, look_at=advice)
    return row.kind(message, advice=advice, field=row.field)


def refusals(package: str) -> Callable[..., DiskbenchError]:
    """The function that makes the errors in `refusals.yaml` of a package: by the name of the rule,
    with the values that its templates name. A row has `message`, `advice`, `field` (that of the run
    which the error is about) and `kind`, without which it is an InvalidValue."""

    rows = functools.cache(lambda: packaged(package, "refusals.yaml"))

    def refused(rule: str, /, **values: object) -> DiskbenchError:
        row = rows()[rule]
        message, advice = (row.get(part, "").format(**values) for part in ("message", "advice"))
        kind: type[DiskbenchError] = getattr(errors, row.get("kind", "InvalidValue"))
        return kind(message, advice=advice, field=row.get("field", ""))

    return refused


refused = refusals("diskbench.providers")
"""The errors that all clouds share."""

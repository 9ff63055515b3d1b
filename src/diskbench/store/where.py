"""The selection language: filters by any field of runs and of their measurements, as conditions of
SQLAlchemy."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from diskbench.errors import InvalidValue, UnknownName, did_you_mean
from diskbench.model.run import BY_LABEL, COLUMN_OF, KEYS, LABEL, OPERATORS, PARAMETER, RUN_FIELDS
from diskbench.store.dialects import iso, moment_of
from diskbench.store.result_tables import measurement
from diskbench.store.schema import run

_FILTER = re.compile(r"^\s*([A-Za-z_][\w.-]*?)\s*(>=|<=|!=|=|>|<|~)\s*(.*?)\s*$", re.DOTALL)
_ORDERS: Mapping[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")
_MAPPINGS = {LABEL: run.c.labels, PARAMETER: run.c.parameters}
_LIKE = re.compile(r"([%_/])")
_AGO = re.compile(r"^(\d+)\s*([smhdw])$")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DATE_LENGTH = len("2026-11-21")

OF_RUNS = {name: run.c[name] for name in RUN_FIELDS if not isinstance(run.c[name].type, sa.JSON)}
"""The columns of runs that a filter may name; mappings are reached by `label.` and `set.`."""
OF_ROWS = {column.name: column for column in measurement.c if column.name not in run.c}
"""The columns of measurements that runs do not have. fio's error of a job is left out, because
`error` is the one of the run."""
_EXPECTED = {bool: "true or false", float: "a number", int: "a whole number"}


@dataclass(frozen=True)
class Filter:
    """One condition: `field`, one of = != > >= < <= ~ (contains), and the value as typed.

    With `either` it is met where all conditions of at least one of these groups are; the other
    fields then mean nothing (see `any_of`).
    """

    field: str
    operator: str
    value: str
    either: tuple[tuple[Filter, ...], ...] = ()


def any_of(groups: Sequence[Sequence[Filter]]) -> list[Filter]:
    """Conditions that are met if all of at least one of `groups` are; no condition without
    groups."""
    if len(groups) < 2:
        return [condition for group in groups for condition in group]
    return [Filter("", "", "", tuple(map(tuple, groups)))]


def parse_filter(text: str, *, labels: Collection[str] = ()) -> Filter:
    """`disk=gp2`, `iops>3000`, `label.team=storage`, `date>=2026-11-01`, `kernel~6.1`.

    A key of model/run.py is its column from here on; a name that is no key is a label's,
    where it is one of `labels`. Raises InvalidValue for another form, UnknownName for a name that
    is neither.
    """
    match = _FILTER.match(text)
    if not match:
        raise InvalidValue(
            f"filter {text!r} is not of the form KEY=VALUE",
            advice=f"operators: {OPERATORS}, as in --filter 'iops>3000'",
        )
    field, sign, value = match.groups()
    name = COLUMN_OF.get(field, field)
    if name not in (*OF_RUNS, *OF_ROWS) and name in labels:
        name = f"{LABEL}.{name}"
    parsed = Filter(name, sign, value)
    try:
        _condition(parsed, on_rows=False)
    except UnknownName:
        raise _unknown(field, labels) from None
    return parsed


def filter_fields() -> tuple[str, ...]:
    """Every column that a filter may start with: those of runs, then those of measurements."""
    return (*OF_RUNS, *(f"{name}.KEY" for name in _MAPPINGS), *OF_ROWS)


def where(filters: Sequence[Filter], *, on_rows: bool = False) -> sa.ColumnElement[bool]:
    """What the table of runs must meet.

    A filter on a measurement's field is met by a run with at least one merged row that meets it;
    with `on_rows` it is one on the table of measurements in the same query. Raises as
    `parse_filter`.
    """
    return sa.and_(sa.true(), *(_condition(filter_, on_rows=on_rows) for filter_ in filters))


def _unknown(name: str, labels: Collection[str]) -> UnknownName:
    """The refusal of a name that is no key, with the nearest ones."""
    known = {*COLUMN_OF, *filter_fields(), *labels}
    hint = did_you_mean(name, known)
    extra = f" labels: {', '.join(sorted(labels))};" if labels else ""
    keys = ", ".join(KEYS)
    return UnknownName(
        "key of a selection",
        name,
        known,
        advice=f"{hint}keys: {keys};{extra} label.NAME, set.NAME, and every column that 'diskbench "
        "results list --output csv' prints",
    )


def _condition(filter_: Filter, *, on_rows: bool) -> sa.ColumnElement[bool]:
    if filter_.either:
        return sa.or_(*(where(group, on_rows=on_rows) for group in filter_.either))
    kind, dot, key = filter_.field.partition(".")
    if dot and kind in _MAPPINGS:
        if filter_.operator in _ORDERS:
            raise InvalidValue(
                f"{filter_.field} is text, which {filter_.operator} cannot compare",
                advice="use =, != or ~",
            )
        return _held(_in_mapping(kind, key), filter_)
    if filter_.field in OF_RUNS:
        return _run_condition(filter_)
    if filter_.field not in OF_ROWS:
        raise UnknownName("key", filter_.field, filter_fields())
    met = _held(OF_ROWS[filter_.field], filter_)
    if on_rows:
        return met
    of_run = measurement.c.run_id == run.c.run_id, measurement.c.scope == "step"
    return sa.exists().where(*of_run, met).correlate(run)


def _run_condition(filter_: Filter) -> sa.ColumnElement[bool]:
    """A condition on a column of runs, or, if the column is empty, on the label of the same
    meaning."""
    column = OF_RUNS[filter_.field]
    label = BY_LABEL.get(filter_.field)
    if label is None:
        return _held(column, filter_)
    labelled = _in_mapping(LABEL, label)
    if filter_.operator == "=" and filter_.value:  # apart, so that an index finds both
        return sa.or_(_held(column, filter_), sa.and_(column.is_(None), _held(labelled, filter_)))
    return _held(sa.func.coalesce(column, labelled), filter_)


def _in_mapping(kind: str, key: str) -> sa.ColumnElement[str]:
    """A value of the labels or parameters as text."""
    return sa.cast(_MAPPINGS[kind][key].as_string(), sa.Text)


def _held(value: sa.ColumnElement[Any], filter_: Filter) -> sa.ColumnElement[bool]:
    """The condition that a value meets the filter."""
    sign = filter_.operator
    if sign == "~":
        pattern = "%" + _LIKE.sub(r"/\1", filter_.value) + "%"
        text = sa.func.lower(sa.cast(value, sa.Text))
        return text.like(sa.func.lower(sa.cast(pattern, sa.Text)), escape="/")
    if not filter_.value:
        if sign in _ORDERS:
            raise InvalidValue(f"filter {filter_.field}{sign} has no value")
        return value.is_(None) if sign == "=" else value.is_not(None)
    if filter_.field.endswith("_at"):
        start, end = _parse_moment(filter_.value)
        return {
            "=": sa.and_(value >= start, value < end),
            "!=": sa.or_(value.is_(None), value < start, value >= end),
            ">": value >= end,
            ">=": value >= start,
            "<": value < start,
            "<=": value < end,
        }[sign]
    typed = _typed_value(value.type.python_type, filter_)
    if sign == "=":
        return value == typed
    if sign == "!=":
        return value.is_distinct_from(typed)
    met: sa.ColumnElement[bool] = _ORDERS[sign](value, typed)
    return met


def _parse_moment(text: str) -> tuple[str, str]:
    """`2026-11-21` (that day), `2026-11-21T10:00` (that microsecond), `7d` (ago), as it is in rows:
    from the first up to but not including the second.

    A time without an offset is UTC, as everything in rows is. Raises InvalidValue.
    """
    ago = _AGO.match(text.strip())
    try:
        if ago:
            back = timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
            start, covers = datetime.now(UTC) - back, timedelta(microseconds=1)
        else:
            start = moment_of(text.strip())
            is_date = len(text.strip()) <= _DATE_LENGTH
            covers = timedelta(days=1) if is_date else timedelta(microseconds=1)
        return iso(start), iso(start + covers)
    except (ValueError, OverflowError):
        raise InvalidValue(
            f"{text!r} is not a time",
            advice="write 2026-11-21, 2026-11-21T10:00+01:00, or 36h, 7d, 4w (ago)",
        ) from None


def _typed_value(kind: type, filter_: Filter) -> object:
    text = filter_.value
    try:
        if kind is bool:
            if text.lower() not in _TRUE + _FALSE:
                raise ValueError
            return text.lower() in _TRUE
        if kind is int:
            return int(text.replace("_", ""))
        if kind is float:
            return float(text)
    except ValueError:
        raise InvalidValue(f"filter {filter_.field}: {text!r} is not {_EXPECTED[kind]}") from None
    return text

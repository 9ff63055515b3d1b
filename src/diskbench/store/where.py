"""The selection language as SQL text: filters by any field of runs and of their measurements.

Pure and without SQLAlchemy, whose import takes longer than listing ten thousand runs: every reader
of runs takes its WHERE from here, whether it reads through SQLAlchemy or not (store/reader.py).
Values are never part of the text.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Literal

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.run import (
    BY_LABEL,
    COLUMN_OF,
    KEYS,
    LABEL,
    OPERATORS,
    PARAMETER,
    MeasuredRow,
    Run,
)
from diskbench.store.moments import parse_moment

Dialect = Literal["sqlite", "postgresql"]

RUN_TABLE = "diskbench_run"
ROW_TABLE = "diskbench_measurement"
_FILTER = re.compile(r"^\s*([A-Za-z_][\w.-]*?)\s*(>=|<=|!=|=|>|<|~)\s*(.*?)\s*$", re.DOTALL)
_ORDERS = frozenset({">", ">=", "<", "<="})
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")
_MAPPINGS = {LABEL: "labels", PARAMETER: "parameters"}
_WRITTEN_OUT = 3
_LIKE = re.compile(r"([%_/])")


def _kind(annotation: object) -> str:
    return str(annotation).partition(" ")[0]


OF_RUNS = {column.name: _kind(column.type) for column in fields(Run)}
"""The type of each column of runs, as it is written in model/run.py."""
OF_ROWS = {
    column.name: _kind(column.type)
    for column in fields(MeasuredRow)
    if column.name not in {"run", "job_error", *OF_RUNS}
} | {"position": "int"}
"""The type of each column of measurements that runs do not have. fio's error of a job is left out,
because `error` is the one of the run."""


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


@dataclass(frozen=True)
class SqlCondition:
    """A condition as SQL text with a `?` for each of its `values`."""

    text: str
    values: tuple[object, ...] = ()


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
    if name not in _columns() and name in labels:
        name = f"{LABEL}.{name}"
    parsed = Filter(name, sign, value)
    try:
        _condition(parsed, "sqlite", on_rows=False)
    except UnknownName:
        raise _unknown(field, labels) from None
    return parsed


def filter_fields() -> tuple[str, ...]:
    """Every column that a filter may start with: those of runs, then those of measurements."""
    of_runs = [name for name in OF_RUNS if name not in _MAPPINGS.values()]
    return (*of_runs, *(f"{name}.KEY" for name in _MAPPINGS), *OF_ROWS)


def where(filters: Sequence[Filter], dialect: Dialect, *, on_rows: bool = False) -> SqlCondition:
    """What RUN_TABLE must meet, the condition of a query without filters being `1 = 1`.

    A filter on a measurement's field is met by a run with at least one merged row that meets it;
    with `on_rows` it is one on ROW_TABLE in the same query. Raises as `parse_filter`.
    """
    together, single = _combinations(filters, dialect, on_rows=on_rows)
    return _all([_all(together, "OR"), *single] if len(together) > 1 else single)


def ways(filters: Sequence[Filter], dialect: Dialect) -> list[SqlCondition]:
    """The same as `where`, as conditions of which a run meets one at most: for each of them an
    index of a column and a time gives the runs in order. Raises as `parse_filter`."""
    together, single = _combinations(filters, dialect)
    return (
        [_all([combination, *single]) for combination in together]
        if len(together) > 1
        else [_all(single)]
    )


def _combinations(
    filters: Sequence[Filter], dialect: Dialect, *, on_rows: bool = False
) -> tuple[list[SqlCondition], list[SqlCondition]]:
    """The conditions of which one is to be met, and those that are to be met beside it."""
    by_filter = [_ways(filter_, dialect, on_rows=on_rows) for filter_ in filters]
    single = [way for (way, *alternatives) in by_filter if not alternatives]
    several = [conditions for conditions in by_filter if len(conditions) > 1]
    # Written out, so that an index of several columns finds each combination.
    together, apart = several[:_WRITTEN_OUT], several[_WRITTEN_OUT:]
    return [_all(combination) for combination in product(*together)], [
        *(_all(conditions, "OR") for conditions in apart),
        *single,
    ]


def both(first: SqlCondition, second: SqlCondition) -> SqlCondition:
    """What meets both."""
    return _all([first, second])


def among(column: str, values: Sequence[str]) -> SqlCondition:
    """That a column is one of `values`: some hundreds, as databases take no more parameters."""
    if not values:
        return SqlCondition("1 = 0")
    return SqlCondition(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))


def only(met: SqlCondition, run_ids: Sequence[str] | None) -> SqlCondition:
    """What meets a condition and is one of some runs; None: of all."""
    return met if run_ids is None else both(met, among(f"{RUN_TABLE}.run_id", run_ids))


def _all(parts: Sequence[SqlCondition], word: str = "AND") -> SqlCondition:
    if not parts:
        return SqlCondition("1 = 1")
    return SqlCondition(
        f" {word} ".join(f"({part.text})" for part in parts),
        tuple(value for part in parts for value in part.values),
    )


def _columns() -> set[str]:
    """The names that stand for a column here; mappings are reached by `label.` and `set.`."""
    return {*OF_RUNS, *OF_ROWS} - set(_MAPPINGS.values())


def _unknown(name: str, labels: Collection[str]) -> UnknownName:
    """The refusal of a name that is no key, with the nearest ones."""
    known = [*COLUMN_OF, *filter_fields(), *sorted(labels)]
    near = list(dict.fromkeys(difflib.get_close_matches(name, known, n=3)))
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    extra = f" labels: {', '.join(sorted(labels))};" if labels else ""
    keys = ", ".join(key.name for key in KEYS)
    return UnknownName(
        "key of a selection",
        name,
        known,
        advice=f"{hint}keys: {keys};{extra} label.NAME, set.NAME, and every column that 'diskbench "
        "results list --output csv' prints",
    )


def _condition(filter_: Filter, dialect: Dialect, *, on_rows: bool) -> SqlCondition:
    if filter_.either:
        groups = [where(group, dialect, on_rows=on_rows) for group in filter_.either]
        return _all(groups, "OR")
    kind, dot, key = filter_.field.partition(".")
    if dot and kind in _MAPPINGS:
        return _mapping_condition(kind, key, filter_, dialect)
    if filter_.field in OF_RUNS and filter_.field in _columns():
        return _run_condition(filter_, dialect)
    if filter_.field not in OF_ROWS:
        raise UnknownName("key", filter_.field, filter_fields())
    column = SqlCondition(f"{ROW_TABLE}.{filter_.field}")
    met = _held(column, OF_ROWS[filter_.field], filter_, dialect)
    if on_rows:
        return met
    return SqlCondition(
        f"EXISTS (SELECT 1 FROM {ROW_TABLE} WHERE {ROW_TABLE}.run_id = {RUN_TABLE}.run_id "  # noqa: S608
        f"AND {ROW_TABLE}.scope = 'step' AND {met.text})",
        met.values,
    )


def _ways(filter_: Filter, dialect: Dialect, *, on_rows: bool) -> list[SqlCondition]:
    """The conditions of which one is to be met. A column that a label may replace has two: its own
    value meets the filter, or it is empty and the label's value meets it."""
    label = BY_LABEL.get(filter_.field)
    if label is None or filter_.operator != "=" or not filter_.value:
        return [_condition(filter_, dialect, on_rows=on_rows)]
    column = SqlCondition(f"{RUN_TABLE}.{filter_.field}")
    labelled = _label_is(label, filter_.value, dialect)
    empty = _all([SqlCondition(f"{column.text} IS NULL"), labelled])
    return [_held(column, OF_RUNS[filter_.field], filter_, dialect), empty]


def _run_condition(filter_: Filter, dialect: Dialect) -> SqlCondition:
    """A condition on a column of runs, or, if the column is empty, on the label of the same
    meaning."""
    kind = OF_RUNS[filter_.field]
    column = SqlCondition(f"{RUN_TABLE}.{filter_.field}")
    label = BY_LABEL.get(filter_.field)
    if label is None:
        return _held(column, kind, filter_, dialect)
    text = _in_mapping(LABEL, label, dialect)
    value = SqlCondition(f"coalesce({column.text}, {text.text})", text.values)
    return _held(value, kind, filter_, dialect)


def _mapping_condition(kind: str, key: str, filter_: Filter, dialect: Dialect) -> SqlCondition:
    if filter_.operator in _ORDERS:
        raise InvalidValue(
            f"{filter_.field} is text: {filter_.operator} does not compare it",
            advice="use =, != or ~",
        )
    if kind == LABEL and filter_.operator == "=" and filter_.value:
        return _label_is(key, filter_.value, dialect)
    return _held(_in_mapping(kind, key, dialect), "str", filter_, dialect)


def _in_mapping(kind: str, key: str, dialect: Dialect) -> SqlCondition:
    """A value of the labels or parameters as text."""
    column = f"{RUN_TABLE}.{_MAPPINGS[kind]}"
    if dialect == "postgresql":
        return SqlCondition(f"({column} ->> CAST(? AS TEXT))", (key,))
    return SqlCondition(f"CAST(json_extract({column}, ?) AS TEXT)", (f'$."{key}"',))


def _label_is(key: str, value: str, dialect: Dialect) -> SqlCondition:
    """That a run has a label with this value; PostgreSQL has an index of labels."""
    if dialect == "postgresql":
        pair = json.dumps({key: value})
        return SqlCondition(f"CAST({RUN_TABLE}.labels AS jsonb) @> CAST(? AS jsonb)", (pair,))
    text = _in_mapping(LABEL, key, dialect)
    return SqlCondition(f"{text.text} = ?", (*text.values, value))


def _held(value: SqlCondition, kind: str, filter_: Filter, dialect: Dialect) -> SqlCondition:
    """The condition that a value of the type `kind` meets the filter."""
    if filter_.operator == "~":
        pattern = "%" + _LIKE.sub(r"/\1", filter_.value) + "%"
        text = f"lower(CAST({value.text} AS TEXT)) LIKE lower(CAST(? AS TEXT)) ESCAPE '/'"
        return SqlCondition(text, (*value.values, pattern))
    if not filter_.value:
        if filter_.operator in _ORDERS:
            raise InvalidValue(f"filter {filter_.field}{filter_.operator} has no value")
        absent = "IS NULL" if filter_.operator == "=" else "IS NOT NULL"
        return SqlCondition(f"{value.text} {absent}", value.values)
    if filter_.field.endswith("_at"):
        return _time_condition(value.text, filter_)
    typed = _value(kind, filter_)
    sign = filter_.operator
    if sign == "!=":
        sign = "IS NOT" if dialect == "sqlite" else "IS DISTINCT FROM"
    return SqlCondition(f"{value.text} {sign} ?", (*value.values, typed))


def _time_condition(column: str, filter_: Filter) -> SqlCondition:
    moment = parse_moment(filter_.value)
    start, end = moment.start, moment.end
    return {
        "=": SqlCondition(f"{column} >= ? AND {column} < ?", (start, end)),
        "!=": SqlCondition(f"{column} IS NULL OR {column} < ? OR {column} >= ?", (start, end)),
        ">": SqlCondition(f"{column} >= ?", (end,)),
        ">=": SqlCondition(f"{column} >= ?", (start,)),
        "<": SqlCondition(f"{column} < ?", (start,)),
        "<=": SqlCondition(f"{column} < ?", (end,)),
    }[filter_.operator]


_EXPECTED = {"bool": "true or false", "float": "a number", "int": "a whole number"}


def _value(kind: str, filter_: Filter) -> object:
    text = filter_.value
    try:
        if kind == "bool":
            if text.lower() not in _TRUE + _FALSE:
                raise ValueError
            return text.lower() in _TRUE
        if kind == "int":
            return int(text.replace("_", ""))
        if kind == "float":
            return float(text)
    except ValueError:
        raise InvalidValue(f"filter {filter_.field}: {text!r} is not {_EXPECTED[kind]}") from None
    return text

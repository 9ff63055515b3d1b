"""Finding runs and their rows: filters by any field, ids by prefix."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.ids import LAST, SHORT, SHOWN, Known, beginning, last_number, meant
from diskbench.model.run import MeasuredRow, Run
from diskbench.model.selection_keys import (
    BY_LABEL,
    COLUMN_OF,
    KEYS,
    LABEL,
    OPERATORS,
    PARAMETER,
)
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.moments import parse_moment

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

_FILTER = re.compile(r"^\s*([A-Za-z_][\w.-]*?)\s*(>=|<=|!=|=|>|<|~)\s*(.*?)\s*$", re.DOTALL)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")
_MAPPINGS = {LABEL: "labels", PARAMETER: "parameters"}
_AT_ONCE = 500
_LISTED = "'diskbench results list' shows what there is"


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
    """The conditions that are met where all of at least one of `groups` are; none of no group."""
    if len(groups) < 2:
        return [condition for group in groups for condition in group]
    return [Filter("", "", "", tuple(map(tuple, groups)))]


def parse_filter(text: str, *, labels: Collection[str] = ()) -> Filter:
    """`disk=gp2`, `iops>3000`, `label.team=storage`, `date>=2026-11-01`, `kernel~6.1`.

    A key of model/selection_keys.py is its column from here on; a name that is no key is a label's,
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
    typed = Filter(field, sign, value)
    name = COLUMN_OF.get(typed.field, typed.field)
    if name not in _columns() and name in labels:
        name = f"{LABEL}.{name}"
    parsed = Filter(name, typed.operator, typed.value)
    try:
        _condition(parsed)
    except UnknownName:
        raise _unknown(typed.field, labels) from None
    return parsed


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


def filter_fields() -> tuple[str, ...]:
    """Every column that a filter may start with: those of runs, then those of measurements."""
    of_runs = [column.name for column in schema.run.c if column.name not in _MAPPINGS.values()]
    of_rows = [c.name for c in schema.measurement.c if c.name not in schema.run.c]
    return (*of_runs, *(f"{name}.KEY" for name in _MAPPINGS), *of_rows)


def find_runs(
    database: Engine,
    filters: Sequence[Filter] = (),
    *,
    limit: int | None = None,
    run_ids: Sequence[str] | None = None,
) -> list[Run]:
    """The runs that meet all `filters`, newest first, those without a date last; with
    `run_ids` only of these.

    A filter on a measurement's field is met by a run with at least one merged row that meets it.
    """
    run = schema.run
    query = sa.select(run).where(*map(_condition, filters), *_among(run_ids)).limit(limit)
    query = query.order_by(*newest_first())
    with transaction(database) as connection:
        return [Run(*row) for row in connection.execute(query)]


def count_runs(database: Engine, filters: Sequence[Filter] = ()) -> int:
    """How many runs meet all `filters`."""
    query = sa.select(sa.func.count()).select_from(schema.run).where(*map(_condition, filters))
    with transaction(database) as connection:
        return int(connection.execute(query).scalar_one())


def find_run(database: Engine, run_id: str) -> Run:
    """One run by its full id, the beginning or short form of it (model/ids.py), `last` for the
    newest, which is one without a date only where no run has any, or `last~N` for the newest of the
    trial that N newer ones follow.

    Raises UnknownName when there is none, InvalidValue when several begin so, or nothing was typed.
    """
    run = schema.run
    wanted = beginning(run_id, "run")
    if (number := last_number(wanted)) is not None:
        return _last(database, number)
    # The shortest first: the id that was typed in full is among them.
    query = sa.select(run).where(id_fits(run.c.run_id, wanted))
    query = query.order_by(sa.func.length(run.c.run_id), run.c.run_id).limit(SHOWN + 1)
    with transaction(database) as connection:
        by_id = {run.run_id: run for run in (Run(*row) for row in connection.execute(query))}
    known = [
        Known(
            name, "run", where=place_words(run_found.profile, run_found.provider, run_found.place)
        )
        for name, run_found in by_id.items()
    ]
    return by_id[meant(run_id, known, "run", advice=_LISTED).id]


def _last(database: Engine, number: int) -> Run:
    """The newest run of the newest trial but `number`. Raises UnknownName."""
    trials: set[str] = set()
    query = sa.select(schema.run).order_by(*newest_first()).limit(None if number else 1)
    with (
        transaction(database) as connection,
        connection.execution_options(yield_per=_AT_ONCE).execute(query) as rows,
    ):
        for row in rows:
            found = Run(*row)
            trials.add(found.trial_id)
            if len(trials) > number:
                return found
    if not trials:
        raise UnknownName("run", LAST, (), advice=_LISTED)
    raise UnknownName("run", f"{LAST}~{number}", (), advice=f"there are {len(trials)} trials")


def id_fits(column: sa.ColumnElement[str], wanted: str) -> sa.ColumnElement[bool]:
    """The condition that an id begins with the typed text, or ends with it (model/ids.py)."""
    begins = column.startswith(wanted, autoescape=True)
    if len(wanted) < SHORT:
        return begins
    return sa.or_(begins, column.endswith(wanted, autoescape=True))


def place_words(profile: str, provider: str, place: str | None) -> str:
    """What a run measured and where, for a person who has to distinguish runs."""
    return f"{profile} on {provider}" + (f" {place}" if place else "")


def find_measurements(
    database: Engine, filters: Sequence[Filter] = (), *, run_ids: Sequence[str] | None = None
) -> list[MeasuredRow]:
    """Measurement rows of the runs that meet `filters`, each with its run.

    A filter on a measurement's field picks rows here, not whole runs. With `run_ids` (whole ones)
    only rows of these runs are picked.
    """
    run, measurement = schema.run, schema.measurement
    of_rows = [c for c in measurement.c if c.name not in run.c and c.name != "position"]
    query = (
        sa.select(run.c.run_id, *of_rows, measurement.c.error)
        .join_from(run, measurement, run.c.run_id == measurement.c.run_id)
        .where(*(_condition(f, on_rows=True) for f in filters), *_among(run_ids))
        .order_by(*oldest_first(), measurement.c.step_index, measurement.c.position)
    )
    with transaction(database) as connection:
        rows = connection.execute(query).all()
        runs = runs_by_id(connection, {row[0] for row in rows})
    return [MeasuredRow(runs[run_id], *row) for run_id, *row in rows]


def runs_by_id(connection: Connection, run_ids: Collection[str]) -> dict[str, Run]:
    """Runs by their whole ids, inside the caller's transaction."""
    run, runs, wanted = schema.run, dict[str, Run](), sorted(run_ids)
    for start in range(0, len(wanted), _AT_ONCE):
        query = sa.select(run).where(run.c.run_id.in_(wanted[start : start + _AT_ONCE]))
        runs |= {row[0]: Run(*row) for row in connection.execute(query)}
    return runs


def newest_first() -> tuple[sa.ColumnElement[Any], ...]:
    """The order of runs by when they were measured; those without a date come last."""
    run = schema.run.c
    return run.measured_at.desc().nulls_last(), run.created_at.desc(), run.run_id.desc()


def oldest_first() -> tuple[sa.ColumnElement[Any], ...]:
    """The other way round; those without a date come last here, too."""
    run = schema.run.c
    return run.measured_at.asc().nulls_last(), run.created_at.asc(), run.run_id.asc()


def conditions(filters: Sequence[Filter]) -> tuple[sa.ColumnElement[bool], ...]:
    """What the run table must meet in a query of one's own. Raises as `parse_filter`."""
    return tuple(_condition(wanted) for wanted in filters)


def _among(run_ids: Sequence[str] | None) -> tuple[sa.ColumnElement[bool], ...]:
    return () if run_ids is None else (schema.run.c.run_id.in_(run_ids),)


def _columns() -> set[str]:
    """The names that stand for a column here; mappings are reached by `label.` and `set.`."""
    return {*schema.run.c.keys(), *schema.measurement.c.keys()} - set(_MAPPINGS.values())


def _condition(wanted: Filter, *, on_rows: bool = False) -> sa.ColumnElement[bool]:
    if wanted.either:
        return sa.or_(
            *(sa.and_(*(_condition(one, on_rows=on_rows) for one in of)) for of in wanted.either)
        )
    run, measurement = schema.run, schema.measurement
    kind, dot, key = wanted.field.partition(".")
    if dot and kind in _MAPPINGS:
        return _mapping_condition(run.c[_MAPPINGS[kind]], key, wanted)
    if wanted.field not in _columns():
        raise UnknownName("key", wanted.field, filter_fields())
    if wanted.field in run.c:
        column = run.c[wanted.field]
        label = BY_LABEL.get(wanted.field)
        if label is None:
            return _column_condition(column, wanted)
        labelled = sa.cast(run.c.labels[label].as_string(), sa.Text)
        return _column_condition(column, wanted, value=sa.func.coalesce(column, labelled))
    condition = _column_condition(measurement.c[wanted.field], wanted)
    if on_rows:
        return condition
    rows = sa.select(measurement.c.run_id).where(
        measurement.c.run_id == run.c.run_id, measurement.c.scope == "step", condition
    )
    return rows.exists()


def _column_condition(
    column: sa.Column[Any], wanted: Filter, *, value: sa.ColumnElement[Any] | None = None
) -> sa.ColumnElement[bool]:
    """That `column`, or `value` in its place, is as wanted."""
    held: sa.ColumnElement[Any] = column if value is None else value
    if wanted.operator == "~":
        return sa.cast(held, sa.Text).icontains(wanted.value, autoescape=True)
    if not wanted.value:
        return _presence(held, wanted)
    if column.name.endswith("_at"):
        return _time_condition(column, wanted)
    typed = _value(column, wanted)
    if wanted.operator == "=":
        return held == typed
    if wanted.operator == "!=":
        return held.is_distinct_from(typed)
    condition: sa.ColumnElement[bool] = _COMPARE[wanted.operator](held, typed)
    return condition


def _mapping_condition(column: sa.Column[Any], key: str, wanted: Filter) -> sa.ColumnElement[bool]:
    value = sa.cast(column[key].as_string(), sa.Text)
    if wanted.operator == "~":
        return value.icontains(wanted.value, autoescape=True)
    if wanted.operator in _COMPARE:
        raise InvalidValue(
            f"{wanted.field} is text: {wanted.operator} does not compare it",
            advice="use =, != or ~",
        )
    if not wanted.value:
        return _presence(value, wanted)
    if wanted.operator == "=":
        return value == wanted.value
    return value.is_distinct_from(wanted.value)


def _presence(column: sa.ColumnElement[Any], wanted: Filter) -> sa.ColumnElement[bool]:
    """`field=` is met where there is no value, `field!=` where there is one."""
    if wanted.operator in _COMPARE:
        raise InvalidValue(f"filter {wanted.field}{wanted.operator} has no value")
    return column.is_(None) if wanted.operator == "=" else column.is_not(None)


def _time_condition(column: sa.Column[Any], wanted: Filter) -> sa.ColumnElement[bool]:
    moment = parse_moment(wanted.value)
    inside = sa.and_(column >= moment.start, column < moment.end)
    return {
        "=": inside,
        "!=": sa.or_(column.is_(None), sa.not_(inside)),
        ">": column >= moment.end,
        ">=": column >= moment.start,
        "<": column < moment.start,
        "<=": column < moment.end,
    }[wanted.operator]


def _value(column: sa.Column[Any], wanted: Filter) -> object:
    text = wanted.value
    try:
        if isinstance(column.type, sa.Boolean):
            if text.lower() not in _TRUE + _FALSE:
                raise ValueError
            return text.lower() in _TRUE
        if isinstance(column.type, sa.Integer):
            return int(text.replace("_", ""))
        if isinstance(column.type, sa.Double):
            return float(text)
    except ValueError:
        kind = {sa.Boolean: "true or false", sa.Double: "a number"}
        expected = next(
            (v for k, v in kind.items() if isinstance(column.type, k)), "a whole number"
        )
        raise InvalidValue(f"filter {wanted.field}: {text!r} is not {expected}") from None
    return text

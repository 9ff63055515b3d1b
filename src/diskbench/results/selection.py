"""Selections as typed by the user: runs, trials, matrices, `KEY=VALUE` and dates. One language for
every command: `chosen` reads it, cli/selecting.py has its options and their help, and its keys are
those of model/run.py. And the figure and the trust that stand for runs in a list."""

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.engine import Engine

from diskbench.analysis.trust import headline_step, of_trial
from diskbench.errors import InvalidValue, NothingSelected, UnknownName
from diskbench.model.ids import LAST, beginning, line_number, meant
from diskbench.model.result import FINAL_STATES
from diskbench.model.run import FORMS, ListedTrial, Run
from diskbench.store import query
from diskbench.store.figures import recent_trials, step_loads
from diskbench.store.where import Filter, any_of, parse_filter

_RANGE = ".."
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_FIELDS = {"matrix": "campaign_id", "trial": "trial_id", "run": "run_id"}


def selected(database: Engine, text: str) -> list[Filter]:
    """The filters that the selection `text` means: `KEY=VALUE` is a condition, see `conditions`;
    `2026-11-01..2026-11-07` is a range of days in UTC, both ends included; anything else is the id
    of a run, a trial or a matrix, the beginning of an id or its short form, `last`, `last~N`, a
    number of `results list`, or the name of a matrix, which means the newest matrix of that name.
    Raises UnknownName or InvalidValue, also for a number that is the name of a matrix."""
    text = text.strip()
    if line_number(text) is not None and query.newest_matrix_named(database, text) is not None:
        raise InvalidValue(
            f"{text!r} is the name of a matrix and a number of 'diskbench results list'",
            advice="type the id of the matrix or of the trial",
        )
    if (trial_id := query.trial_counted(database, text)) is not None:
        return [Filter("trial_id", "=", trial_id)]
    if "=" in text or "~" in text or "<" in text or ">" in text:
        return conditions(database, [text])
    if _DAY.fullmatch(text):
        return _between(f"{text}{_RANGE}{text}")
    if _RANGE in text and query.newest_matrix_named(database, text) is None:
        return _between(text)
    if (matrix := query.newest_matrix_named(database, text)) is not None:
        return [Filter("campaign_id", "=", matrix)]
    kind = "run, trial or matrix"
    ids = query.ids_that_begin(database, beginning(text, kind))
    advice = f"name {FORMS}\n'diskbench results list' lists your runs"
    chosen = meant(text, ids, kind, advice=advice)
    return [Filter(_FIELDS[chosen.kind], "=", chosen.id)]


@dataclass(frozen=True)
class Selection:
    """A selection as typed: the runs that any of `names` means (all runs without names), of which
    those count that meet all `filters` and were measured from `since` to `until`."""

    names: Sequence[str] = ()
    filters: Sequence[str] = ()
    since: str | None = None
    until: str | None = None

    def __bool__(self) -> bool:
        """Whether anything was typed."""
        return bool(self.names or self.filters) or (self.since, self.until) != (None, None)

    @property
    def words(self) -> str:
        """What was typed, in one line."""
        bounds = (("--since", self.since), ("--until", self.until))
        typed = [f"{name} {value}" for name, value in bounds if value is not None]
        return " ".join([*self.names, *self.filters, *typed])


def chosen(database: Engine, asked: Selection) -> list[Filter]:
    """The conditions that a run meets that was asked for; none where nothing was typed. Every
    command that takes a selection takes it from here. Raises UnknownName, also for a name that
    means no run, and InvalidValue."""
    groups = [selected(database, text) for text in asked.names]
    for text, group in zip(asked.names, groups, strict=True):
        if not query.is_any(database, group):
            raise NothingSelected(text.strip())
    named = any_of(groups)
    return [*named, *conditions(database, asked.filters, asked.since, asked.until)]


def conditions(
    database: Engine, texts: Iterable[str] = (), since: str | None = None, until: str | None = None
) -> list[Filter]:
    """The filters of `KEY=VALUE` texts, and of the first and last time of measurement as typed. A
    name that is not a key is taken as a label's where some run has that label. Raises InvalidValue,
    and UnknownName with the nearest keys and labels."""
    bounds = [f"measured_at>={since}"] if since is not None else []
    bounds += [f"measured_at<={until}"] if until is not None else []
    return [_condition(database, text) for text in [*texts, *bounds]]


def runs_named(database: Engine, texts: Iterable[str]) -> list[str]:
    """The ids of all runs that any of `texts` selects, newest first. Raises UnknownName for a text
    that selects none, InvalidValue."""
    names = list(texts)
    return query.find_run_ids(database, chosen(database, Selection(names))) if names else []


def runs_of(database: Engine, asked: Selection) -> list[Run]:
    """The rows, oldest first, of the runs that were asked for; one that is named by its id comes
    with the others of its trial. Where nothing was typed: those of the newest trial. Raises
    UnknownName, and InvalidValue where no run is left, also of one of the names."""
    asked = asked if asked else Selection((LAST,))
    met = conditions(database, asked.filters, asked.since, asked.until)
    by_id: dict[str, Run] = {}
    for named_runs in [selected(database, text) for text in asked.names] or [[]]:
        rows = query.find_runs(database, [*named_runs, *met])
        if any(condition.field == "run_id" for condition in named_runs):
            for trial_id in {row.trial_id for row in rows}:
                rows += query.find_runs(database, [Filter("trial_id", "=", trial_id), *met])
        by_id |= {row.run_id: row for row in rows}
    if not by_id:
        raise NothingSelected(asked.words)

    def by_date(row: Run) -> tuple[bool, str, str]:  # those without a date last
        return row.measured_at is None, row.measured_at or "", row.run_id

    return sorted(by_id.values(), key=by_date)


def run_or_set(database: Engine, asked: Selection) -> tuple[Run, list[Filter]]:
    """The newest run that was asked for (where nothing was typed, of the newest trial), and the
    filters of all where they are of more than one trial; empty for a run or a trial. Raises
    UnknownName, InvalidValue."""
    asked = asked if asked else Selection((LAST,))
    filters = chosen(database, asked)
    runs = query.find_runs(database, filters)
    if not runs:
        raise NothingSelected(asked.words)
    trials = {run.trial_id for run in runs}
    typed = [run for run in runs if [run.run_id] == [name.strip().lower() for name in asked.names]]
    return (typed or runs)[0], filters if len(trials) > 1 else []


def _condition(database: Engine, text: str) -> Filter:
    with contextlib.suppress(UnknownName):
        return parse_filter(text)
    return parse_filter(text, labels=query.known_labels(database))


def _between(text: str) -> list[Filter]:
    start, _, end = (part.strip() for part in text.partition(_RANGE))
    if not start and not end:
        raise InvalidValue(f"{text!r} has no time", advice="write 2026-11-01..2026-11-07")
    bounds = ((">=", start), ("<=", end))
    return [parse_filter(f"measured_at{sign}{time}") for sign, time in bounds if time]


def listed(
    database: Engine,
    filters: Sequence[Filter],
    *,
    limit: int | None,
    at_work: Callable[[], Collection[str]],
) -> tuple[list[ListedTrial], int]:
    """The lines of `results list`, newest first, and the number of trials that there are. `at_work`
    returns the trials that a live process works on; it is called only where a run has not ended. A
    run that nothing judged yet has the figure of its rows and no trust."""
    trials, total = recent_trials(database, filters, limit=limit)
    bare = [trial.newest.run_id for trial, known in trials if trial.done and not known]
    loads = step_loads(database, bare) if bare else {}
    live = at_work() if any(trial.unfinished for trial, _ in trials) else ()
    lines = []
    for trial, known in trials:
        headline = of_trial(known)
        if headline is not None and len(known) < trial.done:
            headline = replace(headline, trust=None)
        if headline is None:
            headline = headline_step(loads.get(trial.newest.run_id, ()))
        gone = trial.unfinished and trial.newest.trial_id not in live
        lines.append(replace(trial, headline=headline, suspended=gone))
    return lines, total


def with_suspended(runs: Sequence[Run], at_work: Callable[[], Collection[str]]) -> list[Run]:
    """The runs as they are now: one that has not ended is `suspended` where its trial is not among
    those that `at_work` returns, which is called only where a run has not ended."""
    if all(run.state in FINAL_STATES for run in runs):
        return list(runs)
    live = at_work()
    at_rest = (run.state in FINAL_STATES or run.trial_id in live for run in runs)
    pairs = zip(runs, at_rest, strict=True)
    return [run if rests else replace(run, state="suspended") for run, rests in pairs]

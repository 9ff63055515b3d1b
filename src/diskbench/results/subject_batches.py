"""The trials of subjects in batches whose figures fit into memory, however many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.results.subject import subject_of
from diskbench.store.figures import finished_trials, rents_of
from diskbench.store.reader import chunks, reader_of, runs_by_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.results.subject import Fields
    from diskbench.store.query import Filter

_MOST_RUNS = 1000
"""Runs whose figures are in memory together: a few MB."""
_MOST_TRIALS = 200
"""Trials that one query names."""

TrialsOf = dict["Fields", dict[str, int]]
"""By subject its trials, oldest first, each with the number of its runs."""


@dataclass(frozen=True)
class Batch:
    """Trials, oldest first, each with its subject, whose figures are read together; `complete` are
    the subjects that have all theirs then."""

    trials: tuple[tuple[Fields, str], ...]
    complete: tuple[Fields, ...]


def batches(trials_of: Mapping[Fields, Mapping[str, int]]) -> Iterator[Batch]:
    """All trials of all subjects, so few at a time that their rows take little memory."""
    trials: list[tuple[Fields, str]] = []
    complete: list[Fields] = []
    runs = 0
    for subject, of_subject in trials_of.items():
        for trial_id, count in of_subject.items():
            if trials and (runs + count > _MOST_RUNS or len(trials) == _MOST_TRIALS):
                yield Batch(tuple(trials), tuple(complete))
                trials, complete, runs = [], [], 0
            trials.append((subject, trial_id))
            runs += count
        complete.append(subject)
    if trials:
        yield Batch(tuple(trials), tuple(complete))


def trials_by_subject(database: Engine, filters: Sequence[Filter]) -> TrialsOf:
    """The trials with finished runs that meet `filters`, by subject: 200 bytes a trial, where its
    runs with their figures are many thousands."""
    reader, trials_of = reader_of(database), TrialsOf()
    trials = {trial.run_id: trial for trial in finished_trials(database, filters)}
    for chunk in chunks(list(trials)):
        runs = runs_by_id(reader, chunk)
        rents = rents_of(reader, [trials[run_id].trial_id for run_id in chunk])
        for run_id in chunk:
            trial = trials[run_id]
            subject = subject_of(runs[run_id], rents[trial.trial_id])
            trials_of.setdefault(subject, {})[trial.trial_id] = trial.runs
    return trials_of

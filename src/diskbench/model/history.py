"""The history of repeated measurements: the JSON document of `diskbench regressions`."""

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from diskbench.model.base import Frozen
from diskbench.model.comparison import Difference, Metric


class LevelChange(Frozen):
    """The level is another one from the time `at` on, `before` being the last time on the old one.

    `change` is by what part of the old median: −0.1 is a tenth less. `regression` says whether
    that is worse. `since` counts the times on the new level until the next change. `differences`
    are facts that changed with it.
    """

    at: str
    before: str
    median_before: float
    median_after: float
    change: float
    regression: bool
    p: float
    since: int
    differences: tuple[Difference, ...] = ()


class HistoryPoint(Frozen):
    """One time: the median of its replicates, how many there were, and how many did not count:
    what was found there differs from the others (MR-14), or their figure spans a cliff."""

    at: str
    campaign_id: str
    value: float
    trials: int
    left_out: int = 0


class History(Frozen):
    """One step and direction of one block over time, the oldest first.

    `noise` is the coefficient of variation without the changes, `span` (max − min) / median,
    `visible` the least step that would be found three times after it in 95 of 100 cases; None where
    there are too few times for any. Of `after_cliff` trials the figure is the level after a cliff.
    """

    block: str
    step: str
    direction: str
    metric: Metric
    points: tuple[HistoryPoint, ...]
    changes: tuple[LevelChange, ...]
    noise: float
    span: float
    visible: float | None
    after_cliff: int = 0


class Regressions(Frozen):
    """All histories that were looked at. `undated` are trials that have no place in one: the time
    of measurement is not known."""

    format: Literal[1] = 1
    histories: tuple[History, ...]
    undated: tuple[str, ...] = ()


def regressions_json(histories: Iterable[History], undated: Collection[str]) -> Iterator[str]:
    """The indented JSON of Regressions in pieces, one history at a time. `undated` is read last: it
    may be filled while the histories are made."""
    yield '{\n  "format": 1,\n  "histories": ['
    separator, end = "\n    ", "]"
    for history in histories:
        yield separator + history.model_dump_json(indent=2).replace("\n", "\n    ")
        separator, end = ",\n    ", "\n  ]"
    undated_json = json.dumps(list(undated), indent=2, ensure_ascii=False).replace("\n", "\n  ")
    yield f'{end},\n  "undated": {undated_json}\n}}'

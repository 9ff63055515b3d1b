"""The highest rate at which a latency keeps to a target: the search for it, and its result. Pure.

Probes offer a share of the capacity that an earlier step reached, in the open loop. Each keeps to
the target or does not; a saturated probe does not, whatever its latency. One that does not while
something else used the machine or the disk (doubts.DISTURBED) is repeated once. The share is halved
between the highest that did and the lowest that did not,

    next = (low + high) / 2,  low = 0 and high = 1 at first

(high = lasting / capacity where burst credit is documented, for what credit there is regained
while a probe offers little would carry a short one above the rate that lasts)

until high - low <= precision × high, or high <= precision where nothing kept to it. A percentile
q is judged by probes of at least

    n = beyond / (1 - q)      100 I/Os beyond it: 10,000 for p99, 100,000 for p99.9

so that the share of I/Os above the target has a relative error of 10 %; `beyond` is our choice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from diskbench.model.doubts import DISTURBED, SATURATED
from diskbench.model.result import Measurement, StepResult
from diskbench.model.spec import Search
from diskbench.model.threshold import COLUMN_OF, Threshold

FOUND = "sla"
"""The step that the figure of a search is shown as: which probe found it differs between runs."""


@dataclass(frozen=True)
class Sla:
    """The result of one run: the highest offered rate that kept to the target, 0 where none did,
    its step, and the lowest rate that did not; None where all did. `probes` is how many there
    were."""

    iops: float
    missed_iops: float | None
    probes: int
    step: str | None = None


def needed_ios(target: Threshold, beyond: int) -> int:
    """How many I/Os a probe must do for its percentile."""
    return round(beyond / (1 - (target.share or 0.99)))


def next_share(search: Search, results: Sequence[StepResult]) -> float | None:
    """The share of the capacity (in IOPS) that the next probe offers, after the `results` of a run;
    None where the search has ended."""
    return list(_shares(search, results, _capacity(search, results)))[-1][0]


def slas_of(search: Search | None, results: Mapping[str, Sequence[StepResult]]) -> dict[str, Sla]:
    """The result of each run of a trial that made a search and has a probe, by its id; `results`
    are those of each run."""
    if search is None:
        return {}
    of_runs = ((run_id, _sla_of(search, of_run)) for run_id, of_run in results.items())
    return {run_id: sla for run_id, sla in of_runs if sla is not None}


def _sla_of(search: Search, results: Sequence[StepResult]) -> Sla | None:
    probes, capacity = _probes(search, results), _capacity(search, results)
    if not probes:
        return None
    rates: dict[bool, dict[float, str]] = {True: {}, False: {}}
    for probe, (share, kept) in zip(probes, _shares(search, results, capacity), strict=False):
        rates[bool(kept)][(share or 0.0) * capacity or _iops([probe])] = probe.step
    highest = max(rates[True], default=0.0)
    missed = min(rates[False].keys() - rates[True].keys(), default=None)
    return Sla(highest, missed, len(probes), rates[True].get(highest))


def _shares(
    search: Search, results: Sequence[StepResult], capacity: float
) -> Iterator[tuple[float | None, bool | None]]:
    """The share that each probe offered, and whether it kept to the target, None where it is
    repeated; then the share of the next."""
    lasting = search.lasting_iops or capacity
    low, high = 0.0, min(1.0, lasting / capacity) if capacity else 1.0
    is_repeated = False
    for probe in _probes(search, results):
        share, codes = (low + high) / 2, {warning.code for warning in probe.warnings}
        did = SATURATED.code not in codes and keeps(search.target, probe.measurements)
        is_repeated = not (did or is_repeated) and not codes.isdisjoint(DISTURBED)
        yield share, None if is_repeated else did
        if not is_repeated:
            low, high = (share, high) if did else (low, share)
    ended = high - low <= search.precision * (high if low else 1.0)
    yield None if ended else (low + high) / 2, None


def _probes(search: Search, results: Sequence[StepResult]) -> list[StepResult]:
    return [result for result in results if result.step in search.steps]


def _capacity(search: Search, results: Sequence[StepResult]) -> float:
    return _iops(result for result in results if result.step == search.capacity)


def _iops(results: Iterable[StepResult]) -> float:
    """The operations per second of steps, in all directions."""
    rows = (row for result in results for row in result.measurements if row.scope == "step")
    return sum(row.iops or 0.0 for row in rows if row.direction != "sync")


def keeps(target: Threshold, rows: Iterable[Measurement]) -> bool:
    """Whether the merged rows of a step keep to a target, in each direction that it is about. A
    percentile that too few I/Os stand behind does not."""
    asked = [
        getattr(row, COLUMN_OF[target.metric])
        for row in rows
        if row.scope == "step" and row.direction != "sync" and row.ios
        and target.direction in (None, row.direction)
    ]  # fmt: skip
    return bool(asked) and all(ns is not None and target.holds(ns) for ns in asked)

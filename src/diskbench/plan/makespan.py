"""How long a matrix takes with its concurrency limits, and how much runs at once: pure."""

import heapq
import itertools
import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from diskbench.model.matrix import Limits
from diskbench.plugin import known_plugin

EVERYTHING = ""
"""The name under which every cell counts."""


@dataclass(frozen=True)
class Task:
    """A cell for scheduling. Tasks of one `machine` run on it one after another."""

    provider: str
    partition: str
    seconds: float
    machine: str | None = None


def starts(tasks: Sequence[Task], limits: Limits) -> tuple[float, ...]:
    """Return when each task starts, in seconds from the first, if each takes as long as expected.

    A free place goes to the first task in order that the limits admit: a task that waits for its
    region delays no other. A machine shared by several tasks occupies one place from the first of
    them to the last.
    """
    numbers = _chains(tasks)
    of_chains = [
        replace(tasks[chain[0]], seconds=math.fsum(tasks[n].seconds for n in chain))
        for chain in numbers
    ]
    at = [0.0] * len(tasks)
    for chain, begin in zip(numbers, _starts(of_chains, limits), strict=True):
        ends = itertools.accumulate((tasks[n].seconds for n in chain), initial=begin)
        for number, moment in zip(chain, ends, strict=False):
            at[number] = moment
    return tuple(at)


def _chains(tasks: Sequence[Task]) -> list[list[int]]:
    """Return the tasks' numbers grouped by machine, in the order of each group's first task."""
    chains: dict[object, list[int]] = {}
    for number, task in enumerate(tasks):
        chains.setdefault(number if task.machine is None else task.machine, []).append(number)
    return list(chains.values())


def _starts(tasks: Sequence[Task], limits: Limits) -> list[float]:
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for number, task in enumerate(tasks):
        waiting[task.partition].append(number)
    at = [0.0] * len(tasks)
    # Tasks may be 100,000, and their partitions are few.
    bounds = {
        partition: places(tasks[queue[0]].provider, partition, limits)
        for partition, queue in waiting.items()
    }
    taken = Counter[str]()
    running: list[tuple[float, int]] = []
    now, unstarted = 0.0, len(tasks)
    while unstarted:
        free = [
            queue[0]
            for partition, queue in waiting.items()
            if all(taken[name] < limit for name, limit in bounds[partition].items())
        ]
        if free:
            number = min(free)
            task = tasks[number]
            waiting[task.partition].popleft()
            if not waiting[task.partition]:
                del waiting[task.partition]
            taken.update(bounds[task.partition].keys())
            heapq.heappush(running, (now + task.seconds, number))
            at[number], unstarted = now, unstarted - 1
            continue
        now, number = heapq.heappop(running)
        taken.subtract(bounds[tasks[number].partition].keys())
    return at


def makespan_s(tasks: Sequence[Task], limits: Limits) -> float:
    """Return the seconds from the first start to the last end; 0 without tasks."""
    ends = (start + t.seconds for start, t in zip(starts(tasks, limits), tasks, strict=True))
    return max(ends, default=0.0)


def at_once(partition: str, tasks: Iterable[Task], limits: Limits) -> int:
    """Return the most tasks of a partition that can run at once."""
    of_partition = [task for task in tasks if task.partition == partition]
    allowed = places(of_partition[0].provider, partition, limits)
    return min(len(_chains(of_partition)), *allowed.values())


def places(provider: str, partition: str, limits: Limits) -> dict[str, int]:
    """Return the names under which a cell counts, and how many may run at once under each."""
    most = limits.max_parallel
    found = {EVERYTHING: most, provider: limits.per.get(provider, most)}
    found[partition] = 1 if one_at_a_time(provider) else limits.per.get(partition, most)
    return found


def one_at_a_time(provider: str) -> bool:
    """Whether the provider's machines run one trial at a time, whatever the limits."""
    plugin = known_plugin(provider)
    return plugin is not None and plugin.one_at_a_time

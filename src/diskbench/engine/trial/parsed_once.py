"""What fio has parsed already: the job files of replicates differ in their paths alone."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.spec import Plan


class ParsedOnce:
    """Runs a check of a plan's job files once for all hosts with the same fio and the same jobs.
    Threads that need the same check wait for the first."""

    def __init__(self) -> None:
        self._parsed: dict[str, Future[bool]] = {}

    def check(self, plan: Plan, check: Callable[[], None]) -> None:
        """Call `check` unless one for the same fio and the same jobs has passed; raises what it
        raises."""
        key, first = _key(plan), Future[bool]()
        known = self._parsed.setdefault(key, first)
        if known is not first and known.result():
            return
        try:
            check()
        except BaseException:
            first.set_result(False)  # the other hosts then run the check with their own fio
            if known is first:
                del self._parsed[key]
            raise
        first.set_result(True)


def _key(plan: Plan) -> str:
    facts = plan.facts
    text = (facts.fio_version, facts.fio_engines, _jobs_without_paths(plan))
    return hashlib.sha256(repr(text).encode()).hexdigest()


def _jobs_without_paths(plan: Plan) -> tuple[str, ...]:
    """The job files without the trial's own path: the part that is equal on every host."""
    target = plan.target
    own = [target.work_dir or target.device or target.path, *(d.device for d in target.others)]
    jobs = [step.job for step in plan.steps]
    for path in sorted(own, key=len, reverse=True):  # /dev/sdaa before /dev/sda
        jobs = [job.replace(path, "") for job in jobs]
    return tuple(jobs)

"""How the evidence of several runs is read."""

from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from tests.rigs.runs import bare_run

from diskbench.results.run_evidence import EvidenceOfRuns, ReadRun
from diskbench.store.evidence import open_evidence

TOGETHER = 4
LONG_S = 60.0


class Waiting:
    """A store behind a network, of which no read ends before several have begun."""

    url = "s3://bucket/evidence"

    def __init__(self) -> None:
        self._store = open_evidence("memory:///")
        self._barrier = Barrier(TOGETHER)

    def get(self, key: str, *, limit: int = 2**20) -> bytes:
        if key.endswith("manifest.json"):
            self._barrier.wait(LONG_S)
        return self._store.get(key, limit=limit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_runs_behind_a_network_are_read_several_at_a_time() -> None:
    store: Any = Waiting()
    rows = [bare_run(run_id=f"run-{n}", trial_id="t", run_index=n) for n in range(TOGETHER)]
    read = EvidenceOfRuns(lambda _: store).read(rows, {})
    assert list(read) == [row.run_id for row in rows]
    assert set(read.values()) == {ReadRun()}


def test_a_read_alone_would_wait_for_ever() -> None:
    store: Any = Waiting()
    store._barrier.abort()
    row = bare_run(run_id="run-0", trial_id="t", run_index=0)
    with pytest.raises(BrokenBarrierError):
        EvidenceOfRuns(lambda _: store).read([row], {})

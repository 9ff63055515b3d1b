"""A recorded case of tests/cases/limiter, judged: for its test and for the scoreboard."""

from itertools import pairwise

from tests.books import SHIPPED

from diskbench.analysis.setting import Setting, Sibling
from diskbench.analysis.stretches import Measured, StepPromise
from diskbench.analysis.verdict import verdict
from diskbench.catalog.expect import expect_on
from diskbench.model.expectation import Load
from diskbench.model.phase import Cliff, Phase, Steadiness, StepPhases
from diskbench.model.processor import MachineUse
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.plan.limit_path import Hint, limit_paths_of, named_disk


def judge(case):
    load = Load(**case["load"]) if "load" in case else None
    measured = case["measured"]
    phases = _phases(case["phases"], measured["seconds"]) if "phases" in case else None
    iops, moved = measured.get("iops"), measured.get("bytes_per_s")
    if load is not None and iops is not None:
        moved = iops * load.block_bytes
    setting = Setting(
        load=load,
        seconds=measured["seconds"],
        processor=MachineUse(**case.get("processor", {})),
        device_share=case.get("device_share"),
        keeps_cache=case.get("keeps_cache", False),
        host_cache=Hint(as_disk=case.get("disk")).has_cache,
        network=case.get("network"),
        **case.get("medium", {}),
        siblings=tuple(Sibling(**one) for one in case.get("siblings", ())),
    )
    return verdict(
        Measured(
            step_index=0,
            step="step",
            iops=iops,
            bytes_per_s=moved,
            seconds=measured["seconds"],
            phases=phases,
        ),
        setting,
        promise_of(case, load),
        [Warning(code=code, message="recorded") for code in case.get("warnings", ())],
    )


def promise_of(case, load):
    """The promise of the case's disk, with the credit that the case names."""
    if "disk" not in case or load is None:
        return None
    path = limit_paths_of(named_disk(case["disk"]), case.get("machine"), SHIPPED)[0]
    left = case.get("credit", 1.0)
    expected = expect_on(path, load, credit=tuple(gate.capacity * left for gate in path.gates))
    assert expected is not None
    return StepPromise(expected, credit={gate.limit: left for gate in path.gates if gate.capacity})


def _phases(told, seconds):
    phases = tuple(Phase(**{"bytes_per_s": one["iops"] * 4096.0, **one}) for one in told)
    cliffs = tuple(
        Cliff(
            at_s=after.start_s,
            before=before.iops or 0.0,
            after=after.iops or 0.0,
            credits=((before.iops or 0.0) - (after.iops or 0.0)) * before.seconds,
        )
        for before, after in pairwise(phases)
        if (after.iops or 0.0) < (before.iops or 0.0)
    )
    return StepPhases(
        step="step",
        seconds=seconds,
        shortest_s=60,
        phases=phases,
        cliffs=cliffs,
        steady=Steadiness(state="steady", kind=phases[-1].kind),
    )

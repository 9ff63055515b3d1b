"""Trials of GoBonnieGo on a gp2 of AWS, as a store keeps them, without a machine."""

from tests.rigs.measured import begin_run
from tests.rigs.plans import make_plan, make_step, save_plan
from tests.rigs.runs import a_result, a_row

from diskbench.model.facts import CloudFacts, CpuFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.store.finish import finish_run
from diskbench.store.step_rows import save_step
from diskbench.units import GIB

STEPS = ("seq-write-64k", "seq-read-64k", "rand-512-9to1")


def trial_of(
    run_ids, *, disk="gp2", machine="c4.xlarge", emulated=False, verified=True, expectation=None
):
    """The plan of so many runs on one rented disk of 20 GiB."""
    bought = {"offer": machine, "instance_type": machine}
    bought |= {"disk": DiskSpec(type=disk, size_gib=20), "spec": RentSpec(disk=disk, size_gib=20)}
    cloud = CloudFacts(vendor="aws", instance_type=machine, verified=verified)
    seen = {"cpu": CpuFacts(count=4), "memory_bytes": 8 * GIB, "cloud": cloud, "kernel": ""}
    return make_plan(
        run_ids,
        profile="gobonniego",
        rental=Rental(scope=Scope(provider="aws", region="us-east-1"), **bought),
        acquired={"address": "192.0.2.1", "size_bytes": 20 * GIB, "emulated": emulated},
        steps=tuple(make_step(index, name) for index, name in enumerate(STEPS)),
        expectation=expectation,
        facts=make_plan().facts.model_copy(update=seen),
    )


def save_trial(database, evidence, plan, iops):
    """Keep a trial whose n-th run reached `iops[n]` at random places, and 90 MB/s either way."""
    save_plan(database, plan, evidence.url)
    for index, (run_id, reached) in enumerate(zip(plan.run_ids, iops, strict=True)):
        begin_run(database, run_id)
        figures = {
            "seq-write-64k": [("write", 1400.0, 90e6)],
            "seq-read-64k": [("read", 1400.0, 90e6)],
            "rand-512-9to1": [("read", reached * 0.9, 1e6), ("write", reached * 0.1, 1e5)],
        }
        for place, (step, told) in enumerate(figures.items()):
            rows = (_row(run_id, place, step, *one) for one in told)
            save_step(database, run_id, a_result(*rows, fio_version="3.33"))
        finish_run(database, evidence, plan, index, "done", None)


def _row(run_id, index, step, direction, iops, bytes_per_s):
    counted = {"ios": 1000, "bytes": 10**9, "runtime_ns": 5 * 10**9, "bytes_per_s": bytes_per_s}
    where = {"step": step, "step_index": index, "direction": direction}
    return a_row(run_id, iops, **where, **counted | {"block_bytes": None})

"""Trials of GoBonnieGo on a gp2 of AWS, as a store keeps them, without a machine."""

from tests.rigs.began import begin_run
from tests.rigs.plans import make_plan, make_step, save_plan

from diskbench.model.facts import CloudFacts, CpuFacts, DiskFacts, HostFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.result import Measurement, StepResult
from diskbench.store.finish import finish_run
from diskbench.store.step_rows import save_step
from diskbench.units import GIB

STEPS = ("seq-write-64k", "seq-read-64k", "rand-512-9to1")


def trial_of(
    run_ids, *, disk="gp2", machine="c4.xlarge", emulated=False, verified=True, expectation=None
):
    """The plan of so many runs on one rented disk of 20 GiB."""
    return make_plan(
        run_ids,
        profile="gobonniego",
        rental=Rental(
            scope=Scope(provider="aws", region="us-east-1"),
            spec=RentSpec(disk=disk, size_gib=20),
            offer=machine,
            disk=DiskSpec(type=disk, size_gib=20),
            instance_type=machine,
        ),
        acquired={"address": "192.0.2.1", "size_bytes": 20 * GIB, "emulated": emulated},
        steps=tuple(make_step(index, name) for index, name in enumerate(STEPS)),
        expectation=expectation,
        facts=HostFacts(
            hostname="db1",
            cpu=CpuFacts(count=4),
            memory_bytes=8 * GIB,
            fio_version="fio-3.33",
            cloud=CloudFacts(vendor="aws", instance_type=machine, verified=verified),
            disk=DiskFacts(name="nvme1n1", path="/dev/nvme1n1", size_bytes=20 * GIB),
        ),
    )


def save_trial(database, evidence, plan, iops, *, warnings=()):
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
            done = StepResult(
                step_index=place,
                step=step,
                role="measure",
                started_at="2026-11-21T10:00:00.000000+00:00",
                finished_at="2026-11-21T10:00:05.000000+00:00",
                fio_exit=0,
                fio_version="3.33",
                warnings=tuple(warnings),
                measurements=tuple(_row(run_id, place, step, *one) for one in told),
            )
            save_step(database, run_id, done)
        finish_run(database, evidence, plan, index, "done", None)


def _row(run_id, index, step, direction, iops, bytes_per_s):
    return Measurement(
        run_id=run_id,
        step_index=index,
        step=step,
        role="measure",
        scope="step",
        job="all",
        job_index=-1,
        direction=direction,
        ios=1000,
        bytes=10**9,
        runtime_ns=5 * 10**9,
        iops=iops,
        bytes_per_s=bytes_per_s,
    )

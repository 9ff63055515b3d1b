"""Runs whose seconds are known: kept as fio logs beside rows, on a plan of their own."""

from zlib import crc32

from tests.rigs.measured import begin_run
from tests.rigs.plans import make_plan, save_plan
from tests.rigs.replicates import ulid
from tests.rigs.runs import a_result, a_row

from diskbench.model.options import RentSpec
from diskbench.model.spec import Step
from diskbench.store import archive
from diskbench.store.finish import finish_run
from diskbench.store.step_rows import save_step

TIMES = ("2026-11-21T10:00:00+00:00", "2026-11-21T11:00:00+00:00")


def coursed(
    database, evidence, series, *, number=0, campaign=0, disk="gp2", step="read", labels=(),
    facts=None, canaries=None, again=(), job="[x]\n", in_flight=None,
    changed=lambda plan: plan,
):  # fmt: skip
    """One trial of a step of random reads of 4 KiB, `series` its IOPS by seconds; its row is fio's
    mean over all of it. `again` are the series of further runs of the trial, `canaries` the seconds
    that the checksum took before and after. With `in_flight` I/Os under way there is a log of their
    latencies, too. `changed` is the plan that is kept. Returns the trial's id."""
    at_s = 1_790_000_000 + campaign * 86_400 + number * 600
    unique = crc32(disk.encode()) % 1000 * 100 + number
    courses = (series, *again)
    run_ids = tuple(ulid(at_s + 1 + at, unique) for at in range(len(courses)))
    made = Step(index=0, name=step, job=job, expected_s=float(len(series)))
    ids = {"trial_id": ulid(at_s, unique)}
    ids |= {"campaign_id": ulid(1_790_000_000 + campaign * 86_400, campaign)}
    plan = make_plan(run_ids, labels=tuple(labels), steps=(made,)).model_copy(update=ids)
    spec = RentSpec(disk=disk, size_gib=20, region="eu-central-1", instance_type="m7i.large")
    cell = {"provider": "aws", "address": None, "rent": spec, "replicate": number}
    cell, seen = plan.cell.model_copy(update=cell), plan.facts.model_copy(update=facts or {})
    plan = changed(plan.model_copy(update={"cell": cell, "facts": seen}))
    save_plan(database, plan, evidence.url)
    archive.write_plan(evidence, plan)
    for index, (run_id, values) in enumerate(zip(run_ids, courses, strict=True)):
        _run(database, evidence, run_id, made, values, canaries or (), in_flight)
        finish_run(database, evidence, plan, index, "done", None)
    return plan.trial_id


def _run(database, evidence, run_id, made, series, canaries, in_flight):
    columns = {"iops": series, "bw": [value * 4 for value in series]}
    if in_flight is not None:
        columns["lat"] = [in_flight * 1e9 / value for value in series]
    logs = {
        f"fio_{kind}.1.log": "".join(
            f"{second * 1000}, {round(value)}, 0, 0, 0, 0\n"
            for second, value in enumerate(values, 1)
        ).encode()
        for kind, values in columns.items()
    }
    for when, seconds in zip(("before", "after"), canaries, strict=False):
        logs[f"canary-{when}.txt"] = f"checksum_8mib_s {seconds:.6f}\n".encode()
    times = {"started_at": TIMES[0], "finished_at": TIMES[1]}
    archive.write_step_evidence(evidence, run_id, made, logs, **times)
    begin_run(database, run_id)
    ios = int(sum(series))
    row = a_row(
        run_id, ios / len(series), step=made.name, rw="randread", iodepth=32, ios=ios,
        bytes=ios * 4096, runtime_ns=len(series) * 10**9, lat_mean_ns=1e6,
    )  # fmt: skip
    save_step(database, run_id, a_result(row, **times))

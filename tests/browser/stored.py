"""Runs with what reports are made of, without an hour of waiting: evidence as fio leaves it."""

from __future__ import annotations

import pytest
from tests.books import SHIPPED
from tests.rigs.began import begin_run
from tests.rigs.measured import measure
from tests.rigs.plans import make_plan, run_fio, save_plan
from tests.rigs.replicates import ulid
from tests.rigs.synthetic import Noise, bucket

from diskbench.cli import main
from diskbench.model.facts import CloudFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.result import Measurement, StepResult
from diskbench.model.spec import Step
from diskbench.plan.expectation import expectation_of
from diskbench.store import archive
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.finish import finish_run
from diskbench.store.step_rows import save_step

TIMES = ("2026-11-21T10:00:00+00:00", "2026-11-21T10:50:00+00:00")
SECONDS = 3000
CREDITS, BURST, BASELINE = 5_400_000.0, 3000.0, 100.0
"""A gp2 disk of 20 GiB (AWS, "General Purpose SSD volumes")."""
JOB = """[global]
ioengine=libaio
direct=1
filename=/dev/nvme1n1
[burst]
rw=randread
bs=4k
iodepth=32
time_based
runtime=3000
"""
LOGGED = """write_iops_log=fio
write_bw_log=fio
write_lat_log=fio
log_avg_msec=1000
time_based
runtime=3
rate_iops=200
"""
BURST_RUN = ulid(1_790_000_001, 0)
"""The run of the first burst."""
EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'


class Stored:
    """A database and an evidence store in a directory, which the settings name while it is used."""

    def __init__(self, place):
        self.place = place
        self.database = open_database(f"sqlite:///{place}/rows.db")
        self.evidence = open_evidence((place / "evidence").as_uri())

    def report(self, name, *words):
        """`diskbench report WORDS -o NAME`; the file."""
        path = self.place / name
        path.parent.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{self.place}/rows.db")
            patch.setenv("DISKBENCH_EVIDENCE_URL", (self.place / "evidence").as_uri())
            patch.chdir(self.place)
            assert main.main(["report", *words, "-q", "-o", str(path)]) == 0
        return path

    def burst(self, *, number=0, labels=(), seconds=SECONDS):
        """A rented disk that falls off its burst, second by second as its token bucket has it."""
        series = bucket(CREDITS, BURST, BASELINE, seconds, Noise(sd=0.02), seed=number)
        run_id, trial_id = ulid(1_790_000_001 + number, number), ulid(1_790_000_000, number)
        plan = burst_plan(run_id, trial_id, number, labels)
        (step,) = plan.steps
        save_plan(self.database, plan, self.evidence.url)
        archive.write_plan(self.evidence, plan)
        archive.write_step_evidence(
            self.evidence, run_id, step, logs(series), started_at=TIMES[0], finished_at=TIMES[1]
        )
        begin_run(self.database, run_id)
        save_step(self.database, run_id, result(run_id, series))
        finish_run(self.database, self.evidence, plan, 0, "done", None)
        return run_id

    def quick(self, place, *, labels=(("team", "storage"),)):
        """Two runs of one step of three seconds, by the real fio."""
        plan = make_plan(labels=labels)
        (one,) = plan.steps[1:]
        step = one.model_copy(update={"index": 0, "job": one.job + LOGGED})
        files = run_fio(place, step)
        kept = [(step, files | {log.name: log.read_bytes() for log in place.glob("*.log")})]
        save_plan(self.database, plan, self.evidence.url)
        archive.write_plan(self.evidence, plan)
        for index in (0, 1):
            measure(self.database, self.evidence, plan, index, kept)
            finish_run(self.database, self.evidence, plan, index, "done", None)
        return plan.run_ids[0]


def burst_plan(run_id, trial_id, number, labels):
    """A gp2 disk of 20 GiB for 50 minutes under full load, with what is expected of it."""
    spec = RentSpec(disk="gp2", size_gib=20, region="eu-central-1", instance_type="m7i.large")
    rental = Rental(
        scope=Scope(provider="aws", region="eu-central-1"),
        spec=spec,
        cloud="aws",
        offer="m7i.large with gp2 of 20 GiB in eu-central-1",
        promise="100 IOPS, bursts to 3,000 for 31 min; 134 MB/s",
        instance_type="m7i.large",
        disk=DiskSpec(type="gp2", size_gib=20),
        cores=2,
        memory_bytes=8 * 2**30,
    )
    plan = make_plan((run_id,), labels=tuple(labels), profile="burst")
    facts = plan.facts.model_copy(
        update={"cloud": CloudFacts(vendor="aws", instance_type="m7i.large", verified=True)}
    )
    cell = plan.cell.model_copy(
        update={"provider": "aws", "address": None, "rent": spec, "replicate": number}
    )
    profile = plan.profile.model_copy(
        update={"title": "Until the credit runs out", "question": "How long does the burst last?"}
    )
    plan = plan.model_copy(
        update={
            "trial_id": trial_id,
            "rental": rental,
            "cell": cell,
            "facts": facts,
            "profile": profile,
            "steps": (Step(index=0, name="burst", job=JOB, expected_s=float(SECONDS)),),
        }
    )
    return plan.model_copy(update={"expectation": expectation_of(plan, SHIPPED)})


def logs(series):
    """fio's logs of a second each: IOPS, KiB/s and the mean latency of 32 I/Os under way."""
    columns = {
        "iops": [round(value) for value in series],
        "bw": [round(value * 4) for value in series],
        "lat": [round(32e9 / value) for value in series],
    }
    return {
        f"fio_{kind}.1.log": "".join(
            f"{second * 1000}, {value}, 0, 0, 0, 0\n" for second, value in enumerate(values, 1)
        ).encode()
        for kind, values in columns.items()
    }


def result(run_id, series):
    ios, seconds = int(sum(series)), len(series)
    row = Measurement(
        run_id=run_id, step_index=0, step="burst", role="measure", scope="step", job="all",
        job_index=-1, direction="read", rw="randread", iodepth=32, ios=ios, bytes=ios * 4096,
        runtime_ns=seconds * 10**9, iops=ios / seconds, bytes_per_s=ios * 4096 / seconds,
        block_bytes=4096, lat_mean_ns=32e9 * seconds / ios, lat_max_ns=400_000_000,
    )  # fmt: skip
    return StepResult(
        step_index=0, step="burst", role="measure", started_at=TIMES[0], finished_at=TIMES[1],
        fio_exit=0, fio_version="fio-3.33", measurements=(row,),
    )  # fmt: skip

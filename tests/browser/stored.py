"""Runs with what reports are made of, without an hour of waiting: evidence as fio leaves it."""

import pytest
from tests.books import SHIPPED
from tests.rigs.coursed import coursed
from tests.rigs.measured import measure
from tests.rigs.plans import make_plan, run_fio, save_plan
from tests.rigs.synthetic import Noise, bucket

from diskbench.cli import main
from diskbench.model.facts import CloudFacts
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.plan.expectation import expectation_of
from diskbench.store import archive
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.finish import finish_run

SECONDS = 3000
CREDITS, BURST, BASELINE = 5_400_000.0, 3000.0, 100.0
"""A gp2 disk of 20 GiB (AWS, "General Purpose SSD volumes")."""
JOB = (
    "[global]\nioengine=libaio\ndirect=1\nfilename=/dev/nvme1n1\n[burst]\nrw=randread\n"
    "bs=4k\niodepth=32\ntime_based\nruntime=3000\n"
)
LOGGED = (
    "write_iops_log=fio\nwrite_bw_log=fio\nwrite_lat_log=fio\nlog_avg_msec=1000\ntime_based\n"
    "runtime=3\nrate_iops=200\n"
)
EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'


class Stored:
    """A database and an evidence store in a directory, which the settings name while it is used."""

    def __init__(self, place):
        self.place = place
        self.database = open_database(f"sqlite:///{place}/rows.db")
        self.evidence = open_evidence((place / "evidence").as_uri())

    def report(self, name, *words):
        path = self.place / name
        path.parent.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{self.place}/rows.db")
            patch.setenv("DISKBENCH_EVIDENCE_URL", (self.place / "evidence").as_uri())
            patch.chdir(self.place)
            assert main.main(["report", *words, "-q", "-o", str(path)]) == 0
        return path

    def burst(self, *, number=0):
        """A rented disk that falls off its burst, by its token bucket; the id of its trial."""
        series = bucket(CREDITS, BURST, BASELINE, SECONDS, Noise(sd=0.02), seed=number)
        return coursed(
            self.database, self.evidence, series, number=number, step="burst", job=JOB,
            in_flight=32, changed=_rented,
        )  # fmt: skip

    def quick(self, place, *, labels=(("team", "storage"),)):
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


def _rented(plan):
    """The plan on a gp2 disk of 20 GiB under full load, with what is expected of it."""
    told = {"offer": "m7i.large with gp2 of 20 GiB in eu-central-1", "cloud": "aws"}
    told |= {"promise": "100 IOPS, bursts to 3,000 for 31 min; 134 MB/s", "spec": plan.cell.rent}
    disk, scope = DiskSpec(type="gp2", size_gib=20), Scope(provider="aws", region="eu-central-1")
    machine = {"instance_type": "m7i.large", "cores": 2, "memory_bytes": 8 * 2**30}
    rental = Rental(scope=scope, disk=disk, **told, **machine)
    cloud = CloudFacts(vendor="aws", instance_type="m7i.large", verified=True)
    told = {"title": "Until the credit runs out", "question": "How long does the burst last?"}
    profile = plan.profile.model_copy(update={"name": "burst", **told})
    facts = plan.facts.model_copy(update={"cloud": cloud})
    plan = plan.model_copy(update={"rental": rental, "facts": facts, "profile": profile})
    return plan.model_copy(update={"expectation": expectation_of(plan, SHIPPED)})

"""Plans as a planner makes them, and the files that a host leaves of their steps."""

import subprocess

from diskbench.catalog.books import Books
from diskbench.fio.profiles import parse_profile
from diskbench.fio.steps import build_steps
from diskbench.model.facts import CloudFacts, CpuFacts, DiskFacts, HostFacts
from diskbench.model.spec import Cell, Plan, ProfileFacts, ResolvedTarget, Step, TargetSpec
from diskbench.plan.cells import cells
from diskbench.plan.trial import TrialIds
from diskbench.plan.trial import make_plan as plan_of
from diskbench.plugin import plugin
from diskbench.store.rows import save_plans

JOB = """[global]
ioengine=psync
size=256k
bs=4k
filename=data
percentile_list=50:90:95:99:99.9:99.99

[{name}]
rw={rw}
"""
RUN_IDS = ("01kq8z6rj0aaaaaaaaaaaaaaa1", "01kq8z6rj0aaaaaaaaaaaaaaa2")
TRIAL_ID = RUN_IDS[0]
CAMPAIGN_ID = "01kq8z6rhzaaaaaaaaaaaaaaa0"


def make_step(index=0, name="write", rw="write", **changes):
    return Step(index=index, name=name, job=JOB.format(name=name, rw=rw), expected_s=1.0, **changes)


def make_plan(run_ids=RUN_IDS, *, labels=(("team", "storage"),), profile="quick", **changes):
    of = {"address": "root@db1", "profile": profile, "runs": len(run_ids), "labels": labels}
    place = TargetSpec(kind="directory", path="/mnt/data")
    about = {"title": "Quick", "question": "How fast?", "source": "us", "template": JOB}
    places = {"path": "/mnt/data", "work_dir": "/mnt/data/diskbench-x"}
    places |= {"state_dir": "/var/tmp/diskbench-x", "size_bytes": 2**20}
    cpu = CpuFacts(model="EPYC", count=2, architecture="x86_64")
    cloud = CloudFacts(vendor="aws", instance_type="m7i.large")
    disk = DiskFacts(name="nvme1n1", path="/dev/nvme1n1", size_bytes=20 * 2**30)
    machine = {"hostname": "db1", "memory_bytes": 4 * 2**30, "kernel": "6.1.0"}
    parameters = {"runtime": 1, "bs": "4k"}
    values = {
        "diskbench_version": "0.1.0",
        "campaign_id": CAMPAIGN_ID,
        "trial_id": run_ids[0],
        "run_ids": run_ids,
        "cell": Cell(provider="ssh", target=place, **of),
        "profile": ProfileFacts(name=profile, digest="d1", parameters=parameters, **about),
        "target": ResolvedTarget(kind="directory", **places),
        "steps": (make_step(0), make_step(1, "read", "randread")),
        "facts": HostFacts(cpu=cpu, cloud=cloud, disk=disk, fio_version="fio-3.33", **machine),
        "expected_s": 4.0,
        "space_bytes": 2**20,
    }
    return Plan(**(values | changes))


def machine(cores=1, **facts):
    return HostFacts(cpu=CpuFacts(count=cores), **facts)


def built(text, target, *, version="3.33"):
    profile = parse_profile(text, name="mine")
    return build_steps(profile, {}, HostFacts(fio_version=version), target)


def planned_on(profile, facts, *, parameters=(), rental=None, **target):
    """The plan of a profile on a machine with these facts: on the raw disk unless told."""
    spec = {"kind": "device", "path": facts.disk.path, "destroy_data": "x", "filesystem": "none"}
    of = {"target": TargetSpec(**spec | target), "parameters": parameters}
    cell = Cell(provider="ssh", profile=profile.name, **of)
    names = TrialIds("c", "t", ("r",))
    return plan_of(cell, profile, facts, names, Books(), version="0", rental=rental)


def call_fio(*words, at, told=None, check=True):
    """Run fio in a directory, in a session of its own: one whose job does not start within 5 s
    sends SIGTERM to the job's process, and to its whole process group where that is not there yet
    (`kill(td->pid, …)` with 0 in fio's backend.c). On a busy machine that group is all of
    pytest's."""
    said = None if told is None else told.encode()
    return subprocess.run(
        ["fio", *words], cwd=at, input=said, check=check, start_new_session=True,
        capture_output=True, timeout=240,
    )  # fmt: skip


def run_fio(directory, step):
    """What a host leaves of a step: fio's own output, its exit status, its logs."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "job.fio").write_text(step.job)
    words = ("--output-format=json+", "--eta=never", "job.fio")
    ended = call_fio(*words, at=directory, check=False)
    return {
        "job.fio": step.job.encode(),
        "fio.json": ended.stdout,
        "fio.exit": f"{ended.returncode}\n".encode(),
        "stderr.txt": ended.stderr,
        "samples.txt": SAMPLES,
    }


SAMPLES = b"""@ 1000.5
cpu  100 0 100 800 0 0 0 0 0 0
cpu0 100 0 100 800 0 0 0 0 0 0
ctxt 1000
0.10 0.10 0.10 1/100 4000
 259 0 nvme1n1 10 0 80 5 20 0 160 9 0 30 14
@ 1010.5
cpu  900 0 200 850 0 0 0 50 0 0
cpu0 900 0 200 850 0 0 0 50 0 0
ctxt 11000
0.10 0.10 0.10 1/100 4000
 259 0 nvme1n1 110 0 880 50 220 0 1760 90 1 3000 20014
"""


def save_plan(database, plan, url, *, lease=None, owner=None):
    """`save_plans` for one trial."""
    save_plans(database, [plan], url, owner=owner, leases=[lease] if lease else [])


def cells_of(fields, rent=None):
    """The cells of fields that name their provider, as those of a matrix."""
    return cells(plugin(fields["provider"]), fields, rent)

"""`diskbench compare RUN… --published [ID]`."""

import json

import jsonschema
import pytest
from tests.rigs.began import begin_run
from tests.rigs.plans import RUN_IDS, make_plan, make_step, save_plan

from diskbench.cli.main import main
from diskbench.model.facts import CloudFacts, CpuFacts, DiskFacts, HostFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.result import Measurement, StepResult
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.finish import finish_run
from diskbench.store.step_rows import save_step

GIB = 2**30
OTHER = ("01kq8z6rj0bbbbbbbbbbbbbbb1",)
STEPS = ("seq-write-64k", "seq-read-64k", "rand-512-9to1")


def plan_of(disk="gp2", *, run_ids=RUN_IDS, profile="gobonniego", verified=True):
    """A trial on a rented machine of AWS."""
    return make_plan(
        run_ids,
        profile=profile,
        rental=Rental(
            scope=Scope(provider="aws", region="us-east-1"),
            spec=RentSpec(disk=disk, size_gib=20),
            offer="c5.xlarge",
            disk=DiskSpec(type=disk, size_gib=20),
            instance_type="c5.xlarge",
        ),
        acquired={"address": "192.0.2.1", "size_bytes": 20 * GIB, "emulated": False},
        steps=tuple(make_step(index, name) for index, name in enumerate(STEPS)),
        facts=HostFacts(
            hostname="db1",
            cpu=CpuFacts(count=4),
            memory_bytes=8 * GIB,
            fio_version="fio-3.33",
            cloud=CloudFacts(vendor="aws", instance_type="c5.xlarge", verified=verified),
            disk=DiskFacts(name="nvme1n1", path="/dev/nvme1n1", size_bytes=20 * GIB),
        ),
    )


def rows(run_id, index, step, figures):
    return tuple(
        Measurement(
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
        for direction, iops, bytes_per_s in figures
    )


FIGURES = {
    "seq-write-64k": [("write", 1500.0, 206e6)],
    "seq-read-64k": [("read", 1400.0, 92e6)],
    "rand-512-9to1": [("read", 1635.3, 1e6), ("write", 181.7, 1e5)],
}


@pytest.fixture
def stores(here):
    database = open_database(f"sqlite:///{here}/rows.db")
    yield database, open_evidence((here / "evidence").as_uri())
    database.dispose()


@pytest.fixture
def keep(stores):
    """Save a trial whose runs all measured the same."""

    def save(plan):
        database, evidence = stores
        save_plan(database, plan, evidence.url)
        for index, run_id in enumerate(plan.run_ids):
            begin_run(database, run_id)
            for place, (step, figures) in enumerate(FIGURES.items()):
                done = StepResult(
                    step_index=place,
                    step=step,
                    role="measure",
                    started_at="2026-11-21T10:00:00.000000+00:00",
                    finished_at="2026-11-21T10:00:05.000000+00:00",
                    fio_exit=0,
                    fio_version="3.33",
                    measurements=rows(run_id, place, step, figures),
                )
                save_step(database, run_id, done)
            finish_run(database, evidence, plan, index, "done", None)

    return save


@pytest.fixture
def compare(capsys):
    """Run `compare … --published`; returns exit code, stdout and stderr."""

    def call(*arguments):
        capsys.readouterr()  # what was said of the runs that have no evidence here
        code = main(["compare", *arguments, "--published"])
        done = capsys.readouterr()
        return code, done.out, done.err

    return call


def test_a_run_is_set_beside_the_figures_of_the_same_disk(keep, compare):
    keep(plan_of())
    code, out, err = compare("last")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert f"run {RUN_IDS[0]} and 1 more of its trial" in out
    assert "iaas-2018/results/gp2" in out
    (written,) = [line.split() for line in out.splitlines() if "seq-write-64k" in line]
    assert written[-5:] == ["103", "MB/s", "206", "MB/s", "2"]
    (random,) = [line.split() for line in out.splitlines() if "rand-512-9to1" in line]
    assert random[-5:] == ["3,634", "IOPS", "1,817", "IOPS", "0.5"]
    assert "c4.xlarge, ours on c5.xlarge" in out
    assert "GoBonnieGo 1.0.7 itself" in " ".join(out.split())


def test_alone_leaves_the_other_runs_of_a_trial_out(keep, compare):
    keep(plan_of())
    _, out, _ = compare(RUN_IDS[1], "--alone", "--output", "json")
    (trial,) = json.loads(out)["trials"]
    assert trial["run_ids"] == [RUN_IDS[1]]
    assert {one["runs"] for one in trial["figures"]} == {1}


def test_json_meets_its_published_schema(keep, compare, capsys):
    keep(plan_of())
    _, out, _ = compare("last", "--output", "json")
    main(["schema", "compare-published"])
    document = json.loads(out)
    jsonschema.validate(document, json.loads(capsys.readouterr().out))
    (trial,) = document["trials"]
    assert {one["figure"]["step"]: one["ratio"] for one in trial["figures"]} == {
        "rand-512-9to1": pytest.approx(0.5),
        "seq-read-64k": 1.0,
        "seq-write-64k": 2.0,
    }
    assert trial["differences"]


def test_where_nothing_matches_it_says_why_and_what_is_near(keep, compare):
    keep(plan_of("gp3"))
    code, out, _ = compare("last")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "nothing published matches: no published figure has this workload on gp3 of aws" in out
    assert "iaas-2018/results/gp2" in out
    assert "one that is named after the run is used" in out


def test_a_figure_that_is_named_is_taken_whatever_the_disk(keep, compare):
    keep(plan_of("gp3"))
    code, out, _ = compare("last", "iaas-2018/results/pd-ssd-20/read")
    assert code == 0
    assert "27.0 MB/s" in out
    assert "92.0 MB/s" in out
    assert "theirs is pd-ssd 20 GiB, ours gp3" in out


def test_a_run_that_says_nothing_about_a_cloud_is_refused_unless_asked_for(keep, compare):
    keep(plan_of(verified=False))
    code, out, err = compare("last")
    assert (code, out) == (2, "")
    assert "emulated, unverified" in err
    assert "--include-emulated" in err
    code, out, _ = compare("last", "--include-emulated")
    assert code == 0
    assert "[emulated, unverified]" in out
    assert "ours is emulated" in out


def test_of_several_runs_those_that_say_nothing_are_left_out(keep, compare):
    keep(plan_of(verified=False))
    keep(plan_of(run_ids=OTHER))
    code, out, err = compare(RUN_IDS[0], *OTHER, "--output", "json")
    assert code == 0
    document = json.loads(out)
    assert [trial["trial_id"] for trial in document["trials"]] == [OTHER[0]]
    assert document["left_out"] == list(RUN_IDS)
    assert RUN_IDS[0] in err


@pytest.mark.parametrize("name", ["01zz", "iaas-2018/results/gp3"])
def test_unknown_runs_and_figures_are_refused(keep, compare, name):
    keep(plan_of())
    code, out, err = compare(name)
    assert (code, out) == (2, "")
    assert name in err


def test_without_published_it_says_what_to_add(capsys, stores):  # noqa: ARG001 - settings
    assert main(["compare", "last"]) == 2
    assert "--published" in capsys.readouterr().err

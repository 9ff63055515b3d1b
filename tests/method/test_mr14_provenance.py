"""MR-14: a record rebuilds its job files byte for byte, and records whose checked facts differ are
not pooled."""

import pytest
from tests.rigs.database import trial_figures
from tests.rigs.plans import planned_on
from tests.rigs.replicates import measured

from diskbench.errors import FactsDiffer, UnknownName
from diskbench.fio.profiles import Profile, shipped_names, shipped_profile
from diskbench.model.facts import CpuFacts, DiskFacts, HostFacts
from diskbench.model.spec import Plan
from diskbench.results.compare_runs import compare_metrics
from diskbench.results.pool import CHECKED, alike, check_alike, facts_to_pool

FACTS = HostFacts(
    cpu=CpuFacts(model="EPYC", count=2),
    memory_bytes=2**30,
    fio_version="fio-3.33",
    fio_engines=("libaio", "psync", "sync", "mmap", "filecreate", "filestat", "filedelete"),
    disk=DiskFacts(name="nvme1n1", path="/dev/nvme1n1", size_bytes=20 * 2**30),
)


def planned(profile, parameters=()):
    filesystem = "none" if "device" in profile.targets else None
    return planned_on(profile, FACTS, parameters=parameters, filesystem=filesystem)


@pytest.mark.parametrize("name", shipped_names())
def test_the_record_of_a_trial_makes_the_same_job_files_again(name):
    """From the plan as it is kept, with nothing else but the front matter of its profile."""
    shipped = shipped_profile(name)
    kept = Plan.model_validate_json(planned(shipped).model_dump_json())
    typed = {key: str(value) for key, value in kept.profile.parameters.items()}
    told = {"template": kept.profile.template, "source": kept.profile.source}
    where = {"filesystem": kept.cell.target.filesystem}
    parameters = tuple(sorted(typed.items()))
    again = shipped.model_copy(update=told)
    made = planned_on(again, kept.facts, parameters=parameters, **where)
    assert [step.job.encode() for step in made.steps] == [step.job.encode() for step in kept.steps]


def test_another_template_is_another_digest():
    one = shipped_profile("quick")
    assert isinstance(one, Profile)
    assert planned(one).profile.digest == one.digest
    assert shipped_profile("default").digest != one.digest


OTHER = {
    "kernel": {"kernel": "6.5.0"},
    "fio_version": {"fio_version": "fio-3.36"},
    "cpu_model": {"cpu": CpuFacts(model="Xeon", count=2, architecture="x86_64")},
    "disk_model": {"disk": DiskFacts(name="x", path="/dev/x", model="m", size_bytes=20 * 2**30)},
}


@pytest.mark.parametrize("fact", OTHER)
def test_records_that_differ_in_a_checked_fact_are_refused_with_its_values(database, fact):
    measured(database, [1.0] * 5)
    measured(database, [2.0], first=5, facts=OTHER[fact])
    figures = trial_figures(database, [], "iops")
    with pytest.raises(FactsDiffer, match=f"trials differ in {fact}: ") as refused:
        check_alike(figures)
    assert f"--pool {fact}" in refused.value.advice
    check_alike(figures, pool=[fact])
    assert [len(group) for group in alike(figures)] == [5, 1]
    assert len(alike(figures, pool=[fact])) == 1


def test_records_that_agree_are_pooled_and_other_jobs_are_never_one_subject(database):
    measured(database, [1.0] * 6)
    check_alike(trial_figures(database, [], "iops"))
    measured(database, [2.0], first=6, digest="d2")
    assert len({one.subject for one in trial_figures(database, [], "iops")}) == 2


def test_every_fact_of_the_requirement_is_checked_and_who_pools_names_one_that_there_is():
    wanted = {"cpu_model", "zone", "kernel", "fio_version", "disk_model", "disk_size_bytes"}
    assert wanted | {"regime"} <= set(CHECKED)
    assert facts_to_pool(["all"]) == frozenset(CHECKED)
    with pytest.raises(UnknownName, match="kernle"):
        facts_to_pool(["kernle"])


def test_a_comparison_leaves_out_what_cannot_be_pooled(database):
    measured(database, [1.0] * 5, labels=[("s", "a")])
    measured(database, [1.0], labels=[("s", "a")], first=5, facts=OTHER["kernel"])
    measured(database, [1.0] * 6, disk="gp3", labels=[("s", "b")])
    found = compare_metrics(database, "s=a", "s=b", metrics=["iops"])
    assert (found.compared, len(found.not_compared)) == ((), 1)
    pooled = compare_metrics(database, "s=a", "s=b", metrics=["iops"], pool={"kernel"})
    assert len(pooled.compared) == 1

"""How steps load several disks; a recorded load becomes a profile that diskbench accepts."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.books import SHIPPED
from tests.rigs.plans import cells_of
from tests.rigs.searching import examples
from tests.unit.plan.planned import planned as plan_of

from diskbench.engine.trial.planning import draft
from diskbench.errors import InvalidValue, ProfileError
from diskbench.fio.profiles import parse_profile, shipped_profile
from diskbench.fio.steps import build_steps
from diskbench.fio.target import FioTarget
from diskbench.importers.load import Recorded, Sample
from diskbench.model.expectation import Promise
from diskbench.model.facts import HostFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Scope
from diskbench.model.spec import Cell, NamedDisk, Plan, Step, TargetSpec
from diskbench.plan.cells import check_several, requested_target
from diskbench.plan.load_profile import load_profile
from diskbench.plan.loads import cold_and_warm, disks_loaded
from diskbench.providers.azure.plugin import AzureOptions

TIMED = (
    "rw=randread\nbs=4k\ndirect=1\niodepth=32\nioengine=libaio\nsize=1g\ntime_based\nruntime=60\n"
)
EACH = f"[global]\n{TIMED}[a]\nfilename=/dev/sdb\n[b]\nfilename=/dev/sdc\n"
ONE_AFTER_THE_OTHER = EACH.replace("[b]\n", "[b]\nstonewall\n")
UNEVEN = EACH.replace("[b]\n", "[b]\niodepth=1\n")


def own(*devices: tuple[str, str], **changes: object) -> dict[str, object]:
    paths, identities = zip(*devices, strict=True)
    fields = {"provider": "local", "profile": "j", "device": paths, "destroy_data": identities}
    return fields | changes


class TestAsked:
    """What is typed names every disk with its identity."""

    def test_own_disks_are_taken_in_order(self) -> None:
        (cell,) = cells_of(own(("/dev/b", "2"), ("/dev/a", "1")))
        disks = [(disk.path, disk.destroy_data) for disk in cell.target.disks]
        assert disks == [("/dev/b", "2"), ("/dev/a", "1")]

    @pytest.mark.parametrize(
        ("request_", "told"),
        [
            (own(("/dev/a", "1"), ("/dev/a", "1")), "/dev/a is given twice"),
            (own(("/dev/a", "1"), ("/dev/b", "")), "destroys all data"),
            (own(("/dev/a", "1"), destroy_data=()), "measuring /dev/a destroys all data"),
            (own(("/dev/a", "1"), ("/dev/b", "2"), destroy_data=("1",)), "/dev/b destroys all"),
            (own(("/dev/a", "1"), destroy_data=("1", "2")), "2 identities are given for 1 device"),
        ],
    )
    def test_each_needs_its_own_identity(self, request_: dict[str, object], told: str) -> None:
        with pytest.raises(InvalidValue, match=told):
            cells_of(request_)

    def test_rented_disks_are_as_many_as_asked_for(self) -> None:
        one = RentSpec(disk="gp3", size_gib=4)
        three = one.model_copy(update={"count": 3})
        striped = three.model_copy(update={"stripe": True})
        for rent, disks in ((one, 1), (three, 3), (striped, 1)):
            (cell,) = cells_of({"provider": "aws", "profile": "j"}, rent)
            assert len({disk.path for disk in cell.target.disks}) == disks

    def test_a_profile_that_names_no_devices_measures_one(self):
        two, rent = own(("/dev/a", "1"), ("/dev/b", "2")), RentSpec(disk="gp3", count=2)
        cells = {"device": cells_of(two), "count": cells_of({"provider": "aws"}, rent)}
        for field, (cell,) in cells.items():
            with pytest.raises(InvalidValue, match="only one disk") as refused:
                check_several(shipped_profile("quick"), cell)
            assert refused.value.field == field
            check_several(parse_profile(EACH, name="j"), cell)


@pytest.mark.parametrize(
    ("text", "disks"),
    [
        ("[a]\nrw=read\nfilename=/dev/a\n", 1),
        ("[a]\nrw=read\nfilename=/dev/a\n[b]\nrw=read\nfilename=/dev/b\n", 2),
        ("[a]\nrw=read\nfilename=/dev/a:/dev/b\n", 2),
        ("[a]\nrw=read\nfilename=/dev/a\n[b]\nrw=write\nfilename=/dev/b\n", None),
        ("[a]\nrw=read\nfilename=/dev/a:/dev/b\n[b]\nrw=read\nfilename=/dev/b\n", None),
        ("[a]\nioengine=null\nrw=read\nfilename=/dev/a\n", 0),
    ],
)
def test_a_step_loads_its_disks_alike_or_not(text: str, disks: int | None) -> None:
    assert disks_loaded(Step(index=0, name="a", job=text, expected_s=1.0)) == disks


AWS = Scope(provider="aws", region="us-east-1")


def disks(kind: str, count: int = 2, **more: object) -> dict[str, object]:
    """So many disks of 100 GiB, asked for and sold."""
    return {
        "spec": RentSpec(disk=kind, size_gib=100, count=count),
        "disk": DiskSpec(type=kind, size_gib=100, count=count, **more),
    }


def planned(text: str, **told: object) -> Plan:
    """A plan on as many disks as are rented: two io2 unless told."""
    rented = {**disks("io2", iops=5000), **told}
    target = requested_target({}, rented["spec"])
    return plan_of(text, target=target, **rented)


def rates(plan: Plan) -> list[float | None]:
    found = plan.expectation
    return [one and one.begin.iops for one in [found.of(step) for step in found.steps]]


class TestExpected:
    """The sum of the disks that a step loads alike, up to the machine's limits."""

    def test_of_what_a_step_loads_alike_and_the_machine_limits_all_of_them(self) -> None:
        assert rates(planned(EACH)) == [10_000]
        assert rates(planned(ONE_AFTER_THE_OTHER)) == [5000, 5000]
        assert rates(planned(UNEVEN)) == [None]
        spec = disks("io2")["spec"].with_groups({"lab": {"vm_iops": 8000}})
        level = planned(EACH, spec=spec).expectation.expectations[0].begin
        assert (level.iops, level.limited_by) == (8000, "vm-iops")
        assert rates(planned(ONE_AFTER_THE_OTHER, spec=spec)) == [5000, 5000]

    def test_credit_of_disks_loaded_alike_is_summed_and_of_disks_in_turn_unknown(self) -> None:
        (found,) = planned(EACH, **disks("gp2")).expectation.expectations
        assert (found.begin.iops, found.lasting.iops) == (6000, 600)
        found = planned(ONE_AFTER_THE_OTHER, **disks("gp2")).expectation
        assert found.expectations == ()
        assert "credit" in found.unknown[-1]

    def test_a_promise_is_each_disks(self) -> None:
        told = {
            **disks("datastore"), "scope": Scope(provider="vsphere"),
            "spec": RentSpec(size_gib=100, count=2), "promise": Promise(iops=700),
        }  # fmt: skip
        assert rates(planned(EACH, **told)) == [1400]
        assert rates(planned(ONE_AFTER_THE_OTHER, **told)) == [700, 700]


def test_the_draft_says_which_new_disk_each_device_is_and_each_must_be_large_enough() -> None:
    places = [line.rpartition(" ")[2] for line in planned(EACH).changes]
    assert places == ["/dev/new-disk-1", "/dev/new-disk-2"]
    with pytest.raises(InvalidValue, match="/dev/new-disk-1"):
        planned(EACH.replace("size=1g", "size=101g"))


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_disks_as_devices_or_none_is_rented(count: int) -> None:
    with pytest.raises(ProfileError, match="2 devices"):
        planned(EACH, **disks("io2", count, iops=5000))


def test_no_filesystem_is_made_on_several() -> None:
    target = TargetSpec(kind="device", path="/dev/a", others=(NamedDisk(path="/dev/b"),))
    rental = planned(EACH).rental
    with_filesystem = target.model_copy(update={"filesystem": "ext4"})
    cell = Cell(provider="aws", profile="j", rent=rental.spec, target=with_filesystem)
    with pytest.raises(InvalidValue, match="one disk") as refused:
        draft(cell, parse_profile(EACH, name="j"), rental, "campaign", SHIPPED)
    assert refused.value.field == "filesystem"


FILL = Step(index=0, name="fill", role="fill", job="[fill]", expected_s=10)
READ = Step(index=1, name="randread", job="[randread]\nrw=randread", expected_s=60)
HALF = Step(index=2, name="half", job="[half]\nrate_iops=50% of randread\n", expected_s=60)


@pytest.mark.parametrize(
    ("cache", "on"), [(None, False), ("none", False), ("None", False), ("readonly", True)]
)
def test_a_host_cache_is_on_where_it_was_asked_for(cache: str | None, on: bool) -> None:
    rent = RentSpec(disk="Premium_LRS", size_gib=4, azure=AzureOptions(cache=cache))
    target = TargetSpec(kind="device", path="")
    assert Cell(provider="azure", target=target, rent=rent, profile="quick").has_host_cache is on
    own = Cell(provider="local", target=TargetSpec(kind="device", path="/dev/x"), profile="quick")
    assert not own.has_host_cache


def test_each_measurement_is_done_cold_and_then_warm_and_a_share_is_of_its_warm_pass() -> None:
    found = cold_and_warm((FILL, READ, HALF))
    names = ["fill", "randread-cold", "randread-warm", "half-cold", "half-warm"]
    assert [step.name for step in found] == names
    assert [step.index for step in found] == list(range(5))
    assert found[1].job == found[2].job == READ.job
    assert found[4].job == "[half]\nrate_iops=50% of randread-warm\n"


TARGET = FioTarget(kind="directory", path="/mnt/disk/work", size_bytes=None, capacity_bytes=None)


def record(*samples):
    loads = (
        Sample(60.0 * n, r, w, r * s, w * s, seconds=60.0) for n, (r, w, s) in enumerate(samples)
    )
    return Recorded("sda", tuple(loads), is_dated=False)


def steps(load, name="week.txt"):
    profile = parse_profile(load_profile(load, name), name="mine")
    facts = HostFacts(fio_version="fio-3.33", fio_engines=("libaio",))
    return build_steps(profile, {}, facts, TARGET).steps


def rate_of(step):
    jobs = int(re.search(r"numjobs=(\d+)", step.job)[1])
    return jobs * sum(map(int, re.search(r"rate_iops=([\d,]+)", step.job)[1].split(",")))


def test_the_steps_have_the_rates_blocks_and_mix_of_their_samples_whatever_their_name():
    load = record(*[(rate, 0, 4096) for rate in range(100, 2100, 100)])  # 20 samples
    made = {step.name: rate_of(step) for step in steps(load) if step.role == "offered"}
    for name, rate in {"p50": 1000, "p75": 1500, "p90": 1800, "p95": 1900, "p99": 2000}.items():
        assert abs(made[name] - rate) <= 0.03 * rate
    load = record(*[(70, 30, 16_384)] * 10, *[(0, 900, 131_072)] * 10)
    made = {step.name: step.job for step in steps(load)}
    assert "bs=16384" in made["p50"]
    assert "rwmixread=70" in made["p50"]
    assert "bs=131072" in made["p75"]
    assert "rw=randwrite" in made["p75"]
    assert steps(record((100, 0, 4096)), name='a: "b" {{ c }} #.txt'.replace("{{ c }}", "c"))


iops = st.integers(0, 50_000)


samples = st.lists(st.tuples(iops, iops, st.integers(512, 1 << 20)), min_size=1, max_size=30)


@settings(deadline=None, max_examples=examples(40))
@given(samples.filter(lambda all_of_it: any(r + w for r, w, _ in all_of_it)))
def test_whatever_was_recorded_diskbench_accepts_its_profile(samples):
    made = [step for step in steps(record(*samples)) if step.role == "offered"]
    most = max(r + w for r, w, _ in samples)
    assert made
    assert abs(rate_of(made[-1]) - most) <= max(0.03 * most, 33)

"""What steps should find: by a plan before, and from what was measured afterwards."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.books import SHIPPED
from tests.unit.plan.planned import RANDOM, job, planned

from diskbench.catalog.expect import Stage, expect_on
from diskbench.catalog.path import Path, promise_gates
from diskbench.fio.profiles import shipped_names
from diskbench.model.expectation import Expectation, ExpectedLevel, Load, PlanExpectation, Promise
from diskbench.model.facts import CloudFacts, DiskFacts, HostFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Scope
from diskbench.model.spec import Cell, Step, TargetSpec
from diskbench.plan.expectation import expected_afterwards
from diskbench.plan.limit_path import Hint, limit_path_of, limit_paths_of, named_disk
from diskbench.plan.loads import asked_by
from diskbench.providers.azure.plugin import AzureOptions
from diskbench.providers.options import EmulationOptions
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.units import GIB, KIB, MIB


def expected(profile: str, **told: object) -> PlanExpectation:
    found = planned(profile, **told).expectation  # type: ignore[arg-type]
    assert found is not None
    return found


def first(found: PlanExpectation) -> Expectation:
    one = found.of(found.steps[0])
    assert one is not None
    return one


def load_of(options: str) -> Load:
    found = asked_by(Step(index=0, name="a", job=job(options), expected_s=60), capacity_bytes=None)
    assert found.load is not None
    assert found.is_one
    return found.load


class TestWhatAStepAsks:
    def test_the_depth_of_a_queue_of_an_engine_that_waits_and_of_the_page_cache(self):
        found = load_of("rw=randread\nbs=16k\ndirect=1\nioengine=libaio\niodepth=8\nnumjobs=4")
        assert (found.block_bytes, found.depth, found.random) == (16 * KIB, 32, True)
        assert load_of("rw=randread\ndirect=1\nioengine=psync\niodepth=8\nnumjobs=4").depth == 4
        for rw in ("write", "randwrite", "read"):
            assert load_of(f"rw={rw}").depth is None, rw
        assert load_of("rw=randread\nnumjobs=3").depth == 3
        found = load_of("rw=write\nbs=8k\nfdatasync=1")
        assert (found.random, found.depth) == (True, 1)

    def test_the_mix(self):
        shares = {"rw=randrw": 0.5, "rw=randrw\nrwmixread=70": 0.7, "rw=rw\nrwmixwrite=10": 0.9}
        for options, share in {**shares, "rw=randread:8": 1, "rw=write": 0}.items():
            assert load_of(options).read_share == pytest.approx(share), options

    def test_a_rate_also_as_a_share_of_what_an_earlier_step_reaches(self):
        assert load_of("rw=randread\nbs=4k\nrate_iops=100\nnumjobs=2").max_per_s == 200
        assert load_of("rw=randread\nbs=4k\nrate=1m").max_per_s == 256
        step = Step(index=1, name="b", job=job("rw=randread\nrate_iops=50% of a"), expected_s=60)
        assert asked_by(step, capacity_bytes=None, rates={"a": 3000}).load.max_per_s == 1500

        text = job("rw=randread\nbs=4k\ndirect=1") + "[b]\n" + job("rw=write\nbs=64k\ndirect=1")[4:]
        found = asked_by(Step(index=0, name="a", job=text, expected_s=60), capacity_bytes=None)
        assert not found.is_one
        assert found.load.block_bytes == 4 * KIB

    def test_metadata_asks_for_nothing_and_work_bound_by_size_ends_with_its_bytes(self):
        step = Step(index=0, name="a", job="[a]\nioengine=filecreate\nnrfiles=100\n", expected_s=3)
        assert asked_by(step, capacity_bytes=None).load is None
        step = Step(index=0, name="a", job="[a]\nrw=write\nsize=1g\nnumjobs=2\n", expected_s=3)
        assert asked_by(step, capacity_bytes=None).bytes == 2 * GIB


def test_the_first_post_s_runs_are_foreseen_to_collapse_in_the_34th():
    """From the profile, the disk and the machine alone: GoBonnieGo on a c4.xlarge, whose guest has
    7.84 GB of its 7.5 GiB (15.68 GB were written, twice that)."""
    c4_xlarge = {"instance_type": "c4.xlarge", "memory_bytes": 7_840_000_000}
    found = expected("gobonniego", runs=40, **c4_xlarge)
    (credit,) = (one for one in found.credits if one.bucket == "disk-iops")
    assert (credit.run, credit.step) == (34, "seq-read-64k")
    assert credit.gone_s == pytest.approx(3.1 * 3600, rel=0.05)
    assert credit.earliest_s is not None
    assert credit.earliest_s < credit.gone_s
    assert credit.latest_s is None or credit.latest_s > credit.gone_s


def test_each_step_begins_with_what_the_last_one_left_and_takes_longer_without_credit():
    found = expected(job("rw=randread\nbs=4k\ndirect=1\niodepth=8\nioengine=libaio", 932), runs=3)
    assert [round(one.credit["disk-iops"], 2) for one in found.steps] == [1, 0.5, 0]
    assert [found.of(one).begin.iops for one in found.steps] == [3000, 3000, 100]  # type: ignore[union-attr]
    assert found.steps[1].mean_iops == pytest.approx(3000, rel=0.01)
    assert found.steps[2].mean_iops == pytest.approx(100, rel=0.01)
    drain = job("rw=randread\nbs=4k\ndirect=1\niodepth=32\nioengine=libaio", 1900)
    slow = "[b]\nstonewall\nsize=40960\nrw=randread\nbs=4k\ndirect=1\niodepth=8\nioengine=libaio\n"
    assert expected(drain + slow).steps[1].seconds == pytest.approx(0.1)


def test_a_run_that_is_as_the_one_before_is_told_once_and_a_loop_has_its_fewest_rounds():
    """A disk without a bucket is the same in every run; one whose credit is gone, from then on."""
    steady = expected(RANDOM, runs=30, disk=DiskSpec(type="gp3", size_gib=20))
    assert {one.run for one in steady.steps} == {1}
    assert steady.step(0, run=30) == steady.steps[0]
    assert steady.seconds == pytest.approx(30 * 60)
    hour = job("rw=randread\nbs=4k\ndirect=1\niodepth=32\nioengine=libaio", 3600)
    drained = expected(hour, runs=30)
    assert {one.run for one in drained.steps} == {1, 2}
    assert drained.of(drained.step(0, run=30)).begin.iops == 100
    plan = planned("sustained")
    assert max(one.round or 0 for one in plan.expectation.steps) == plan.loop.min_rounds


def test_the_lab_s_machine_latency_and_custom_disk_are_those_that_were_told():
    lab = EmulationOptions(vm_iops=500, latency_ms=20)
    told = {"scope": Scope(provider="lab"), "cloud": "aws", "spec": RentSpec(lab=lab)}
    found = first(expected(RANDOM, **told)).begin
    assert (found.iops, found.limited_by) == (500, "vm-iops")
    slow = job("rw=randread\nbs=4k\ndirect=1\niodepth=1\nioengine=libaio")
    found = first(expected(slow, **told)).begin
    assert (found.iops, found.limited_by) == (50, "latency")
    disk = DiskSpec(type="custom", size_gib=4, iops=2000, throughput_mib_per_s=40)
    told = {"scope": Scope(provider="lab"), "disk": disk}
    found = first(expected(RANDOM, **told)).begin
    capped = first(expected(RANDOM, **told, spec=RentSpec(lab=EmulationOptions(vm_iops=600)))).begin
    assert (found.iops, found.limited_by) == (2000, "disk-iops")
    assert (capped.iops, capped.limited_by) == (600, "vm-iops")


def on_azure(kind: str, gib: int, machine: str | None = None, **options: object) -> PlanExpectation:
    """What is expected of random reads of a disk of Azure with these options."""
    scope, spec = Scope(provider="azure", region="eastus"), RentSpec(azure=AzureOptions(**options))
    disk = DiskSpec(type=kind, size_gib=gib)
    return expected(RANDOM, scope=scope, spec=spec, disk=disk, instance_type=machine)


def test_azure_s_cold_then_warm_cache_bursts_on_demand_bought_tiers_and_transactions_are_expected():
    found = on_azure("Premium_LRS", 256, "Standard_D2s_v3", cache="readonly")
    cold, warm = (found.of(one) for one in found.steps)
    assert cold.begin.limited_by != "vm-cached-iops"
    assert warm.begin.limited_by == "vm-cached-iops"
    assert warm.begin.iops > cold.lasting.iops
    found = on_azure("Premium_LRS", 1024, performance_tier="P50", bursting=True)
    assert 30_000 in [one.iops for one in first(found).begin.bounds]
    price = on_azure("Standard_LRS", 256).price
    # 500 a second for 730 hours at $0.0005 for 10,000.
    assert price.transactions_usd == pytest.approx(500 * 3600 * 730 / 10_000 * 0.0005)
    assert price.storage_usd is not None
    assert price.transactions_usd > price.storage_usd


VSPHERE = Scope(provider="vsphere")


def limited(iops: int) -> RentSpec:
    return RentSpec(vsphere=VsphereOptions(iops_limit=iops))


def test_a_vsphere_limit_and_its_owner_s_promise_are_expected():
    found = expected(RANDOM, scope=VSPHERE, spec=limited(400), disk=None)
    assert first(found).begin.iops == 400
    found = expected(RANDOM, scope=VSPHERE, disk=None, promise=Promise(iops=5000))
    assert first(found).begin.iops == 5000


LIMITED = {"scope": VSPHERE, "spec": limited(3000)}

LARGE = job("rw=read\nbs=1m\ndirect=1\niodepth=8\nioengine=libaio")


class TestIopsOfLargeBlocks:
    """IOPS that somebody set or said are counted by size, as those of a catalogue are."""

    def level(self, profile: str, **told: object) -> ExpectedLevel:
        return first(expected(profile, disk=None, **told)).begin

    def test_esxi_counts_32_kib_against_its_limit_and_those_of_striped_disks_add_up(self):
        large = self.level(LARGE, **LIMITED)
        assert large.bytes_per_s == pytest.approx(3000 * 32 * KIB)
        assert large.words() == "disk IOPS (a block counts as 32)"
        assert self.level(job("rw=randread\nbs=40k\ndirect=1"), **LIMITED).iops == 1500
        assert "KB 385258" in " ".join(expected(LARGE, disk=None, **LIMITED).sources)
        disks = DiskSpec(type="VMFS", size_gib=20, count=4)
        several = expected(RANDOM, scope=VSPHERE, spec=limited(500), disk=disks)
        assert first(several).begin.iops == 2000

    def test_a_limit_and_a_promise_hold_together_and_count_256_kib_without_a_catalogue(self):
        found = self.level(LARGE, promise=Promise(mb_per_s=50), **LIMITED)
        assert (found.bytes_per_s, found.limited_by) == (pytest.approx(50e6), "disk-throughput")
        large = expect_on(Path(promise_gates(Promise(iops=3000), None)), Load(block_bytes=MIB))
        assert large.begin.iops == 750

    @pytest.mark.parametrize(
        ("provider", "io_kib", "counts"), [("vsphere", None, 32), ("vsphere", 128, 8)]
    )
    def test_a_promise_counts_as_its_provider_does_or_as_it_says(self, provider, io_kib, counts):
        promise = Promise(iops=3200, io_kib=io_kib)
        found = self.level(LARGE, scope=Scope(provider=provider), promise=promise)
        assert found.iops == pytest.approx(3200 / counts)


def test_a_fill_while_credit_is_held_spends_none_in_the_plan():
    """gp2 at --time-scale 30: the fill cost four seconds of burst in the plan, and none in the
    lab."""
    profile = (
        "---\ntitle: t\nquestion: q\nsource: s\nroles: {fill: fill}\n---\n"
        "[fill]\nrw=write\nbs=1m\nsize=4g\ndirect=1\n"
        "[a]\nstonewall\nrw=randread\nbs=4k\ndirect=1\ntime_based\nruntime=120\n"
    )
    told = {"scope": Scope(provider="lab"), "cloud": "aws"}
    lab = RentSpec(lab=EmulationOptions(time_scale=30))
    held = expected(profile, **told, spec=lab, holds_credit=True)
    [credit], [less] = held.credits, expected(profile, **told, spec=lab).credits
    assert credit.gone_s == pytest.approx(held.steps[1].start_s + 180_000 / 2900)
    assert less.gone_s < credit.gone_s - 4
    assert held.steps[1].credit == {"disk-iops": 1.0}
    assert held.of(held.steps[0]).lasts_s is None


def test_of_an_unknown_disk_nothing_is_expected_and_an_unknown_machine_is_told():
    assert planned(RANDOM, scope=VSPHERE, disk=None).expectation is None
    found = expected(RANDOM, instance_type="z9.huge")
    assert any("z9.huge" in one for one in found.unknown)
    assert first(found).begin.iops == 3000


@pytest.mark.parametrize("profile", shipped_names())
def test_every_shipped_profile_has_an_expectation_that_survives_json(profile: str):
    found = planned(profile, instance_type="m5.large").expectation
    assert PlanExpectation.model_validate(json.loads(found.model_dump_json())) == found
    assert any(one.load is not None for one in found.steps)


LOAD = Load(block_bytes=4096, depth=32)


def test_credit_is_charged_with_what_was_done_before_and_idle_time_gives_it_back():
    path = limit_paths_of(named_disk("aws:gp2:20"), None, SHIPPED)[0]

    def left(*stages: Stage) -> list[float]:
        return [credit["disk-iops"] for _, credit in expected_afterwards(path, stages)]

    half, minute = Stage(LOAD, 931, reached=3000), Stage(LOAD, 60, reached=3000)
    assert left(half, half, minute) == pytest.approx([1, 0.5, 0], abs=0.01)
    assert expected_afterwards(path, [half])[0][0].begin.iops == 3000
    whole, rested = Stage(LOAD, 1862, reached=3000), replace(minute, idle_s=27_000)
    assert left(whole, rested)[-1] == pytest.approx(0.5, abs=0.01)
    assert left(Stage(LOAD, 3600, reached=90), minute)[-1] == 1
    assert expected_afterwards(path, [Stage(None, 60, reached=3000)]) == [None]


def test_a_machine_named_with_the_disk_limits_it_and_an_unknown_one_is_told_with_what_is_near():
    path = limit_paths_of(named_disk("aws:io1:100:iops=5000"), "c4.xlarge", SHIPPED)[0]
    (found,) = expected_afterwards(path, [Stage(Load(block_bytes=2**20, depth=8), 60, reached=89)])
    assert found[0].begin.limited_by == "vm-throughput"
    near = {"c4.xlrage": "c4.xlrage towards gp3 (near: c4.xlarge", "warp.9": "warp.9 towards gp3"}
    for machine, unknown in {None: "", "c4.xlarge": "", **near}.items():
        (found,) = Hint(as_disk="aws:gp3:100", as_machine=machine).limit_paths(SHIPPED)
        assert unknown in "; ".join(found.unknown)
        assert bool(found.unknown) is bool(unknown), machine
    # Beside a promise none counts, and that is said.
    assert Hint(promise="iops=100").limit_paths(SHIPPED)[0].unknown == ()
    (path,) = Hint(promise="iops=100", as_machine="c4.large").limit_paths(SHIPPED)
    assert "c4.large" in path.unknown[0]


def test_the_machine_that_a_run_recorded_counts_for_a_disk_of_its_cloud():
    def used(cloud, machine, typed=None):
        hint = Hint(as_disk="aws:gp3:100", as_machine=typed)
        return hint.on_machine(cloud, machine).as_machine

    assert used("aws", "c4.large") == "c4.large"
    assert used("aws", "c4.large", typed="m5.large") == "m5.large"
    assert used("azure", "c4.large") is used(None, None) is None


@pytest.mark.parametrize(
    ("model", "machine", "limits"),
    [
        ("Amazon Elastic Block Store", "m5.large", {"disk-iops", "vm-iops", "vm-throughput"}),
        ("Amazon EC2 NVMe Instance Storage", "i3.large", {"disk-iops"}),
        ("Amazon Elastic Block Store", None, {"disk-iops"}),
    ],
)
def test_an_existing_machine_of_a_known_type_limits_the_network_disk_that_its_owner_promised(
    model, machine, limits
):
    disk = DiskFacts(name="nvme1n1", path="/dev/nvme1n1", size_bytes=2**40, model=model)
    facts = HostFacts(disk=disk, cloud=CloudFacts(vendor="aws", instance_type=machine))
    cell = Cell(provider="ssh", target=TargetSpec(kind="device", path="/dev/nvme1n1"),
                profile="quick", promise=Promise(iops=90_000))  # fmt: skip
    plan = SimpleNamespace(rental=None, cell=cell, facts=facts, target=SimpleNamespace(disks=(1,)))
    assert {gate.limit for gate in limit_path_of(plan, SHIPPED).gates} == limits


@pytest.mark.parametrize(("loads", "first"), [(None, 262e6), (0.0, None), (20e6, 20e6)])
def test_the_first_pass_over_a_disk_from_a_snapshot_gets_what_its_loading_is_promised(loads, first):
    disk = DiskSpec(type="gp2", size_gib=1000)
    found = planned("first-touch", disk=disk, loads_bytes_per_s=loads).expectation
    touched, again = (found.of(step) for step in found.steps)
    assert again.begin.bytes_per_s == pytest.approx(262e6, rel=0.01)
    told = None if touched is None else touched.begin.bytes_per_s
    assert told == (None if first is None else pytest.approx(first, rel=0.01))


def test_a_search_stays_below_the_rate_that_lasts_without_credit():
    assert planned("sla").search.lasting_iops == 100
    gp3 = planned("sla", disk=DiskSpec(type="gp3", size_gib=20, iops=3000))
    assert gp3.search.lasting_iops is None  # what it reaches lasts
    assert [step.name for step in planned("sla").steps][:3] == ["fill", "drain", "capacity"]
    assert "drain" not in [step.name for step in gp3.steps]

"""Which step comes next, the plan of a trial, and gates that it can never pass or miss."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import cells_of, make_plan
from tests.unit.report.inside import expectation
from tests.unit.report.made import plan, result, row, step

from diskbench.errors import InvalidValue, ProfileError, UnknownName
from diskbench.fio.declared import reported_of
from diskbench.fio.guard import check
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.offered import requested_iops
from diskbench.fio.options import ALLOWABLE, ENGINE_OPTIONS, OPTION_REASONS
from diskbench.fio.target import FioTarget
from diskbench.model.expectation import CreditRange, Load, PlanExpectation, StepExpectation
from diskbench.model.facts import HostFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.result import StepResult
from diskbench.model.spec import Loop, Search, Step
from diskbench.model.threshold import Threshold, read_conditions
from diskbench.plan import trial
from diskbench.plan.rent_options import key_values
from diskbench.plan.sequence import next_step, steadiness
from diskbench.plan.trial import check_gates, check_ratios
from diskbench.providers.options import EmulationOptions
from diskbench.units import GIB, KIB


def a_plan(*names, loop=None):
    return plan(steps=tuple(step(i, name) for i, name in enumerate(names)), loop=loop)


def finished(of, iops=100.0):
    return result(of, row(of.name, direction="write", iops=iops))


def run_through(of, iops):
    """All steps of the run; the tracked job's IOPS are taken from `iops` round by round."""
    steps: list[Step] = []
    results: list[StepResult] = []
    while (found := next_step(of, results)) is not None:
        steps.append(found)
        results.append(finished(found, iops[min((found.round or 1) - 1, len(iops) - 1)]))
    return steps


def test_steps_come_in_order_and_a_loop_that_settles_late_is_judged_over_its_last_five():
    made = a_plan("fill", "read", "write")
    assert [s.name for s in run_through(made, [1.0])] == ["fill", "read", "write"]
    made = a_plan("b", loop=Loop(first=0, tracked="b", direction="write"))
    assert len(run_through(made, [3000.0, 2000.0, 1000.0, 100.0])) == 8


def test_a_loop_ends_at_its_last_round_and_says_so_or_after_five_flat_ones():
    made = a_plan("b", loop=Loop(first=0, tracked="b", direction="write", max_rounds=25))
    values = [100.0 if i % 2 else 300.0 for i in range(30)]
    steps = run_through(made, values)
    assert len(steps) == 25
    results = [finished(s, values[i]) for i, s in enumerate(steps)]
    assert made.loop is not None
    assert steadiness(made.loop, results).state == "not steady"
    made = a_plan("fill", "a", "b", loop=Loop(first=1, tracked="b", direction="write"))
    steps = run_through(made, [100.0])
    assert [s.name for s in steps] == ["fill", *["a", "b"] * 5]
    assert [s.round for s in steps] == [None, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [s.index for s in steps] == list(range(11))


def with_credit(of, lasting):
    """The plan on a disk that bursts to 3,000 and comes to `lasting`."""
    load = Load(block_bytes=4096, read_share=0)
    found = expectation(3000, lasting, None).model_copy(update={"load": load})
    steps = (
        StepExpectation(index=one.index, name=one.name, start_s=0, seconds=60, load=0)
        for one in of.steps
    )
    credit = CreditRange(bucket="disk-iops", gone_s=1800, full_load_s=1862)
    whole = PlanExpectation(expectations=(found,), steps=tuple(steps), credits=(credit,))
    return of.model_copy(update={"expectation": whole})


def test_a_loop_that_is_steady_in_a_burst_goes_on_to_the_baseline():
    made = a_plan("fill", "b", loop=Loop(first=1, tracked="b", direction="write"))
    bursting = with_credit(made, 100.0)
    assert len(run_through(bursting, [3000.0] * 10 + [100.0])) == 1 + 15
    assert len(run_through(bursting, [105.0])) == 1 + 5
    assert len(run_through(bursting, [3000.0])) == 1 + 25
    assert len(run_through(with_credit(made, 3000.0), [3000.0])) == 1 + 5


@given(st.lists(st.floats(min_value=1, max_value=1e6), min_size=1, max_size=40))
def test_a_loop_always_ends_between_its_bounds(values):
    made = a_plan("b", loop=Loop(first=0, tracked="b", direction="write", max_rounds=12))
    assert 5 <= len(run_through(made, values)) <= 12


PROBES = tuple(f"probe-{n}" for n in range(1, 9))


def a_search(knee, capacity=4000.0):
    """The steps of a run with a search on a disk that keeps to the target up to `knee` IOPS."""
    job = "[probe]\nrw=randread\nruntime=30\nnumjobs=64\nrate_iops=50% of capacity\n"
    probes = (step(n, name, expected_s=30.0) for n, name in enumerate(PROBES, 1))
    steps = (step(0, "capacity"), *(of.model_copy(update={"job": job}) for of in probes))
    how = {"target": Threshold.parse("p99 < 2ms"), "precision": 0.02, "beyond": 100}
    search = Search(capacity="capacity", steps=PROBES, **how)
    made = plan(steps=steps).model_copy(update={"search": search})
    found: list[Step] = []
    results: list[StepResult] = []
    while (at := next_step(made, results)) is not None:
        found.append(at)
        rate = requested_iops(at.job) or capacity
        p99 = 1e6 if rate <= knee else 9e6
        results.append(result(at, row(at.name, direction="read", iops=rate, p99_ns=p99)))
    return found


def test_a_search_offers_halved_shares_to_its_precision_and_probes_as_long_as_percentiles_need():
    steps = a_search(knee=2900.0)
    rates = [requested_iops(of.job) for of in steps[1:]]
    assert rates == [1984, 3008, 2496, 2752, 2880, 2944, 2880]  # whole rates of each of 64 streams
    assert [of.index for of in steps] == list(range(8))
    steps = a_search(knee=2.0, capacity=400.0)
    seconds = {of.name: of.expected_s for of in steps[1:]}
    assert seconds["probe-1"] == 50.0  # 10,000 I/Os at 200 a second
    assert seconds["probe-2"] == 100.0
    assert "runtime=100\n" in steps[2].job
    assert a_search(knee=9e9, capacity=40_000.0)[1].expected_s == 30.0


def made(index, name, job, role="measure"):
    return Step(index=index, name=name, role=role, job=f"[{name}]\n{job}", expected_s=1)


STEPS = (
    made(0, "fill", "rw=write\nsize=1m\n", "fill"), made(1, "reads", "rw=randread\nsize=1m\n"),
    made(2, "both", "rw=randrw:4k\nfdatasync=1\nsize=1m\n"),
    made(3, "fast", "rw=randwrite\ngtod_reduce=1\nsize=1m\n"), made(4, "plain", "size=1m\n"),
)  # fmt: skip
REPORTED = [reported_of(one.job) for one in STEPS]


def asking(*texts, steps=STEPS, search=None, **more):
    asked, cell = read_conditions(texts, "--fail-if"), SimpleNamespace(profile="mine")
    return SimpleNamespace(conditions=asked, cell=cell, steps=steps, search=search, **more)


@pytest.mark.parametrize("text", [
    "nothing: iops < 1", "reads: write iops < 1", "reads: sync p99 > 1ms", "trim iops < 1",
    "mixed iops < 1", "fast: p99 > 1ms", "p99 > 1ms", "write mean > 1ms", "fill: iops < 1",
    "plain: write iops < 1",
])  # fmt: skip
def test_a_figure_that_will_not_be_there_is_refused_by_name(text):
    with pytest.raises(InvalidValue, match="--fail-if") as caught:
        check_gates(asking(text), REPORTED)
    assert caught.value.advice


@pytest.mark.parametrize("text", [
    "iops < 1", "reads: p99 > 1ms", "read p99 > 1ms", "sync p99 > 1ms", "both: sync max > 1s",
    "both: write iops < 1", "fast: iops < 1", "plain: read iops < 1", "mb_per_s < 1",
])  # fmt: skip
def test_a_figure_that_will_be_there_passes(text):
    check_gates(asking(text), REPORTED)


def test_a_fill_alone_is_what_is_measured_and_the_result_of_a_search_needs_a_search():
    check_gates(asking("fill: iops < 1", "iops < 1", steps=STEPS[:1]), REPORTED[:1])
    how = {"target": Threshold.parse("p99 < 2ms"), "precision": 0.02, "beyond": 100}
    search = Search(capacity="reads", steps=("both",), **how)
    check_gates(asking("sla < 5000", search=search), ())
    with pytest.raises(InvalidValue, match="makes no search"):
        check_gates(asking("sla < 5000"), ())
    with pytest.raises(InvalidValue, match="has one result"):
        check_gates(asking("reads: sla < 5000", search=search), ())


@pytest.mark.parametrize(("text", "known", "refused"), [
    ("ratio < 0.9", (), True), ("reads: ratio < 90%", (), True),
    ("reads: ratio < 0.9", ("both",), True), ("reads: ratio < 0.9", ("reads",), False),
    ("ratio < 0.9", ("reads",), False), ("iops < 9", (), False),
])  # fmt: skip
def test_a_ratio_needs_a_promise(text, known, refused):
    steps = [SimpleNamespace(name=one.name, load=0 if one.name in known else None) for one in STEPS]
    for expected in [SimpleNamespace(steps=steps)] + [None] * (not known):
        plan = asking(text, expectation=expected)
        if not refused:
            check_ratios(plan)
            continue
        with pytest.raises(InvalidValue, match="no ratio") as caught:
            check_ratios(plan)
        assert "--promise" in caught.value.advice


@pytest.mark.parametrize("text", ["iops < 0", "p99 > 0ms", "ratio < 0%", "mb_per_s >= 0"])
def test_a_limit_of_nothing_says_nothing(text):
    with pytest.raises(ValueError, match="above 0"):
        Threshold.failing(text, "--fail-if")


def test_a_label_that_is_too_long_to_print_is_refused_with_its_length():
    with pytest.raises(InvalidValue, match=r"--label note=x+… has 100,005 characters"):
        key_values("--label", ["note=" + "x" * 100_000])


STEADY = Loop(first=0, tracked="write", direction="write")


def rented_plan(scale, disk_type="gp2", *, loop=None):
    scope, spec = Scope(provider="lab"), RentSpec(lab=EmulationOptions(time_scale=scale))
    disk = DiskSpec(type=disk_type, size_gib=20)
    rental = Rental(scope=scope, spec=spec, cloud="aws", offer="a machine", disk=disk)
    return make_plan(rental=rental, loop=loop)


def test_a_scale_that_leaves_a_phase_under_two_minutes_or_changes_nothing_is_said():
    assert trial.time_scale_notes(rented_plan(1, loop=STEADY)) == ()
    assert trial.time_scale_notes(make_plan()) == ()
    # 1,862 s at full burst: 124 s at 15, 116 s at 16.
    assert trial.time_scale_notes(rented_plan(15)) == ()
    (note,) = trial.time_scale_notes(rented_plan(16))
    assert "the burst lasts 1 min 56 s, under two minutes" in note
    (note,) = trial.time_scale_notes(rented_plan(60, "standard"))
    assert "no burst credit" in note
    # A profile that judges steadiness is refused where the scale makes it meaningless.
    assert trial.time_scale_notes(rented_plan(15, loop=STEADY)) == ()
    with pytest.raises(InvalidValue, match="waits for a steady state") as refused:
        trial.time_scale_notes(rented_plan(100, loop=STEADY))
    assert "at most --time-scale 15" in refused.value.advice


def a_step(text):
    return Step(index=0, name="s", job=text, expected_s=1)


def test_buffers_are_jobs_times_depth_times_the_largest_block_and_refused_where_they_do_not_fit():
    sizes = {"rw=read": 4, "bs=1m\niodepth=32": 32 * 1024, "bs=4k,64k\nnumjobs=4": 4 * 64}
    sizes["bsrange=4k-128k\niodepth=2\nnumjobs=3"] = 6 * 128
    for options, kib in sizes.items():
        (job,) = jobs(parse(f"[a]\n{options}\n"))
        assert trial.buffer_bytes(job) == kib * KIB, options
    step = a_step("[a]\nrw=read\nbs=64m\niodepth=32\n")
    with pytest.raises(InvalidValue, match=r"2(\.1)? GiB"):
        trial.check_memory([step], HostFacts(memory_available_bytes=GIB), "box")
    trial.check_memory([a_step("[a]\nbs=1g\niodepth=100\n")], HostFacts(), "box")


@given(st.integers(1, 64), st.integers(1, 8))
def test_what_fits_is_let_pass(depth, count):
    step = a_step(f"[a]\nrw=read\nbs=4k\niodepth={depth}\nnumjobs={count}\n")
    needed = trial.BASE_BYTES + depth * count * 4 * KIB
    trial.check_memory([step], HostFacts(memory_available_bytes=needed), "box")
    with pytest.raises(InvalidValue):
        trial.check_memory([step], HostFacts(memory_available_bytes=needed - 1), "box")


JOB = '[a]\nrw=read\nsize=1m\nexec_prerun="$HOME"\n'


def asked(**more):
    return {"provider": "local", "profile": "x", "path": "/mnt/x", **more}


def test_an_option_with_a_reason_to_be_refused_is_allowed_on_this_machine_and_the_cell_says_so():
    (cell,) = cells_of(asked(allow=("exec_prerun", "exec_prerun")))
    assert cell.allowed == ("exec_prerun",)
    target = FioTarget(kind="directory", path="/mnt/x", allowed=cell.allowed)
    check(parse(JOB), target)
    (line,) = trial.allowed_lines(parse(JOB), cell.allowed)
    assert line.startswith('exec_prerun="$HOME"')
    assert OPTION_REASONS.keys() >= ALLOWABLE
    assert not ALLOWABLE & ENGINE_OPTIONS


@pytest.mark.parametrize("allowed", [(), ("exec_postrun",), ("ioscheduler",)])
def test_what_is_not_allowed_stays_refused(allowed):
    with pytest.raises(ProfileError, match="--allow exec_prerun"):
        check(parse(JOB), FioTarget(kind="directory", path="/mnt/x", allowed=allowed))


@pytest.mark.parametrize(
    ("more", "rent", "why"),
    [
        ({"provider": "ssh", "host": ("me@far",)}, None, "me@far may be"),
        ({"provider": "aws", "path": None}, RentSpec(disk="gp3"), "aws is rented"),
        ({"provider": "lab", "path": None}, RentSpec(disk="gp3"), "lab is rented"),
    ],
)
def test_nothing_is_allowed_on_machines_that_others_may_use(more, rent, why):
    with pytest.raises(InvalidValue) as caught:
        cells_of(asked(allow=("exec_prerun",), **more), rent)
    assert why in caught.value.message
    assert caught.value.field == "profile"


@pytest.mark.parametrize(
    "option", ["read_iolog", "opendir", "filename", "directory", "allow_mounted_write", "size", "x"]
)
def test_nobody_can_allow_what_reaches_other_devices(option):
    with pytest.raises(UnknownName):
        cells_of(asked(allow=(option,)))
    target = FioTarget(kind="device", path="/dev/sdz", allowed=(option,))
    for line in ("read_iolog=/x", "opendir=/x", "filename=/dev/sda", "allow_mounted_write=1"):
        with pytest.raises(ProfileError):
            check(parse(f"[a]\nrw=write\nsize=1m\n{line}\n"), target)

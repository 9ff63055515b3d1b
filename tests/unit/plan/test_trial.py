"""The plan of a trial: on a rented machine, its memory, and what may be loosened."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import cells_of, make_plan

from diskbench.errors import InvalidValue, ProfileError, UnknownName
from diskbench.fio.guard import check
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.options import ALLOWABLE, ENGINE_OPTIONS, OPTION_REASONS
from diskbench.fio.target import FioTarget
from diskbench.model.facts import HostFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.spec import Loop, Step
from diskbench.plan import trial
from diskbench.providers.options import EmulationOptions
from diskbench.units import GIB, KIB

STEADY = Loop(first=0, tracked="write", direction="write")


def plan(scale, disk_type="gp2", *, loop=None):
    scope, spec = Scope(provider="lab"), RentSpec(lab=EmulationOptions(time_scale=scale))
    disk = DiskSpec(type=disk_type, size_gib=20)
    rental = Rental(scope=scope, spec=spec, cloud="aws", offer="a machine", disk=disk)
    return make_plan(rental=rental, loop=loop)


def test_a_scale_that_leaves_a_phase_under_two_minutes_or_changes_nothing_is_said():
    assert trial.time_scale_notes(plan(1, loop=STEADY)) == ()
    assert trial.time_scale_notes(make_plan()) == ()
    # 1,862 s at full burst: 124 s at 15, 116 s at 16.
    assert trial.time_scale_notes(plan(15)) == ()
    (note,) = trial.time_scale_notes(plan(16))
    assert "the burst lasts 1 min 56 s, under two minutes" in note
    (note,) = trial.time_scale_notes(plan(60, "standard"))
    assert "no burst credit" in note
    # A profile that judges steadiness is refused where the scale makes it meaningless.
    assert trial.time_scale_notes(plan(15, loop=STEADY)) == ()
    with pytest.raises(InvalidValue, match="waits for a steady state") as refused:
        trial.time_scale_notes(plan(100, loop=STEADY))
    assert "at most --time-scale 15" in refused.value.advice


def a_step(text: str) -> Step:
    return Step(index=0, name="s", job=text, expected_s=1)


def test_buffers_are_jobs_times_depth_times_the_largest_block() -> None:
    sizes = {"rw=read": 4, "bs=1m\niodepth=32": 32 * 1024, "bs=4k,64k\nnumjobs=4": 4 * 64}
    sizes["bsrange=4k-128k\niodepth=2\nnumjobs=3"] = 6 * 128
    for options, kib in sizes.items():
        (job,) = jobs(parse(f"[a]\n{options}\n"))
        assert trial.buffer_bytes(job) == kib * KIB, options


def test_a_job_that_does_not_fit_is_refused_with_both_figures_and_unknown_memory_is_not() -> None:
    step = a_step("[a]\nrw=read\nbs=64m\niodepth=32\n")
    with pytest.raises(InvalidValue, match=r"2(\.1)? GiB"):
        trial.check_memory([step], HostFacts(memory_available_bytes=GIB), "box")
    trial.check_memory([a_step("[a]\nbs=1g\niodepth=100\n")], HostFacts(), "box")


@given(st.integers(1, 64), st.integers(1, 8))
def test_what_fits_is_let_pass(depth: int, count: int) -> None:
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

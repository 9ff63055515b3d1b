"""`--allow`: on this machine alone, and never for what reaches beside the target."""

import pytest

from diskbench.errors import InvalidValue, ProfileError, UnknownName
from diskbench.fio.guard import check
from diskbench.fio.jobfile import parse
from diskbench.fio.refused import ALLOWABLE, ENGINE_OPTIONS, OPTION_REASONS
from diskbench.fio.target import FioTarget
from diskbench.model.options import RentSpec
from diskbench.plan.cells import Request, cells
from diskbench.plan.trial import allowed_lines

JOB = '[a]\nrw=read\nsize=1m\nexec_prerun="$HOME"\n'


def asked(**more):
    return Request(**{"provider": "local", "profile": "x", "path": "/mnt/x", **more})


def test_an_option_is_allowed_on_this_machine_and_the_cell_says_so():
    (cell,) = cells(asked(allow=("exec_prerun", "exec_prerun")))
    assert cell.allowed == ("exec_prerun",)
    target = FioTarget(kind="directory", path="/mnt/x", allowed=cell.allowed)
    check(parse(JOB), target)
    (line,) = allowed_lines(parse(JOB), cell.allowed)
    assert line.startswith('exec_prerun="$HOME"')


@pytest.mark.parametrize("allowed", [(), ("exec_postrun",), ("ioscheduler",)])
def test_what_is_not_allowed_stays_refused(allowed):
    with pytest.raises(ProfileError, match="--allow exec_prerun"):
        check(parse(JOB), FioTarget(kind="directory", path="/mnt/x", allowed=allowed))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"provider": "ssh", "hosts": ("me@far",)}, "me@far may be"),
        ({"provider": "aws", "path": None, "rent": RentSpec(disk="gp3")}, "aws is rented"),
        ({"provider": "lab", "path": None, "rent": RentSpec(disk="gp3")}, "lab is rented"),
    ],
)
def test_nothing_is_allowed_on_machines_that_others_may_use(more, why):
    with pytest.raises(InvalidValue) as caught:
        cells(asked(allow=("exec_prerun",), **more))
    assert why in caught.value.message
    assert caught.value.field == "profile"


@pytest.mark.parametrize(
    "option", ["read_iolog", "opendir", "filename", "directory", "allow_mounted_write", "size", "x"]
)
def test_nobody_can_allow_what_reaches_other_devices(option):
    with pytest.raises(UnknownName):
        cells(asked(allow=(option,)))
    target = FioTarget(kind="device", path="/dev/sdz", allowed=(option,))
    for line in ("read_iolog=/x", "opendir=/x", "filename=/dev/sda", "allow_mounted_write=1"):
        with pytest.raises(ProfileError):
            check(parse(f"[a]\nrw=write\nsize=1m\n{line}\n"), target)


def test_what_can_be_allowed_has_a_reason_to_be_refused_and_is_no_engines():
    assert OPTION_REASONS.keys() >= ALLOWABLE
    assert not ALLOWABLE & ENGINE_OPTIONS

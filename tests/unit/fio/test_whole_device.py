"""Space and time of jobs on a device that name no size: fio uses the device."""

import pytest

from diskbench.fio.profiles import parse_profile
from diskbench.fio.steps import build_steps, space_bytes
from diskbench.fio.target import FioTarget
from diskbench.fio.template import RenderContext, render
from diskbench.units import GIB, MIB

DEVICE = FioTarget(kind="device", path="/dev/loop9", capacity_bytes=GIB)


def steps(body):
    profile = parse_profile(f"[x]\nrw=write\n{body}\n", name="x")
    rendered = render(profile, {}, RenderContext(target_kind="device"))
    return build_steps(profile, rendered, DEVICE, "3.33").steps


@pytest.mark.parametrize(
    ("body", "space"),
    [
        ("", GIB),
        ("filesize=2500G", GIB),
        ("filesize=64m", 64 * MIB),
        ("filesize=64m\noffset_increment=10m\nnumjobs=4", 64 * MIB),
        ("size=64m\noffset=1m", 65 * MIB),
    ],
)
def test_the_space_is_what_fio_uses_of_the_device(body, space):
    assert space_bytes(steps(body), GIB) == space


def test_the_time_is_that_of_the_device():
    (whole,) = steps("")
    (part,) = steps("filesize=512m")
    assert whole.expected_s == pytest.approx(2 * part.expected_s, rel=0.02)
    assert steps("runtime=5")[0].expected_s == 5.0

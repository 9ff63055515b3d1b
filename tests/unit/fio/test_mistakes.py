"""Everything that is wrong with a job file, at once."""

import pytest

from diskbench.errors import ProfileError
from diskbench.fio.jobfile import parse
from diskbench.fio.profiles import parse_profile
from diskbench.fio.steps import mistakes
from diskbench.fio.target import FioTarget
from diskbench.fio.template import RenderContext

BAD = """size=1
[global
[a]
rw=randwrite
size=${SIZE}
filename=/dev/sdb:/dev/sdc
ioengine=rbd
pool=x
exec_prerun=x
bs=1e6
spr_op=50
[b]
stonewall
=x
filename=y.$jobnum
"""
TARGET = FioTarget(kind="directory", path="/mnt/x")


def found(text, version="3.33"):
    profile = parse_profile(text, name="x")
    return mistakes(profile, {}, RenderContext(fio_version=version), TARGET)


def test_every_stage_tells_its_mistakes_in_their_order():
    named = ["SIZE", "line 1", "line 2", "line 14", "/dev/sdb, /dev/sdc", "line 7", "line 9",
             "line 10", "filename_format", "spr_op"]  # fmt: skip
    listed = found(BAD)
    assert len(listed) == len(named)
    for message, part in zip(listed, named, strict=True):
        assert part in message


def test_a_newer_fio_knows_the_option():
    assert len(found(BAD, "3.42")) == len(found(BAD)) - 1


@pytest.mark.parametrize(
    "text", ["[a]\nrw=read\nsize=1m\n", "[a]\nrw=read\nfilename=/dev/sdb\nsize=1m\n"]
)
def test_a_good_job_file_has_none(text):
    assert found(text) == ()


def test_all_lines_that_cannot_be_read_are_named():
    with pytest.raises(ProfileError) as caught:
        parse("size=1\n[x\n[a]\n=1\nrw=read\n")
    for line in (1, 2, 4):
        assert f"line {line}:" in caught.value.message

"""Options newer than the target's fio are named before anything runs."""

import pytest

from diskbench.errors import ProfileError
from diskbench.fio.jobfile import parse
from diskbench.fio.options import check_version, option_versions, parse_version, too_new


@pytest.mark.parametrize(
    ("line", "version", "needs"),
    [
        ("thinktime_iotime=1", "3.16", "3.28"),
        ("ioengine=io_uring_cmd", "3.28", "3.31"),
        ("ioengine=filedelete", "3.16", "3.27"),
        ("sync=dsync", "3.16", "3.24"),
        ("ss_interval=1", "fio-3.33", "3.35"),
        ("log_window_value=avg", "3.33", "3.37"),
        ("ramp_size=1m", "3.41", "3.42"),
        ("sprandom=1", "3.40-12-gabcdef", "3.41"),
    ],
)
def test_an_option_the_target_does_not_know_is_named_with_section_and_version(line, version, needs):
    sections = parse(f"[global]\nbs=4k\n[late]\nrw=read\n{line}\n").sections
    with pytest.raises(ProfileError) as caught:
        check_version(sections, version, where="profile 'x'")
    assert "[late]" in caught.value.message
    assert line.split("=")[0] in caught.value.message
    assert needs in caught.value.message
    assert needs in caught.value.advice


def test_what_the_target_knows_passes():
    sections = parse("[a]\nrw=read\nsync=dsync\nioengine=filestat\n").sections
    check_version(sections, "3.33", where="x")
    check_version(sections, None, where="x")
    assert not too_new(sections, "3.24")


def test_a_fio_older_than_the_oldest_is_refused():
    with pytest.raises(ProfileError, match=r"3\.16"):
        check_version(parse("[a]\nrw=read\n").sections, "3.1", where="x")


@pytest.mark.parametrize(
    ("text", "version"), [("fio-3.33", (3, 33)), ("3.36.1", (3, 36, 1)), ("fio-3.40-5-g1", (3, 40))]
)
def test_versions_are_numbers(text, version):
    assert parse_version(text) == version


def test_the_table_reaches_342_and_stays_small():
    table = option_versions()
    assert table.newest == "3.42"
    assert table.options["ramp_size"] == "3.42"
    assert len(table.options) < 100

"""`--set` of an option in a user's own job file, and a file of commands as a profile."""

from pathlib import Path

import pytest

from diskbench.errors import InvalidValue, UnknownName
from diskbench.fio.profiles import check_override, parse_profile, shipped_profile
from diskbench.fio.template import RenderContext, render
from diskbench.store.profile_file import find_profile

JOB = "[a]\nrw=read\nsize=${SIZE}\nruntime=180\n"


def test_an_option_is_set_beside_the_variables_and_is_among_the_parameters():
    profile = parse_profile(JOB, name="job")
    done = render(profile, {"SIZE": "1m", "runtime": "1", "time_based": "1"}, RenderContext())
    assert done.parameters == {"SIZE": "1m", "runtime": "1", "time_based": "1"}
    assert done.options == (("runtime", "1"), ("time_based", "1"))
    assert "runtime=180" in done.text


def test_a_variable_of_an_options_name_is_the_variable():
    profile = parse_profile("[a]\nrw=read\nsize=${size}\n", name="job")
    done = render(profile, {"size": "1m"}, RenderContext())
    assert (done.text, done.options) == ("[a]\nrw=read\nsize=1m\n", ())


def test_a_typing_mistake_is_answered_with_the_option_that_was_meant():
    with pytest.raises(UnknownName, match="runtime"):
        check_override(parse_profile(JOB, name="job"), "runtme", "1")


@pytest.mark.parametrize("name", ["exec_prerun", "read_iolog", "directory", "write_lat_log"])
def test_what_a_job_file_may_not_hold_cannot_be_set(name):
    with pytest.raises(UnknownName):
        check_override(parse_profile(JOB, name="job"), name, "1")


def test_a_value_that_could_begin_another_option_is_refused():
    with pytest.raises(InvalidValue):
        check_override(parse_profile(JOB, name="job"), "runtime", "1\nexec_prerun=x")


def test_a_template_takes_its_own_parameters_alone():
    with pytest.raises(UnknownName):
        check_override(shipped_profile("quick"), "iodepth", "1")


def test_a_file_of_commands_is_a_profile(tmp_path: Path):
    file = tmp_path / "guide.sh"
    file.write_text("# from a guide\n$ sudo fio --name=a --rw=read --size=1m --runtime=${LONG}\n")
    profile = find_profile(str(file))
    assert [parameter.name for parameter in profile.parameters] == ["LONG"]
    assert "[a]" in profile.template
    assert "; from: fio --name=a" in profile.template

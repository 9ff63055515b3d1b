"""Variables and keywords of job files."""

import pytest

from diskbench.errors import InvalidValue, ProfileError
from diskbench.fio.profiles import parse_profile, with_environment
from diskbench.fio.template import RenderContext, render

JOB = "; ${IGNORED}\n[a]\nrw=read\nsize=${SIZE}\nnumjobs=$ncpus ; ${ALSO}\nfilename=${DIR}/x\n"
CONTEXT = RenderContext(cores=4, memory_bytes=2**30)


def test_a_variable_is_a_parameter_of_the_job_file():
    profile = parse_profile(JOB, name="job")
    assert [parameter.name for parameter in profile.parameters] == ["SIZE", "DIR"]
    done = render(profile, {"SIZE": "1g", "DIR": "/mnt"}, CONTEXT)
    assert done.text == (
        "; ${IGNORED}\n[a]\nrw=read\nsize=1g\nnumjobs=4 ; ${ALSO}\nfilename=/mnt/x\n"
    )
    assert done.parameters == {"SIZE": "1g", "DIR": "/mnt"}


def test_every_variable_without_a_value_is_named():
    with pytest.raises(InvalidValue) as caught:
        render(parse_profile(JOB, name="job"), {}, CONTEXT)
    assert "SIZE, DIR" in caught.value.message
    assert "--set SIZE=VALUE --set DIR=VALUE" in (caught.value.advice or "")


def test_the_environment_gives_defaults_and_set_replaces_them():
    profile = with_environment(parse_profile(JOB, name="job"), {"SIZE": "2g", "DIR": "d", "X": "y"})
    assert "size=2g" in render(profile, {}, CONTEXT).text
    assert "size=1m" in render(profile, {"SIZE": "1m"}, CONTEXT).text


def test_a_value_of_the_environment_is_no_template():
    profile = with_environment(parse_profile(JOB, name="job"), {"SIZE": "{{ 2 }}", "DIR": "d"})
    with pytest.raises(InvalidValue, match="SIZE"):
        render(profile, {}, CONTEXT)


@pytest.mark.parametrize(
    "name", ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PGPASSWORD", "API_KEY", "AWS_SESSION"]
)
def test_a_variable_that_names_a_secret_is_refused_without_its_value(name):
    profile = parse_profile(f"[a]\nrw=read\ndescription=${{{name}}}\n", name="job")
    with pytest.raises(ProfileError) as caught:
        with_environment(profile, {name: "hunter2"})
    assert name in caught.value.message
    assert "hunter2" not in str(caught.value)


def test_a_value_cannot_bring_another_option():
    with pytest.raises(InvalidValue):
        render(
            parse_profile("[a]\nrw=${RW}\n", name="job"), {"RW": "read\nexec_prerun=id"}, CONTEXT
        )

"""fio's command lines as job files."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import ProfileError
from diskbench.fio.command_line import is_command, job_file
from diskbench.fio.jobfile import groups, jobs, parse

GUIDES = Path(__file__).parents[2] / "cases" / "guides"


def options(text):
    """Name and options of each job that a command line makes."""
    made = jobs(parse(job_file(text)))
    return [(job.name, {option.key: option.value for option in job.options}) for job in made]


@pytest.mark.parametrize(
    "line",
    [
        "fio --name=a --rw=read --direct=1",
        "sudo fio --rw=read --direct=1 --name=a",
        "$ sudo -E /usr/bin/fio --name a --rw read --direct 1",
        "[me@host ~]$ fio -name=a -rw=read -direct=1",
        "# a comment\n\nfio --name=a \\\n  --rw=read \\ \n  --direct=1 \\\n",
        "fio --name='a' --rw=\"read\" --direct=1",
    ],
)
def test_a_command_is_a_job(line):
    assert is_command(line)
    assert options(line) == [("a", {"rw": "read", "direct": "1"})]


def test_what_stands_before_the_first_name_or_after_global_is_for_all_later_jobs():
    line = "fio --bs=4k --name=a --rw=read --name=global --size=1m --name=b --group_reporting"
    assert options(line) == [
        ("a", {"bs": "4k", "rw": "read"}),
        ("b", {"bs": "4k", "size": "1m", "group_reporting": None}),
    ]


def test_several_commands_are_steps_and_share_nothing():
    file = parse(
        job_file("fio --bs=4k --name=a --rw=read\nfio --name=b --rw=write && fio --name=c")
    )
    assert [group.name for group in groups(file)] == ["a", "b", "c"]
    assert [job.get("bs") for job in jobs(file)] == ["4k", None, None]


def test_a_placeholder_is_a_name_and_not_a_redirection():
    line = "fio --name=a --filename=/dev/<device>"
    assert options(line) == [("a", {"filename": "/dev/device"})]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("fio --name=a | tee log", "'|'"), ("fio --name=a > log", "'>'"),
        ("fio --name=a && rm -r x", "rm -r is not fio"), ("fio --rw=read", "has no job"),
        ("fio --runtime 30 fiowrite.ini", "'fiowrite.ini'"),
        ("fio --name=a --filename=device name", "'name'"), ("fio --name='a", "quotation"),
        ("fio --name=a --rw=randrw --readonly", "--readonly"),
        ("fio --name=a --description='x; y'", "--description"),
    ],
)  # fmt: skip
def test_what_is_more_than_fio_and_its_options_is_refused_by_name(line, named):
    with pytest.raises(ProfileError) as caught:
        job_file(line)
    assert named in f"{caught.value}"


@pytest.mark.parametrize("text", ["[a]\nrw=read\n", "---\ntitle: x\n", "", "# fio --name=a\n[a]\n"])
def test_a_job_file_is_no_command(text):
    assert not is_command(text)


@given(st.text(max_size=120))
def test_any_text_after_fio_is_a_job_file_or_refused(text):
    try:
        made = job_file(f"fio --name=a {text}")
    except ProfileError:
        return
    for line in made.split("\n"):
        assert not line.startswith("include")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["azure-readwrite.ini", "aws-mix.cfg"])
def test_the_command_that_fio_makes_of_a_job_file_is_that_job_file_again(name):
    done = subprocess.run(
        ["fio", "--showcmd", str(GUIDES / name)],
        check=True, capture_output=True, text=True, start_new_session=True,
    )  # fmt: skip
    (command,) = [line for line in done.stdout.splitlines() if line.startswith("fio ")]
    ours = [(job, set(found.items())) for job, found in options(command)]
    theirs = jobs(parse((GUIDES / name).read_text()))
    for (job, found), written in zip(ours, theirs, strict=True):
        assert job == written.name
        expected = {(o.key, o.value) for o in written.options if o.key not in {"filename"}}
        assert {(key, value) for key, value in found if key not in {"filename"}} == expected

"""Job files are read as fio reads them, with their variables replaced, and command lines of fio are
job files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import call_fio, machine

from diskbench.errors import InvalidValue, ProfileError
from diskbench.fio.command_line import is_command, job_file
from diskbench.fio.jobfile import JobOption, Section, Sections, groups, jobs, parse, write
from diskbench.fio.profiles import parse_profile, with_environment
from diskbench.fio.target import FioTarget
from diskbench.fio.template import render

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9 _.+-]{0,18}[A-Za-z0-9]", fullmatch=True)
KEYS = st.from_regex(r"[a-z][a-z0-9_-]{0,15}", fullmatch=True).filter(
    lambda key: not key.startswith("include")
)
PRINTABLE = "".join(chr(c) for c in range(0x20, 0x7F) if chr(c) not in ";#")
VALUES = st.none() | st.text(alphabet=PRINTABLE, max_size=20).map(str.strip)
OPTIONS = st.lists(st.builds(JobOption, key=KEYS, value=VALUES), max_size=5).map(tuple)
SECTIONS = st.lists(st.builds(Section, name=NAMES, options=OPTIONS), min_size=1, max_size=6).map(
    tuple
)


def without_lines(file: Sections) -> list[tuple[str, list[tuple[str, str | None]]]]:
    return [(s.name, [(o.key, o.value) for o in s.options]) for s in file]


@pytest.mark.slow
@given(SECTIONS)
def test_what_is_written_is_read_again_and_groups_hold_every_job_once_and_in_order(sections):
    sections = (*sections, Section(name="last", options=(JobOption(key="rw", value="read"),)))
    assert without_lines(parse(write(sections))) == without_lines(sections)
    split = [job.name for group in groups(sections) for job in jobs(group)]
    assert split == [job.name for job in jobs(sections)]


@given(st.text())
def test_any_text_is_parsed_or_refused_by_name(text):
    try:
        parsed = parse(text)
    except ProfileError:
        return
    assert parse(write(parsed)) is not None


def test_comments_end_a_line_and_a_global_section_applies_only_to_jobs_after_it():
    file = parse("; first\n# second\n[a] ; name\nbs=4k ; small\nrw=read # reads\nthread\n")
    assert without_lines(file) == [("a", [("bs", "4k"), ("rw", "read"), ("thread", None)])]
    file = parse("[a]\nrw=read\n[global]\nbs=8k\n[b]\nrw=write\n[globalised]\nbs=16k\n[c]\nrw=read")
    assert [job.get("bs") for job in jobs(file)] == [None, "8k", "16k"]


def test_groups_begin_at_a_stonewall_or_its_alias_and_one_in_global_is_of_all_that_keep_it():
    texts = {"[a]\n[b]\n[c]\nwait_for_previous\n[d]\nstonewall=0": ["ab", "cd"]}
    texts["[global]\nstonewall\n[a]\n[b]\nstonewall=0\n[c]\n"] = ["ab", "c"]
    for text, names in texts.items():
        assert ["".join(job.name for job in jobs(each)) for each in groups(parse(text))] == names


def test_a_group_keeps_the_globals_before_it_and_waits_for_no_job_of_an_earlier_one():
    text = "[global]\nbs=4k\n[a]\nrw=read\n[global]\nbs=8k\n[b]\nstonewall\nrw=read\n"
    first, second = groups(parse(f"{text}[global]\nbs=16k\n[c]\nrw=read"))
    assert [job.get("bs") for job in jobs(first)] == ["4k"]
    assert [job.get("bs") for job in jobs(second)] == ["8k", "16k"]
    assert "bs=16k" not in write(first)
    assert "stonewall" not in write(second)
    file = parse("[a]\nrw=read\n[b]\nstonewall\nrw=read\n[c]\nwait_for=b\n[d]\nwait_for=a\n")
    _, second = groups(file)
    assert [job.get("wait_for") for job in jobs(second)] == [None, "b", None]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("rw=read\n", "before the first"),
        ("include /etc/passwd\n[a]\nrw=read\n", "included"),
        ("[a]\nrw=read\n  include /tmp/x\n", "included"),
        ("[a]\nincludefoo\n", "included"),
        ("[a\nrw=read\n", "not a section"),
        ("[]\nrw=read\n", "not a section"),
        ("[a]\n=read\n", "no option name"),
        ("[a]\nrw=read\x0bexec_prerun=id\n", "control character"),
        ("[a]\nrw=read\rexec_prerun=id\n", "control character"),
        ("[a]\nrw=read\x00filename=/etc/passwd\n", "control character"),
        ("[a]\n;" + "x" * 5000 + "\n", "longer"),
        (f"[a]\nrw=read\ndescription={'x' * 4090}filename=/etc/passwd\n", "longer"),
        ("[global]\nbs=4k\n", "no job"),
        ("[a]\nrw=read\nexit_what=all\n[b]\nstonewall\nrw=read\n", "exit_what"),
    ],
)
def test_what_fio_would_read_otherwise_is_refused_with_its_line(text, named):
    with pytest.raises(ProfileError, match=named):
        groups(parse(text))


@pytest.mark.slow
def test_fio_forms_the_same_groups(tmp_path: Path):
    text = (
        "[global]\nioengine=null\nsize=4k\nrw=read\n[a]\n[b]\n[c]\nstonewall\nnumjobs=3\n"
        "[global]\nstonewall=1\n[d]\n[e]\nwait_for_previous=0\n"
    )
    (tmp_path / "job.fio").write_text(text)
    lines = call_fio("job.fio", at=tmp_path).stdout.decode().splitlines()
    found = [line.split(":")[0] for line in lines if "(groupid=" in line]
    ids = [line.split("groupid=")[1][0] for line in lines if "(groupid" in line]
    ours = []
    for index, group in enumerate(groups(parse(text))):
        for job in jobs(group):
            ours += [(job.name, str(index))] * int(job.get("numjobs") or 1)
    assert list(zip(found, ids, strict=True)) == ours


JOB = "; ${IGNORED}\n[a]\nrw=read\nsize=${SIZE}\nnumjobs=$ncpus ; ${ALSO}\nfilename=${DIR}/x\n"
HERE = machine(4, memory_bytes=2**30), FioTarget(kind="directory", path="/m")


def test_a_variable_is_a_parameter_of_the_job_file_and_named_without_a_value():
    profile = parse_profile(JOB, name="job")
    assert list(profile.parameters) == ["SIZE", "DIR"]
    text, parameters = render(profile, {"SIZE": "1g", "DIR": "/m"}, *HERE)
    assert text == "; ${IGNORED}\n[a]\nrw=read\nsize=1g\nnumjobs=4 ; ${ALSO}\nfilename=/m/x\n"
    assert parameters == {"SIZE": "1g", "DIR": "/m"}
    with pytest.raises(InvalidValue) as caught:
        render(parse_profile(JOB, name="job"), {}, *HERE)
    assert "SIZE, DIR" in caught.value.message
    assert "--set SIZE=VALUE --set DIR=VALUE" in (caught.value.advice or "")


def test_the_environment_gives_defaults_that_set_replaces_no_template_and_no_other_option():
    profile = with_environment(parse_profile(JOB, name="job"), {"SIZE": "2g", "DIR": "d", "X": "y"})
    assert "size=2g" in render(profile, {}, *HERE)[0]
    assert "size=1m" in render(profile, {"SIZE": "1m"}, *HERE)[0]
    profile = with_environment(parse_profile(JOB, name="job"), {"SIZE": "{{ 2 }}", "DIR": "d"})
    with pytest.raises(InvalidValue, match="SIZE"):
        render(profile, {}, *HERE)
    with pytest.raises(InvalidValue):
        render(parse_profile("[a]\nrw=${RW}\n", name="j"), {"RW": "read\nexec_prerun=id"}, *HERE)


@pytest.mark.parametrize(
    "name", ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PGPASSWORD", "API_KEY", "AWS_SESSION"]
)
def test_a_variable_that_names_a_secret_is_refused_without_its_value(name):
    profile = parse_profile(f"[a]\nrw=read\ndescription=${{{name}}}\n", name="job")
    with pytest.raises(ProfileError) as caught:
        with_environment(profile, {name: "hunter2"})
    assert name in caught.value.message
    assert "hunter2" not in str(caught.value)


# --- Command lines


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


def test_options_before_the_first_name_are_of_all_jobs_of_a_command_and_of_no_other():
    line = "fio --bs=4k --name=a --rw=read --name=global --size=1m --name=b --group_reporting"
    b = {"bs": "4k", "size": "1m", "group_reporting": None}
    assert options(line) == [("a", {"bs": "4k", "rw": "read"}), ("b", b)]
    commands = "fio --bs=4k --name=a --rw=read\nfio --name=b --rw=write && fio --name=c"
    file = parse(job_file(commands))
    assert [job.name for group in groups(file) for job in jobs(group)] == ["a", "b", "c"]
    assert [job.get("bs") for job in jobs(file)] == ["4k", None, None]
    placeholder = "fio --name=a --filename=/dev/<device>"  # and no redirection
    assert options(placeholder) == [("a", {"filename": "/dev/device"})]


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
    shown = call_fio("--showcmd", name, at=GUIDES).stdout.decode()
    (command,) = [line for line in shown.splitlines() if line.startswith("fio ")]
    ours = [(job, set(found.items())) for job, found in options(command)]
    for (job, found), written in zip(ours, jobs(parse((GUIDES / name).read_text())), strict=True):
        assert job == written.name
        expected = {(o.key, o.value) for o in written.options if o.key not in {"filename"}}
        assert {(key, value) for key, value in found if key not in {"filename"}} == expected

"""The steps of a job file and all that is wrong with one; which fio knows which option."""

from collections import defaultdict
from pathlib import Path

import pytest
from tests.rigs.golden import check_part
from tests.rigs.plans import built, call_fio

from diskbench.errors import ProfileError
from diskbench.fio import options
from diskbench.fio.estimate import space_bytes
from diskbench.fio.guard import _SPECIAL, OURS, check, settable
from diskbench.fio.jobfile import ALIASES, jobs, parse
from diskbench.fio.numbers import NUMERIC
from diskbench.fio.profiles import parse_profile
from diskbench.fio.retarget import OUTPUT, retarget
from diskbench.fio.steps import mistakes
from diskbench.fio.target import FioTarget
from diskbench.model.facts import HostFacts
from diskbench.units import GIB, MIB

DIRECTORY = FioTarget(kind="directory", path="/mnt/disk/diskbench-1")
DEVICE = FioTarget(kind="device", path="/dev/loop9", capacity_bytes=1 << 30)
HEAD = "title: t\nquestion: q\nsource: s\n"


def build(body, matter="", target=DIRECTORY, version="3.33"):
    text = f"---\n{HEAD}{matter}---\n{body}" if matter is not None else body
    found = built(text, target, version=version)
    return found.steps, found.loop


def job(step):
    return jobs(parse(step.job))[0]


TWO = "[global]\nfilename=data\nsize=1m\n[a]\nrw=write\n[b]\nstonewall\nrw=read\ndirect=0\n"


def test_each_group_is_a_step_with_what_every_step_has_but_for_a_plain_job_file_s_defaults():
    (a, b), loop = build(TWO)
    assert [a.index, b.index, a.name, b.name] == [0, 1, "a", "b"]
    assert loop is None
    for step in (a, b):
        assert job(step).get("directory") == DIRECTORY.path
        assert job(step).get("write_hist_log") == "fio"
        assert job(step).get("log_avg_msec") == "1000"
        assert job(step).get("refill_buffers") == "1"
    assert (job(a).get("direct"), job(b).get("direct")) == ("1", "0")
    (step,), _ = build("[a]\nrw=write\nsize=1m\n", matter=None)
    assert job(step).get("direct") is None
    assert job(step).get("refill_buffers") is None
    assert job(step).get("write_lat_log") == "fio"


def test_on_a_device_every_file_name_becomes_the_device_and_a_colon_in_a_target_is_escaped():
    steps, _ = build(TWO, target=DEVICE)
    for step in steps:
        assert [o.value for o in job(step).options if o.name == "filename"] == ["/dev/loop9"]
        assert job(step).get("allow_file_create") == "0"
        assert job(step).get("directory") is None
    (step, _), _ = build(TWO, target=FioTarget(kind="directory", path="/mnt/a:b"))
    assert "directory=/mnt/a\\:b\n" in step.job


def test_an_old_fio_gets_no_options_it_would_misread():
    (old, _), _ = build(TWO, version="3.16")
    assert job(old).get("lat_percentiles") is None
    (new, _), _ = build(TWO, version="3.18")
    assert job(new).get("slat_percentiles") == "1"


def test_roles_page_cache_and_a_loop_around_a_step_come_from_the_front_matter():
    (a, b), _ = build(TWO, matter="roles: {a: fill}\npage_cache: keep\ndrop_caches_every_s: 3\n")
    assert (a.role, b.role) == ("fill", "measure")
    assert (b.page_cache, b.drop_caches_every_s) == ("keep", 3)
    loop = build(TWO, matter="roles: {a: fill}\nloop: {tracked: b, direction: read}\n")[1]
    assert (loop.first, loop.tracked, loop.max_rounds) == (1, "b", 25)
    assert build(TWO, matter="loop: {first: a, tracked: b, direction: read}\n")[1].first == 0
    with pytest.raises(ProfileError, match="'c'"):
        build(TWO, matter="loop: {tracked: c, direction: read}\n")


def test_two_steps_of_one_name_are_numbered_and_a_time_based_one_takes_its_time():
    steps, _ = build("[global]\nsize=1m\nrw=read\nstonewall\n[a]\n[a]\n[a]\n")
    assert [s.name for s in steps] == ["a", "a#2", "a#3"]
    body = "[a]\nrw=read\nsize=1g\ntime_based\nruntime=1m\nramp_time=5\nstartdelay=2s\n"
    (step,), _ = build(body)
    assert step.expected_s == 67


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ("rw=write\nbs=1m\nsize=100000000", 1), ("rw=write\nbs=1m\nsize=100000000\nloops=2", 2),
        ("rw=randread\nbs=4k\nsize=12288000", 1), ("rw=read\nsize=1g\nruntime=3", 3),
        ("rw=read\nsize=1g\nrate=128m", 8), ("rw=write\nbs=4k\nsize=4m\nfdatasync=1", 0.3),
        ("rw=write\nioengine=filecreate\nnrfiles=10000\nfilesize=4k", 1),
    ],
)  # fmt: skip
def test_a_size_bound_step_is_estimated_at_the_stated_rate(options, seconds):
    (step,), _ = build(f"[a]\n{options}\n")
    assert step.expected_s == pytest.approx(seconds, abs=0.1)


@pytest.mark.parametrize(
    ("body", "mib"),
    [
        (TWO, 1),
        ("[a]\nrw=write\nsize=8m\n[b]\nrw=write\nsize=8m\n", 16),
        ("[a]\nrw=write\nsize=8m\nnumjobs=4\n", 32),
        ("[a]\nrw=write\nsize=8m\nfilename=x\nnumjobs=4\n", 8),
        ("[a]\nrw=write\nsize=8m\nfilename=x:y\n", 8),
        ("[a]\nrw=write\nfilesize=8m\nnrfiles=3\n", 24),
        ("[a]\nrw=write\nfilename_format=f.$jobnum\nsize=8m\nnumjobs=2\n", 16),
        ("[a]\nrw=write\nfilename=x\nsize=8m\noffset=4m\n", 12),
        ("[a]\nrw=write\nioengine=null\nsize=8g\n", 0),
    ],
)
def test_space_is_that_of_the_files_fio_lays_out(body, mib):
    steps, _ = build(body)
    assert space_bytes(steps) == mib << 20


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
    return tuple(mistakes(profile, {}, HostFacts(fio_version=version), TARGET))


def test_every_stage_tells_its_mistakes_in_their_order_for_the_fio_of_the_host():
    named = ["SIZE", "line 1", "line 2", "line 14", "/dev/sdb, /dev/sdc", "line 7", "line 9",
             "line 10", "filename_format", "spr_op"]  # fmt: skip
    listed = found(BAD)
    assert len(listed) == len(named)
    for message, part in zip(listed, named, strict=True):
        assert part in message
    assert len(found(BAD, "3.42")) == len(found(BAD)) - 1
    assert found("[a]\nsize=1m\n") == found("[a]\nrw=read\nfilename=/dev/sdb\nsize=1m\n") == ()
    with pytest.raises(ProfileError) as caught:
        parse("size=1\n[x\n[a]\n=1\nrw=read\n")
    for line in (1, 2, 4):
        assert f"line {line}:" in caught.value.message


def steps(body):
    return built(f"[x]\nrw=write\n{body}\n", DEVICE).steps


@pytest.mark.parametrize(
    ("body", "space"),
    [
        ("", GIB), ("filesize=2500G", GIB), ("filesize=64m", 64 * MIB),
        ("filesize=64m\noffset_increment=10m\nnumjobs=4", 64 * MIB),
        ("size=64m\noffset=1m", 65 * MIB), ("size=50%", GIB // 2),
    ],
)  # fmt: skip
def test_the_space_is_what_fio_uses_of_the_device(body, space):
    assert space_bytes(steps(body), GIB) == space


def test_the_time_is_that_of_the_device():
    (whole,) = steps("")
    (part,) = steps("filesize=512m")
    assert whole.expected_s == pytest.approx(2 * part.expected_s, rel=0.02)
    assert steps("runtime=5")[0].expected_s == 5.0


@pytest.mark.parametrize(
    ("line", "version", "needs"),
    [
        ("thinktime_iotime=1", "3.16", "3.28"), ("ioengine=io_uring_cmd", "3.28", "3.31"),
        ("ioengine=filedelete", "3.16", "3.27"), ("sync=dsync", "3.16", "3.24"),
        ("ss_interval=1", "fio-3.33", "3.35"), ("log_window_value=avg", "3.33", "3.37"),
        ("ramp_size=1m", "3.41", "3.42"), ("sprandom=1", "3.40-12-gabcdef", "3.41"),
    ],
)  # fmt: skip
def test_an_option_the_target_does_not_know_is_named_with_section_and_version(line, version, needs):
    sections = parse(f"[global]\nbs=4k\n[late]\nrw=read\n{line}\n")
    with pytest.raises(ProfileError) as caught:
        options.check_version(sections, version, where="profile 'x'")
    assert "[late]" in caught.value.message
    assert line.split("=")[0] in caught.value.message
    assert needs in caught.value.message
    assert needs in caught.value.advice


def test_what_the_target_knows_passes_and_an_older_fio_or_an_option_of_none_is_refused():
    sections = parse("[a]\nrw=read\nsync=dsync\nioengine=filestat\n")
    options.check_version(sections, "3.33", where="x")
    options.check_version(sections, None, where="x")
    options.check_version(sections, "3.24", where="x")
    with pytest.raises(ProfileError, match=r"3\.16"):
        options.check_version(parse("[a]\nrw=read\n"), "3.1", where="x")
    with pytest.raises(ProfileError, match=r"no such option"):
        check(parse("[a]\nrw=read\nbandwith_limit=1\n"), FioTarget(kind="device", path="/dev/x"))


@pytest.mark.parametrize(
    ("text", "version"), [("fio-3.33", (3, 33)), ("3.36.1", (3, 36, 1)), ("fio-3.40-5-g1", (3, 40))]
)
def test_versions_are_numbers(text, version):
    assert options.parse_version(text) == version


ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "evidence" / "fio-options.md"
BEGIN, END = "<!-- options -->\n", "<!-- end of options -->"
HEADINGS = {
    "passes": "Allowed with any value that has no quote, `$`, backtick or backslash",
    "checked": (
        "Allowed with values that stay on the target and that fio and diskbench read the same way"
    ),
    "retargeted": "Changed to your target, or removed",
    "ours": "Set by diskbench",
    "refused": "Refused",
}


RETARGETED = frozenset({"filename", "directory", "filename_format", "threads"})
OF_THE_COMMAND = frozenset({"readonly"})
"""Read with the command line (command_line.py)."""


def _is_checked(name):
    """Whether a value of an option may be refused where the option itself is not."""
    return name in _SPECIAL or name in NUMERIC or name in {"trim_percentage", "zonemode"}


def option_class(name: str) -> tuple[str, str]:
    """The class of an option by any of its names, and the reason of one that is refused: `passes`
    with any value, `checked`: with some values (guard.py); `retargeted`: put onto our target or
    taken out; `ours`: set by diskbench alone; `unknown` is refused, too."""
    name = ALIASES.get(name, name)
    if name in RETARGETED | OUTPUT | OF_THE_COMMAND:
        return "retargeted", ""
    if name in OURS:
        return "ours", OURS[name]
    if name in settable():
        return ("checked" if _is_checked(name) else "passes"), ""
    if name in options.OPTION_REASONS or name in options.ENGINE_OPTIONS:
        return "refused", options.option_reason(name)
    return "unknown", options.option_reason(name)


def listed() -> list[str]:
    """The options of fio 3.16 to 3.42, those of its command line without their dashes."""
    lines = (ROOT / "tests/cases/fio_options.txt").read_text("utf-8").splitlines()
    return sorted({line.lstrip("-") for line in lines if not line.startswith("#")})


def table() -> str:
    """The page's lists: the options of each class, those refused by their reasons."""
    classes = defaultdict(list)
    for name in listed():
        classes[option_class(name)].append(f"`{name}`")
    out = []
    for kind, heading in HEADINGS.items():
        out += [f"## {heading}", ""]
        for reason in sorted(reason for found, reason in classes if found == kind):
            names = ", ".join(classes[kind, reason])
            out += [f"- {reason}: {names}" if reason else names]
        out.append("")
    return "\n".join(out)


def test_no_option_of_fio_is_without_a_class_and_the_page_lists_every_one(request):
    assert len(listed()) > 350
    assert [name for name in listed() if option_class(name)[0] == "unknown"] == []
    versions = options.option_versions()["options"]
    assert versions["ramp_size"] == "3.42"
    assert len(versions) < 100
    assert set(versions) <= set(listed())
    check_part(PAGE, (BEGIN, END), table(), update=request.config.getoption("--update-golden"))


def test_what_is_refused_is_refused_with_its_reason_and_the_rest_is_ours_or_passes() -> None:
    target = FioTarget(kind="directory", path="/mnt/x")
    for name in listed():
        kind, reason = option_class(name)
        file, changes = retarget(parse(f"[a]\nrw=read\n{name}=1\n"), target)
        assert ("--allow" in reason) == (name in options.ALLOWABLE)
        if kind == "refused":
            with pytest.raises(ProfileError) as caught:
                check(file, target)
            assert reason in caught.value.message
        elif kind == "ours" or (kind == "retargeted" and name in OUTPUT):
            assert [change.after for change in changes] == [None]
            check(file, target)
        elif kind == "passes":
            assert changes == ()
            check(file, target)


@pytest.mark.slow
def test_the_list_holds_every_option_of_the_installed_fio(tmp_path: Path) -> None:
    done = call_fio("--cmdhelp=all", at=tmp_path)
    words = (line.split() for line in done.stdout.decode().splitlines())
    names = {word[0] for word in words if len(word) > 1 and word[1] == ":"}
    assert len(names) > 150
    assert names - set(listed()) == set()

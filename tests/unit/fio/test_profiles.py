"""Profiles and what `--set` may change in them; what a job file declares; offered load (MR-11)."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import built, call_fio
from tests.unit.report import made
from tests.unit.report.made import row

from diskbench.errors import InvalidValue, MeasurementFailed, ProfileError, UnknownName
from diskbench.fio.audit import audit_output, block_sizes
from diskbench.fio.declared import Case, block_bytes, declared, iodepth, is_set, options_of
from diskbench.fio.jobfile import ALIASES, jobs, parse
from diskbench.fio.offered import requested_iops, resolve, saturation_doubts, share_of, stand_in
from diskbench.fio.output import parse_output
from diskbench.fio.profiles import check_override, parse_profile, shipped_names, shipped_profile
from diskbench.fio.reported import FioJob, FioOutput
from diskbench.fio.rows import measurements
from diskbench.fio.target import FioTarget
from diskbench.fio.template import own_options, render
from diskbench.model.facts import HostFacts
from diskbench.model.spec import Step
from diskbench.store.profile_file import find_profile

HEAD = "title: t\nquestion: q\nsource: s\n"
SHIPPED = [
    "quick", "default", "sweep", "oltp", "wal", "burst", "fill", "first-touch", "snia-iops",
    "gobonniego", "bonnie", "hdparm", "dd", "diskspd", "ebs-randrw", "offered-load", "sla",
    "sustained", "soak", "etcd", "kafka", "rocksdb", "jobs", "blocks", "mixed",
]  # fmt: skip


def test_every_promised_profile_is_shipped_with_title_question_and_source():
    assert set(shipped_names()) == set(SHIPPED)
    for name in SHIPPED:
        profile = shipped_profile(name)
        assert profile.title
        assert profile.question.endswith("?")
        assert len(profile.source) > 20


def test_a_profile_that_is_unknown_missing_or_binary_is_refused_by_name(tmp_path):
    with pytest.raises(UnknownName) as caught:
        find_profile("quik")
    assert "quick" in caught.value.advice
    with pytest.raises(ProfileError, match=r"none\.fio"):
        find_profile(str(tmp_path / "none.fio"))
    path = tmp_path / "x.fio"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProfileError, match="cannot be read"):
        find_profile(str(path))


@pytest.mark.parametrize(
    ("matter", "named"),
    [
        ("colour: red", "colour"),
        ("digest: x", "digest: there is no such field"),
        ("targets: [tape]", "targets"),
        ("targets: []", "targets"),
        ("page_cache: maybe", "page_cache"),
        ("filesystem: btrfs", "filesystem"),
        ("roles: {a: hero}", "roles"),
        ("parameters: {a: {default: 1}}", "help"),
        ("parameters: {a: 1}", "parameters"),
        ("parameters: {A-B: {default: 1, help: h}}", "name"),
        ("parameters: {a: {default: 1, help: h, kind: colour}}", "kind"),
        ("loop: {tracked: a, direction: up}", "direction"),
        ("loop: {tracked: a, direction: read, min_rounds: 9, max_rounds: 6}", "max_rounds"),
        ("drop_caches_every_s: 0", "drop_caches_every_s"),
    ],
)
def test_a_mistake_in_the_front_matter_is_named(matter, named):
    with pytest.raises(ProfileError, match=named):
        parse_profile(f"---\n{HEAD}{matter}\n---\n[a]\nrw=read\n", name="mine")


def test_front_matter_of_another_form_is_named_and_the_digest_changes_with_what_runs_alone():
    wrong = {"title: t\n---": "question", "[1, 2]\n---": "front matter", "a: [\n---": "YAML"}
    for matter, named in {**wrong, "title: t": "no end"}.items():
        with pytest.raises(ProfileError, match=named):
            parse_profile(f"---\n{matter}\n[a]\nrw=read\n", name="mine")
    head = f"{HEAD}parameters: {{n: {{default: 1, help: one}}}}\n"
    text = f"---\n{head}---\n[a]\nrw=read\n"
    digest = parse_profile(text, name="x").digest
    for old, new in (("rw=read", "rw=write"), ("default: 1", "default: 2")):
        assert parse_profile(text.replace(old, new), name="x").digest != digest
    reworded = re.sub(r"(title|question|source|help): \w+", r"\1: said better", text)
    assert reworded.count("said better") == 4
    assert parse_profile(reworded, name="y").digest == digest


TARGET = FioTarget(kind="directory", path="/m")
JOB = "[a]\nrw=read\nsize=${SIZE}\nruntime=180\n"


def test_an_option_or_a_variable_of_its_name_is_set_and_is_among_the_parameters():
    profile = parse_profile(JOB, name="job")
    given = {"SIZE": "1m", "runtime": "1", "time_based": "1"}
    text, parameters = render(profile, given, HostFacts(), TARGET)
    assert parameters == given
    assert own_options(profile, parameters) == (("runtime", "1"), ("time_based", "1"))
    assert "runtime=180" in text
    profile = parse_profile("[a]\nrw=read\nsize=${size}\n", name="job")
    text, parameters = render(profile, {"size": "1m"}, HostFacts(), TARGET)
    assert (text, own_options(profile, parameters)) == ("[a]\nrw=read\nsize=1m\n", ())


@pytest.mark.parametrize(
    ("profile", "name", "value", "told"),
    [
        (parse_profile(JOB, name="job"), "runtme", "1", "did you mean runtime"),
        *((parse_profile(JOB, name="job"), name, "1", "can be set")
          for name in ("exec_prerun", "read_iolog", "directory", "write_lat_log")),
        (parse_profile(JOB, name="job"), "runtime", "1\nexec_prerun=x", "use only letters"),
        (shipped_profile("quick"), "iodepth", "1", "known: passes"),
    ],
)  # fmt: skip
def test_what_a_job_file_may_not_hold_or_a_template_lacks_cannot_be_set(profile, name, value, told):
    with pytest.raises((UnknownName, InvalidValue)) as refused:
        check_override(profile, name, value)
    assert told in refused.value.advice


def test_a_plain_job_file_or_a_file_of_commands_is_a_profile(tmp_path):
    path = tmp_path / "mine.fio"
    path.write_text("[a]\nrw=read\n")
    profile = find_profile(str(path))
    assert (profile.name, profile.is_template) == ("mine", False)
    file = tmp_path / "guide.sh"
    file.write_text("# from a guide\n$ sudo fio --name=a --rw=read --size=1m --runtime=${LONG}\n")
    profile = find_profile(str(file))
    assert list(profile.parameters) == ["LONG"]
    assert "[a]" in profile.template
    assert "; from: fio --name=a" in profile.template


def test_every_section_that_begins_with_global_holds_for_the_jobs_after_it():
    text = "[global-defaults]\nbs=8k\niodepth=7\n[a]\nrw=read\n[global2]\nbs=1m\n[b]\nrw=write\n"
    found = declared(text)
    assert (block_bytes(found["a"], "read"), iodepth(found["a"])) == (8192, 7)
    assert (block_bytes(found["b"], "write"), iodepth(found["b"])) == (1 << 20, 7)


@given(st.sampled_from(sorted(ALIASES)), st.sampled_from(["4", "8k", "1"]))
def test_every_alias_is_its_first_name_in_a_job_file_and_in_fios_json(alias, value):
    name = ALIASES[alias]
    assert declared(f"[j]\nrw=read\n{alias}={value}\n")["j"][name] == value
    job = FioJob(name="j", index=0, group=0, error=0, options={alias: value}, directions={})
    output = FioOutput(where="", version="fio-3.33", jobs=(job,), options={})
    assert options_of(job, output, {})[name] == value


def test_buffered_is_the_inverse_of_direct_and_the_last_one_counts():
    direct = ("buffered=0", "direct", "buffered=1\ndirect=1")
    for lines in (*direct, "", "buffered", "buffered=1", "direct=1\nbuffered=1"):
        options = declared(f"[j]\nrw=read\n{lines}\n")["j"]
        assert is_set(options, "direct") is (lines in direct), lines


@pytest.mark.parametrize("text", ["", "\n", "[global]\nbs=4k\n", "bs=4k\n", "[j\nbs=4k\n"])
def test_what_is_no_job_file_declares_nothing(text):
    assert declared(text) == {}


NOT_IN_EVERY_FIO = {"log_max_value", "ss_interval", "start_delay"}
"""fio 3.33 has an option log_max_value of its own, and takes the others for misspellings."""


@pytest.mark.slow
@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_fio_takes_an_alias_for_the_same_option(alias, tmp_path):
    """fio's own word: its help of both names is the same but for the name."""
    names = (alias, ALIASES[alias])
    helped = (call_fio(f"--cmdhelp={name}", at=tmp_path, check=False) for name in names)
    shown = [done.stdout.decode() for done in helped]
    if alias in NOT_IN_EVERY_FIO:
        return
    assert f"alias: {alias}\n" in shown[0]
    assert shown[0] == shown[1]


def grouped(*, blocks=(4096, 65536), depths=(4, 8), runtime_ns=2 * 10**9):
    """What fio writes of two sections that it sums up: the name of the first, the options of the
    last (tried on fio 3.33)."""
    ios = 1000
    job = {
        "jobname": "a", "groupid": 0, "error": 0, "job_runtime": 2 * runtime_ns // 10**6,
        "job options": {"rw": "randread", "bs": str(blocks[1]), "iodepth": str(depths[1])},
        "read": {"total_ios": 2 * ios, "io_bytes": ios * sum(blocks),
                 "runtime": runtime_ns // 10**6, "clat_ns": {"mean": 1.0, "N": 2 * ios}},
    }  # fmt: skip
    return {"fio version": "fio-3.33", "global options": {"direct": "1"}, "jobs": [job]}


def test_an_entry_that_sums_up_two_sections_has_only_what_they_have_in_common():
    output = parse_output(json.dumps(grouped()).encode(), where="x")
    (job,) = output.jobs
    options = options_of(job, output, {})
    assert (options.get("direct"), options.get("rw"), iodepth(options)) == ("1", None, None)
    step = Step(index=0, name="a", role="measure", job="", expected_s=2)
    (row, _) = measurements(output, run_id="r", step=step)
    assert (row.jobs, row.block_bytes, row.iodepth) == (2, None, None)
    assert {c.name: c.holds for c in audit_output(output, {}, end_known=True)}["bytes"] is None
    output = parse_output(json.dumps(grouped(blocks=(4096, 4096))).encode(), where="x")
    options = options_of(output.jobs[0], output, {})
    assert (block_bytes(options, "read"), iodepth(options)) == (4096, None)
    output = parse_output(json.dumps(grouped()).encode(), where="x")
    job = "[global]\nrw=randread\ngroup_reporting\n[a]\nbs=4k\niodepth=4\n[b]\nbs=64k\niodepth=4\n"
    options = options_of(output.jobs[0], output, declared(job))
    assert (block_bytes(options, "read"), iodepth(options)) == (None, 4)
    assert block_sizes(options, "read") == (4096, 65536)


TEXT = """[capacity]
rw=randread
size=1m
[offered]
stonewall
rw=randread
size=1m
numjobs=8
rate_process=poisson
rate_iops=75% of capacity
"""


def steps(text=TEXT):
    return built(text, FioTarget(kind="directory", path="/mnt/disk")).steps


def result(step, iops):
    one = row(step.name, iops=iops, ios=int(iops * 60), runtime_ns=60_000_000_000)
    return made.result(step, one, one.model_copy(update={"scope": "job"}))


def test_the_rate_is_a_share_of_what_the_earlier_step_reached_in_each_direction():
    capacity, offered = steps()
    assert (capacity.role, offered.role) == ("measure", "offered")
    resolved = resolve(offered, [result(capacity, 4000.0)])
    assert requested_iops(resolved.job) == 3000
    (job,) = jobs(parse(resolved.job))
    assert (job.get("numjobs"), job.get("rate_iops")) == ("8", "375")
    text = TEXT.replace("size=1m\nnumjobs", "rw=randrw\nrwmixread=70\nsize=1m\nnumjobs")
    capacity, offered = steps(text)
    resolved = resolve(offered, [result(capacity, 4000.0)])
    (job,) = jobs(parse(resolved.job))
    assert job.get("rate_iops") == "262,113"
    assert requested_iops(resolved.job) == 3000


def test_of_several_rounds_the_last_counts_and_a_slow_disk_gets_fewer_workers():
    capacity, offered = steps()
    finished = [result(capacity, 4000.0), result(capacity, 400.0)]
    assert requested_iops(resolve(offered, finished).job) == pytest.approx(300, rel=0.03)
    resolved = resolve(offered, [result(capacity, 100.0)])
    assert requested_iops(resolved.job) == pytest.approx(75, rel=0.025)


def test_a_reference_to_a_step_that_is_missing_later_or_reached_nothing_fails_by_name():
    capacity, offered = steps()
    with pytest.raises(MeasurementFailed, match="'capacity'"):
        resolve(offered, [result(capacity, 0.0)])
    with pytest.raises(ProfileError, match="'later'"):
        steps("[a]\nrw=read\nsize=1m\nrate_iops=5% of later\n[later]\nstonewall\nrw=read\nsize=1\n")


def saturated(step, found):
    output = FioOutput(where="x", version="fio-3.33", jobs=(), options={})
    case = Case(step, found.measurements, output, HostFacts())
    return next(iter(saturation_doubts(case)), None)


@pytest.mark.parametrize(
    ("achieved", "verdict"), [(3000.0, False), (2971.0, False), (2969.0, True), (1500.0, True)]
)
def test_less_than_99_percent_of_the_offered_load_is_saturated(achieved, verdict):
    capacity, offered = steps()
    resolved = resolve(offered, [result(capacity, 4000.0)])
    told = saturated(resolved, result(resolved, achieved))
    assert (told is not None) is verdict
    if told:
        assert told.code == "saturated"
        assert f"{achieved:,.0f} of 3,000" in told.message


@pytest.mark.parametrize(("ran_s", "is_saturated"), [(20.3, False), (20.0, True)])
def test_the_wait_for_an_arrival_that_came_late_is_no_load_that_was_not_served(ran_s, is_saturated):
    capacity, offered = steps(TEXT + "time_based\nruntime=20\n")
    resolved = resolve(offered, [result(capacity, 4000.0)])
    served = 3000 * 0.989  # by fio's run time
    rows = [row(resolved.name, iops=served, ios=round(served * ran_s), runtime_ns=ran_s * 1e9)]
    told = saturated(resolved, made.result(resolved, *rows))
    assert (told is not None) is is_saturated


def test_neither_chance_on_a_slow_disk_nor_a_closed_loop_is_called_saturated():
    capacity, offered = steps()
    resolved = resolve(offered, [result(capacity, 100.0)])
    assert saturated(resolved, result(resolved, 73.5)) is None
    assert saturated(resolved, result(resolved, 70.0)) is not None
    assert saturated(capacity, result(capacity, 1.0)) is None


def test_the_notation_is_a_percentage_of_a_step_and_without_it_a_step_stays_as_it_is():
    assert share_of("75% of capacity") == (0.75, "capacity")
    assert share_of("12.5 % of a b") == (0.125, "a b")
    assert share_of("3000") is None
    assert share_of(None) is None
    capacity, _ = steps()
    assert resolve(capacity, []) is capacity
    assert stand_in(capacity) is capacity

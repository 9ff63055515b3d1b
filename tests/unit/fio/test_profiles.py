"""Profiles, and what `--set` may change in them."""

import re

import pytest

from diskbench.errors import InvalidValue, ProfileError, UnknownName
from diskbench.fio.profiles import check_override, parse_profile, shipped_names, shipped_profile
from diskbench.fio.target import FioTarget
from diskbench.fio.template import own_options, render
from diskbench.model.facts import HostFacts
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

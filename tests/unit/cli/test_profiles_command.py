"""`diskbench profiles`: list, show, render, validate."""

import json
from functools import partial

import pytest
from tests.rigs.cli import printed

from diskbench.engine import profile_jobs
from diskbench.errors import InvalidValue, ProfileError, UnknownName
from diskbench.fio.jobfile import parse

PLAIN = "[a]\nrw=write\nsize=1m\n[b]\nstonewall\nrw=read\nsize=1m\n"


@pytest.fixture(autouse=True)
def _ask_fio_again():
    profile_jobs._fio.cache_clear()
    yield
    profile_jobs._fio.cache_clear()


run = partial(printed, "profiles")


@pytest.mark.slow
def test_list_names_every_profile_with_its_time():
    document = json.loads(run("list", "--output", "json"))
    assert document["format"] == 1
    listed = {entry["name"]: entry for entry in document["profiles"]}
    assert 20 < listed["quick"]["expected_s"] < 40
    assert listed["soak"]["expected_s"] >= 86400
    assert "quick" in run("list")


def test_show_tells_question_source_and_parameters():
    shown = run("show", "quick")
    assert "question" in shown
    assert "runtime=4 (duration)" in shown
    assert json.loads(run("show", "quick", "--output", "json"))["name"] == "quick"


def test_render_prints_complete_job_files_one_a_step_and_names_a_device(tmp_path):
    text = run("render", "quick", "--path", str(tmp_path), "--set", "runtime=2")
    assert text.count("; ===== step") == 6
    assert f"directory={tmp_path}/diskbench-TRIAL" in text
    one = run("render", "quick", "--step", "1", "--set", "size=1m")
    assert "; =====" not in one
    assert [s.name for s in parse(one) if not s.is_global] == ["seq-read-1m"]
    text = run("render", "quick", "--device", "/dev/loop99", "--size", "0.5", "--step", "0")
    assert "filename=/dev/loop99" in text
    assert f"size={2**29}" in text
    text = run("render", "offered-load", "--step", "2")
    assert "assume a measured rate" in text
    assert "% of" not in text


@pytest.mark.slow
def test_validate_asks_fio(tmp_path):
    path = tmp_path / "mine.fio"
    path.write_text(PLAIN)
    assert "2 steps; fio " in run("validate", str(path))
    assert "were checked with" in run("validate", "offered-load")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["show", "quik"], UnknownName),
        (["render", "quick", "--set", "runtme=1"], UnknownName),
        (["render", "quick", "--set", "runtime"], InvalidValue),
        (["render", "quick", "--set", "runtime=0"], InvalidValue),
        (["render", "quick", "--size", "0"], InvalidValue),
        (["render", "quick", "--size", "nan"], InvalidValue),
        (["render", "quick", "--step", "99"], InvalidValue),
        (["render", "quick", "--path", "/x", "--device", "/dev/x"], InvalidValue),
        (["render", "quick", "--path", "/x;y"], InvalidValue.__mro__[1]),
        (["validate", "/nonexistent/x.fio"], ProfileError),
    ],
)
def test_bad_input_is_the_users_error(arguments, error):
    with pytest.raises(error) as caught:
        run(*arguments)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("line", ["rw=sideways", "sync=maybe", "iodepth_batch=many"])
def test_what_fio_refuses_is_told_in_its_words(tmp_path, line):
    path = tmp_path / "mine.fio"
    path.write_text(f"[a]\nsize=1m\n{line}\n")
    with pytest.raises(ProfileError, match="fio refuses it") as caught:
        run("validate", str(path))
    assert f"profiles render {path} --step 0" in str(caught.value.advice), "as it was typed"


def test_without_fio_validate_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Exception, match="no fio on this machine") as caught:
        run("validate", "quick")
    assert getattr(caught.value, "exit_code", None) == 2

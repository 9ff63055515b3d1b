"""`diskbench report --post POST --chart NAME [SELECTION]`."""

from functools import partial

import pytest
from tests.books import SHIPPED
from tests.rigs.drawn import marks_in
from tests.rigs.gobonniego_runs import save_trial, trial_of

from diskbench.catalog.published import find_published
from diskbench.cli.main import main
from diskbench.engine.published_outlook import published_outlook
from diskbench.model.ids import short

pytestmark = pytest.mark.slow

RUNS = tuple(f"01kq8z6rj0aaaaaaaaaaaaaa{n:02d}" for n in range(1, 5))
OTHERS = ("01kq8z6rj0bbbbbbbbbbbbbb01",)


@pytest.fixture
def report(call):
    return partial(call, "report", "--post")


@pytest.fixture
def measured(database, evidence):
    """Four runs of ours on gp2 that fall in the third."""
    (gp2,) = find_published("iaas-2018/results/gp2/iops")
    plan = trial_of(RUNS, expectation=published_outlook(gp2, 40, books=SHIPPED))
    save_trial(database, evidence, plan, [3000.0, 2900.0, 100.0, 100.0])
    return plan


def test_the_charts_of_a_post_are_listed_in_80_columns(report):
    code, out, err = report("iaas-2018", "--chart", "list")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("iops ")
    assert "throttling-aws" in out
    assert report("iaas-2018")[1] == out, "without a chart it lists them"


@pytest.mark.parametrize(
    ("ending", "begins"),
    [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("html", b"<!doctype html>")],
)
def test_one_command_draws_a_chart_without_a_store(report, tmp_path, monkeypatch, ending, begins):
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", "sqlite:////nowhere/at/all.db")
    file = tmp_path / f"read.{ending}"
    code, out, err = report("iaas-2018", "--chart", "aws", "-o", str(file))
    assert (code, out, err) == (0, f"{file}\n", "")
    assert file.read_bytes().startswith(begins)


def test_markdown_comes_with_its_picture(report, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = report("iaas-2018", "--chart", "azure", "--format", "md")
    assert code == 0
    assert out.splitlines() == [f"{tmp_path}/iaas-2018-azure.{end}" for end in ("md", "svg")]
    assert "](iaas-2018-azure.svg)" in (tmp_path / "iaas-2018-azure.md").read_text()


@pytest.mark.usefixtures("measured")
def test_own_runs_are_laid_over_the_disk_that_they_match(report, tmp_path):
    file = tmp_path / "iops.svg"
    code, _, err = report("iaas-2018", "--chart", "iops", "last", "-o", str(file))
    assert (code, err) == (0, "")
    (ours,) = [words for words in marks_in(file.read_text()) if words.startswith("run ")]
    assert all(run in ours for run in RUNS), "with a run its whole trial is shown"
    assert "AWS gp2 · AWS us-east-1 c4.xlarge" in ours
    assert "100 IOPS · 100 IOPS to 3,000 IOPS · mean of n = 2 runs" in ours
    assert "1,525" not in ours, "no mean spans a cliff"


@pytest.mark.usefixtures("measured")
def test_own_runs_are_drawn_run_after_run_over_the_fall_of_the_post(report, tmp_path):
    file = tmp_path / "fall.svg"
    code, _, _ = report("iaas-2018", "--chart", "throttling-aws", "last", "-o", str(file))
    assert code == 0
    text = file.read_text()
    ours = tuple(f"run {short(run)}" for run in RUNS)
    marks = [words for words in marks_in(text) if words.startswith(ours)]
    assert [words.split(" · ")[-1] for words in marks] == [
        "3,000 IOPS", "2,900 IOPS", "100 IOPS", "100 IOPS",
    ]  # fmt: skip
    cliffs = ("the post: run 34", "predicted: run 34", "predicted: run 34 (yours)", "found: run 3")
    for label in cliffs:
        assert label in text


@pytest.mark.usefixtures("measured")
def test_own_runs_stand_beside_their_own_promise_and_price(report, tmp_path):
    for chart, words in (("promised", "100 of 100 (1.00×)"), ("price", "$2.00 a month")):
        file = tmp_path / f"{chart}.svg"
        assert report("iaas-2018", "--chart", chart, "last", "-o", str(file))[0] == 0
        assert words in next(one for one in marks_in(file.read_text()) if one.startswith("run 01"))


def test_emulated_runs_are_laid_over_when_asked_and_marked(report, database, evidence, tmp_path):
    save_trial(database, evidence, trial_of(OTHERS, emulated=True), [500.0])
    file = tmp_path / "iops.svg"
    code, _, err = report("iaas-2018", "--chart", "iops", "last", "-o", str(file))
    assert (code, "is emulated: it is not a figure of a cloud's disk" in err) == (2, True), err
    assert "--include-emulated" in err
    asked = ("iaas-2018", "--chart", "iops", "last", "--include-emulated", "-o", str(file))
    assert report(*asked)[0] == 0
    assert "yours: emulated" in file.read_text()
    asked = ("iaas-2018", "--chart", "throttling-aws", "last", "--include-emulated")
    assert report(*asked, "-o", str(file))[0] == 0
    assert "yours: emulated" in file.read_text()


def test_options_of_published_charts_need_a_post(capsys):
    assert main(["report", "--include-emulated"]) == 2
    assert "--post" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [("iaas-2019", "--chart", "iops"), ("iaas-2018", "--chart", "x")]
)
def test_unknown_posts_and_charts_are_user_errors(report, arguments):
    code, _, err = report(*arguments)
    assert (code, "unknown" in err) == (2, True), err
    assert ("--chart list" in err) == ("x" in arguments)

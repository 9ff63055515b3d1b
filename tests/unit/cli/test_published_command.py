"""`diskbench published`: list and show; `diskbench compare RUN… --published [ID]`."""

import json
import re
from functools import partial
from importlib import resources

import jsonschema
import pytest
from tests.rigs.gobonniego_runs import save_trial, trial_of
from tests.rigs.plans import RUN_IDS

from diskbench.catalog.published import load_published

ALL = load_published()
POSTS = resources.files("diskbench.catalog") / "data/published"


@pytest.fixture
def run(call):
    return partial(call, "published")


def test_list_has_a_line_for_every_figure_in_80_columns_and_marks_what_is_doubted(run):
    code, out, err = run("list")
    assert (code, err) == (0, "")
    assert len([line for line in out.splitlines() if line[:1] in ("!", " ")]) == len(ALL)
    assert max(map(len, out.splitlines())) <= 80
    _, out, _ = run("list", "--post", "san-vs-local")
    (cached,) = [line for line in out.splitlines() if "325,000 IOPS" in line]
    (trusted,) = [line for line in out.splitlines() if "2,573 IOPS" in line]
    assert cached.startswith("! ")
    assert trusted.startswith("  ")


def test_list_filters_and_unknown_names_get_the_nearest(run):
    _, out, _ = run("list", "--provider", "aws", "--disk", "gp2", "--post", "iaas-2018")
    assert [line.split()[1] for line in out.splitlines()[1:]] == [
        "results/gp2/iops", "results/gp2/read", "results/gp2/write",
    ]  # fmt: skip
    code, out, err = run("list", "--post", "iaas")
    assert (code, out) == (2, "")
    assert "did you mean iaas-2018" in err
    code, _, err = run("show", "iaas-2018/results/gp3")
    assert (code, "iaas-2018/results/gp2" in err) == (2, True), err


@pytest.mark.slow
@pytest.mark.parametrize("command", [("list",), ("show", "iaas-2018"), ("list", "--disk", "io1")])
def test_json_meets_its_published_schema(run, call, command):
    code, out, _ = run(*command, "--output", "json")
    assert code == 0
    document = json.loads(out)
    jsonschema.validate(document, json.loads(call("schema", "published")[1]))
    assert document["format"] == 1
    assert document["published"]


@pytest.mark.parametrize("name", sorted({f.seed for f in ALL}))
def test_show_tells_all_within_80_columns(run, name):
    code, out, _ = run("show", name)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("    printed ") == len([f for f in ALL if f.seed == name])


def test_show_tells_samples_method_doubt_and_what_repeats_it(run):
    _, out, _ = run("show", "ebs-types/m3.medium-write/root-gp2/write")
    text = " ".join(out.split())
    assert "1200, 65.3, 246, 81.8, 383" in text
    assert "mean of 5" in text
    assert "if=/dev/zero" in text
    assert "served-from-cache" in text
    assert "profile dd" in text
    assert "size unknown" in text


def test_a_post_becomes_trials_once_with_the_verdicts_that_its_figures_have(call):
    ids = call.done("results", "import", "published:iaas-2018").split()
    assert call.done("results", "import", "published:iaas-2018").split() == ids
    theirs = call.json("published", "show", "iaas-2018")
    figures = {(of["id"].rpartition("/")[0], of["step"]): of for of in theirs["published"]}
    for trial in ids:
        (run,) = call.json("results", "show", trial)["runs"]
        assert (run["started_at"], run["measured_at"], run["fio_version"]) == (None, None, None)
        for step, verdict in zip(run["steps"], run["verdicts"], strict=True):
            (row,) = step["measurements"]
            figure = figures.pop((run["labels"]["published"], step["step"]))
            assert row[figure["metric"]] == figure["value"]
            assert (row["ios"], row["bytes"], row["p99_ns"]) == (None, None, None)
            judged = {**verdict, "run_id": "", "step_index": 0}
            assert judged == theirs["verdicts"][figure["id"]], figure["id"]
    assert figures == {}


def test_an_imported_post_is_listed_shown_reported_exported_and_compared_as_any_trial(call, here):
    standard, gp2, *_ = call.done("results", "import", "published:iaas-2018").split()
    listed = call.done("results", "list", "published=iaas-2018/results/gp2")
    assert re.search(r"no date +gp2 20 GiB us-east-1 +gobonniego +3,634 IOPS ‡", listed), listed
    shown = call.done("results", "show", gp2, "-v")
    assert "iaas-2018/results/gp2  [imported, published, unverified]" in shown
    for of in (
        '"Benchmarking the Disk Speed of IaaSes", 2018-03-16',
        "table results",
        "000_2a79cfb",
    ):
        assert of in " ".join(shown.split())
    call.done("report", gp2, "-o", "gp2.md")
    assert "compared with the documented limits of aws:gp2:20" in (here / "gp2.md").read_text()
    compared = call.done("compare", standard, gp2)
    assert "differ in disk standard → gp2" in compared
    assert re.search(r"rand-512-9to1 mixed +IOPS +1,913 +3,634", compared)
    assert "import/published" in call.done("results", "export", gp2)
    beside = call.done("compare", gp2, "--published", "--include-emulated")
    assert len(re.findall(r"(\d[\d,.]* (?:IOPS|MB/s)) +\1 +1$", beside, re.MULTILINE)) == 3
    call.done("publish", "site", gp2)


def test_samples_are_runs_and_latencies_alone_are_shown(call, here):
    ids = call.done("results", "import", "published:ebs-types", "published:azure-caching").split()
    assert len(ids) == 28 + 5
    of_trial = call.json("results", "list", "published=ebs-types/m3.medium-write/st1")["runs"]
    assert sorted(run["run_index"] for run in of_trial) == [0, 1, 2, 3, 4]
    assert re.search(r"read +– +– +11.2 ms +– +300 ms", call.done("results", "show", ids[28]))
    (here / "own.yaml").write_text((POSTS / "ebs-fio.yaml").read_text().replace("5000", "5001"))
    assert len(call.done("results", "import", "own.yaml").split()) == 2
    assert "ebs-fio" in call.refused("results", "import", "published:ebs")


OTHER = ("01kq8z6rj0bbbbbbbbbbbbbbb1",)


@pytest.fixture
def keep(database, evidence):
    """Save a trial on another machine than the post's, whose runs all measured the same."""

    def save(disk="gp2", *, run_ids=RUN_IDS, verified=True):
        plan = trial_of(run_ids, disk=disk, machine="c5.xlarge", verified=verified)
        save_trial(database, evidence, plan, [1817.0] * len(run_ids))

    return save


@pytest.fixture
def compare(call):
    return lambda *arguments: call("compare", *arguments, "--published")


def test_a_run_is_set_beside_the_figures_of_the_same_disk(keep, compare):
    keep()
    code, out, err = compare("last")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert f"run {RUN_IDS[0]} and 1 more of its trial" in out
    assert "iaas-2018/results/gp2" in out
    (written,) = [line.split() for line in out.splitlines() if "seq-write-64k" in line]
    assert written[-5:] == ["103", "MB/s", "90.0", "MB/s", "0.874"]
    (random,) = [line.split() for line in out.splitlines() if "rand-512-9to1" in line]
    assert random[-5:] == ["3,634", "IOPS", "1,817", "IOPS", "0.5"]
    assert "c4.xlarge, ours on c5.xlarge" in out
    assert "GoBonnieGo 1.0.7 itself" in " ".join(out.split())


def test_json_meets_its_published_schema_and_alone_leaves_the_other_runs_out(keep, compare, call):
    keep()
    document = json.loads(compare("last", "--output", "json")[1])
    jsonschema.validate(document, json.loads(call("schema", "compare-published")[1]))
    (trial,) = document["trials"]
    assert {one["figure"]["step"]: one["ratio"] for one in trial["figures"]} == {
        "rand-512-9to1": pytest.approx(0.5),
        "seq-read-64k": pytest.approx(90 / 92),
        "seq-write-64k": pytest.approx(90 / 103),
    }
    assert trial["differences"]
    _, out, _ = compare(RUN_IDS[1], "--alone", "--output", "json")
    (trial,) = json.loads(out)["trials"]
    assert (trial["run_ids"], {one["runs"] for one in trial["figures"]}) == ([RUN_IDS[1]], {1})


def test_where_nothing_matches_it_says_why_and_a_figure_that_is_named_is_taken(keep, compare):
    keep("gp3")
    code, out, _ = compare("last")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "nothing published matches: no published figure has this workload on gp3 of aws" in out
    assert "iaas-2018/results/gp2" in out
    assert "one that is named after the run is used" in out
    code, out, _ = compare("last", "iaas-2018/results/pd-ssd-20/read")
    assert (code, "27.0 MB/s" in out) == (0, True), out
    assert "90.0 MB/s" in out
    assert "theirs is pd-ssd 20 GiB, ours gp3" in out


def test_a_run_that_says_nothing_about_a_cloud_is_left_out_unless_asked_for(keep, compare):
    keep(verified=False)
    code, out, err = compare("last")
    assert (code, out) == (2, "")
    assert "emulated, unverified" in err
    assert "--include-emulated" in err
    code, out, _ = compare("last", "--include-emulated")
    assert (code, "[emulated, unverified]" in out) == (0, True), out
    assert "ours is emulated" in out
    keep(run_ids=OTHER)
    code, out, err = compare(RUN_IDS[0], *OTHER, "--output", "json")
    assert code == 0
    document = json.loads(out)
    assert [trial["trial_id"] for trial in document["trials"]] == [OTHER[0]]
    assert document["left_out"] == list(RUN_IDS)
    assert RUN_IDS[0] in err


@pytest.mark.parametrize("name", ["01zz", "iaas-2018/results/gp3"])
def test_unknown_runs_and_figures_are_refused(keep, compare, name):
    keep()
    code, out, err = compare(name)
    assert (code, out) == (2, "")
    assert name in err


def test_without_published_it_says_what_to_add(call):
    assert "--published" in call.refused("compare", "last")

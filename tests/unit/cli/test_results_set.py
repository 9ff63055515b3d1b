"""`results show` of a matrix, a label, dates: what replicates say together."""

import csv
import io
import json
import random
from types import SimpleNamespace

import jsonschema
import pytest
from tests.rigs.coursed import coursed
from tests.rigs.replicates import measured
from tests.rigs.synthetic import Noise, bucket

from diskbench.model.campaign import Replicates
from diskbench.store.document import model_schema

BURST = bucket(870_000, 3000, 100, 900, Noise(sd=0.01), seed=1)


@pytest.fixture
def call(call):
    def run(*arguments, code=0):
        ended, out, err = call("results", *arguments)
        assert ended == code
        return SimpleNamespace(out=out, err=err)

    return run


def drawn(count, sd=0.01, seed=1):
    draw = random.Random(seed)
    return [3000 * (1 + draw.gauss(0, sd)) for _ in range(count)]


@pytest.mark.slow
def test_a_set_of_logs_alone_says_why_it_has_no_figures(call, tmp_path):
    for iops in (3000, 2900):
        log = tmp_path / f"x{iops}_iops.1.log"
        log.write_text("".join(f"{second}000, {iops}, 0, 0, 0\n" for second in range(1, 90)))
        call("import", str(log), "--label", "team=x")
    told = call("show", "team=x").out
    assert "team=x: 0 trials" in told
    assert "logs without fio's JSON have only levels" in told


@pytest.mark.slow
def test_ten_replicates_are_a_median_with_its_interval(database, call):
    trials = measured(database, drawn(10), labels=[("disk", "gp2")])
    out = call("show", "disk=gp2").out
    assert "disk=gp2: 10 trials" in out
    assert "aws eu-central-1 m7i.large gp2 20 GiB, quick" in out
    assert "IOPS, n = 10), CoV 1.0 %" in out
    assert all(trial not in out for trial in trials)


@pytest.mark.slow
def test_trials_and_matrices_are_named_by_their_ids_and_beginnings(database, call):
    trials = measured(database, drawn(10))
    campaign = json.loads(call("show", "--output", "json", trials[3]).out)["runs"][0]["campaign_id"]
    for name in (campaign, campaign[:14]):
        assert f"{name}: 10 trials" in call("show", name).out
    (run,) = json.loads(call("show", "--output", "json", trials[3]).out)["runs"]
    assert run["trial_id"] == trials[3]


def test_one_trial_of_several_says_where_they_stand_together(database, call):
    trials = measured(database, drawn(3))
    (run,) = json.loads(call("show", "--output", "json", trials[1]).out)["runs"]
    told = f"one of 3 trials; together: diskbench results show {run['campaign_id'][-8:]}"
    assert told in call("show", trials[1]).out
    (alone,) = measured(database, drawn(1), campaign=1)
    assert "together:" not in call("show", alone).out


@pytest.mark.slow
def test_the_document_of_a_set_holds_all_of_it(database, call):
    measured(database, drawn(10), labels=[("disk", "gp2")], block_bytes=2**20)
    found = json.loads(call("show", "disk=gp2", "--output", "json").out)
    jsonschema.validate(found, model_schema(Replicates, "replicates"))
    assert (found["format"], found["trials"]) == (1, 10)
    (line,) = found["lines"]
    assert (line["metric"], line["replicated"]["machines"]) == ("bytes_per_s", 10)
    assert line["replicated"]["interval"]["coverage"] >= 0.95


@pytest.mark.slow
def test_trials_on_which_other_things_were_found_stand_apart_unless_pooled(database, call):
    measured(database, drawn(6), labels=[("disk", "gp2")])
    other = {"kernel": "6.5.0"}
    measured(database, drawn(2), labels=[("disk", "gp2")], first=6, facts=other)
    out = call("show", "disk=gp2").out
    assert "read read, on kernel 6.1.0" in out
    assert "read read, on kernel 6.5.0" in out
    assert "n = 8" in call("show", "disk=gp2", "--pool", "kernel").out
    assert "unknown fact 'kernle'" in call("show", "disk=gp2", "--pool", "kernle", code=2).err


@pytest.mark.slow
def test_the_level_after_a_cliff_counts_and_its_verdict_stands_below(database, evidence, call):
    for number in range(2):
        coursed(database, evidence, BURST, number=number, labels=[("s", "a")])
    out = call("show", "s=a").out
    assert "dropped in 2 of 2 trials: their figure is that of the baseline," in out
    assert "1,067" not in out
    assert "    = limited by burst credit used up, trusted\n" in call("show", "s=a").out
    (line,) = json.loads(call("show", "s=a", "--output", "json").out)["lines"]
    assert line["verdict"]["trust"] == "yes"
    assert line["verdict"]["replicated"]["median"] == pytest.approx(100, rel=0.05)


def test_csv_marks_the_level_after_a_cliff_and_no_step_without_one(database, evidence, call):
    coursed(database, evidence, BURST)
    (row,) = csv.DictReader(io.StringIO(call("export").out))
    assert row["after_cliff"] == "baseline"
    assert float(row["iops"]) == pytest.approx(100, rel=0.05)
    assert (row["lat_mean_ns"], int(row["ios"])) == ("", int(sum(BURST)))
    measured(database, [3000.0])
    assert ",3000.0," in call("export").out
    assert call("export").out.splitlines()[0].endswith(",job_error,after_cliff")

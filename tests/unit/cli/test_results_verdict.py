"""`results show`: verdicts, figures that agree, drawings, what replicates say together."""

import csv
import io
import json
import os
import pty
import random
import subprocess
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from tests.rigs.cli import Cli, invoked
from tests.rigs.coursed import coursed
from tests.rigs.imported_disks import gobonniego_file
from tests.rigs.replicates import measured
from tests.rigs.synthetic import Noise, bucket, flat

from diskbench.cli import main
from diskbench.model.campaign import Replicates
from diskbench.store.document import model_schema, results_schema

FELL_IN = 34
"""The run in which the 20 GiB gp2 of a post of 2018 collapsed; the figures below are its."""


@pytest.fixture
def gobonniego(tmp_path, diskbench):
    """Imports a file of GoBonnieGo's with 40 runs; returns the id of the first."""
    (made,) = gobonniego_file(tmp_path, fell_in=FELL_IN)
    (tmp_path / made).rename(tmp_path / "gp2.json")
    return diskbench("results", "import", "gp2.json").split()[0]


def verdicts(document, step):
    return [one for run in document["runs"] for one in run["verdicts"] if one["step"] == step]


@pytest.mark.slow
def test_a_collapse_between_two_runs_is_a_cliff_whatever_disk_it_was(diskbench, gobonniego):
    document = json.loads(diskbench("results", "show", gobonniego, "--output", "json"))
    jsonschema.validate(document, results_schema())
    found = verdicts(document, "iops")
    kinds = [one["stretches"][one["main"]]["kind"] for one in found]
    assert kinds == ["burst"] * (FELL_IN - 1) + ["baseline"] * (41 - FELL_IN)
    assert found[-1]["stretches"][0]["limiter"]["name"] == "credit"
    assert found[-1]["stretches"][0]["promised"] is None


def log(path, series, **factors):
    for kind, factor in factors.items():
        rows = (f"{n * 1000}, {round(v * factor)}, 0, 0, 0, 0\n" for n, v in enumerate(series, 1))
        (path / f"disk_{kind}.1.log").write_text("".join(rows))


@pytest.fixture
def judged(tmp_path, diskbench):
    """Imports a series as fio's logs of these kinds, with options; returns its verdict."""

    def judge(series, *options, asked=(), **factors):
        log(tmp_path, series, **factors)
        diskbench("results", "import", *(f"disk_{kind}.1.log" for kind in factors), *options)
        shown = json.loads(diskbench("results", "show", "last", *asked, "--output", "json"))
        [found] = verdicts(shown, "disk")
        return found

    return judge


GP2 = ("--as-disk", "aws:gp2:20")


def test_a_log_of_an_hour_is_judged_phase_by_phase(judged):
    series = bucket(900_000, 3000, 100, 900, Noise(sd=0.0), seed=1)
    found = judged(series, *GP2, iops=1, bw=4)
    burst, baseline = found["stretches"]
    assert (burst["kind"], burst["limiter"]["name"]) == ("burst", "disk-iops")
    assert (baseline["kind"], baseline["limiter"]["name"]) == ("baseline", "credit")
    assert baseline["promised"]["iops"] == 100
    assert baseline["ratio"] == pytest.approx(1.0, abs=0.01)
    assert (found["main"], found["trust"]) == (1, "yes")


@pytest.mark.slow
def test_the_report_holds_an_imported_run_against_its_disk_too(tmp_path, diskbench):
    log(tmp_path, bucket(5_400_000, 3000, 100, 2100, Noise(sd=0.0), seed=1), iops=1, bw=4)
    diskbench("results", "import", "disk_iops.1.log", "disk_bw.1.log", "--as-disk", "aws:gp2:20")
    diskbench("report", "-q", "-o", "report.html", "-o", "report.md")
    words = (tmp_path / "report.md").read_text()
    assert "compared with the documented limits of aws:gp2" in words
    assert "nothing is promised" not in words
    assert "(100% of the promised 100 IOPS)" in words
    burst, baseline = (line for line in words.splitlines() if line.startswith("| disk |"))
    assert "| 100% (no interval (n = 1)) | disk IOPS | yes |" in burst
    assert "| 100% (no interval (n = 1)) | burst credit used up | yes |" in baseline
    page = (tmp_path / "report.html").read_text()
    assert "measured / promised" in page
    for words in ("cliff 31:02", "predicted 31:02", "burst 3,000", "baseline 100"):
        assert f">{words}</" in page, words


def test_a_log_of_latencies_alone_gives_no_figure_to_trust(judged):
    found = judged([400_000.0] * 89, clat=1)
    assert found["stretches"][0]["iops"] is None
    assert (found["trust"], [one["code"] for one in found["reasons"]]) == ("with care", ["no-rate"])


def test_a_disk_at_baseline_is_not_held_against_a_burst_and_one_ending_in_it_is_burst_only(judged):
    found = judged(flat(100, 500, Noise(sd=0.02), seed=1), asked=GP2, iops=1)
    assert found["stretches"][0]["promised"]["iops"] == 100
    assert found["stretches"][0]["limiter"]["name"] == "disk-iops"

    found = judged(flat(3000, 500, Noise(sd=0.02), seed=1), *GP2, iops=1, bw=4)
    assert found["stretches"][0]["kind"] == "burst"
    assert [one["code"] for one in found["reasons"]] == ["burst-only"]


def test_the_word_of_an_owner_stands_where_no_catalogue_knows_the_disk(judged):
    found = judged(flat(4900, 500, Noise(sd=0.02), seed=1), "--promise", "iops=5000", iops=1)
    assert found["stretches"][0]["promised"]["source"] == "--promise"
    assert found["stretches"][0]["limiter"]["name"] == "disk-iops"


@pytest.mark.parametrize(
    "words",
    [
        ("--as-disk", "gp2:20"), ("--as-disk", "aws:gp2:much"), ("--as-disk", "aws:no-such:20"),
        ("--as-disk", "azure:Premium_LRS:256:cache=perhaps"),
        ("--as-disk", "aws:gp2:20:colour=red"), ("--as-machine", "c4.xlarge"),
        ("--promise", "iops=fast"),
    ],
)  # fmt: skip
def test_a_disk_that_nobody_knows_is_refused_before_anything_is_kept(tmp_path, diskbench, words):
    log(tmp_path, flat(100, 100, Noise(sd=0.0), seed=1), iops=1)
    diskbench("results", "import", "disk_iops.1.log", *words, code=2)
    assert json.loads(diskbench("results", "list", "--output", "json"))["runs"] == []


@pytest.fixture
def typed(tmp_path):
    stores = [
        "--database-url", f"sqlite:///{tmp_path}/d.db", "--evidence-url", f"file://{tmp_path}/e",
    ]  # fmt: skip

    def run(*args):
        return invoked("results", *args, *stores)

    return run


def place(folder, *, size=4096, logged=1000):
    stats = {
        "io_bytes": size * 3000, "total_ios": 3000, "runtime": 3000, "iops": 1000.0,
        "bw_bytes": size * 1000, "clat_ns": {"N": 3000, "mean": 10.0, "min": 9, "max": 20},
    }  # fmt: skip
    options = {"rw": "randread", "bs": "4k", "write_iops_log": "x"}
    job = {"jobname": "a", "groupid": 0, "error": 0, "job options": options, "read": stats}
    root = {"fio version": "fio-3.33", "timestamp_ms": 1_600_000_000_000, "jobs": [job]}
    folder.mkdir()
    (folder / "r.json").write_text(json.dumps(root))
    rows = (f"{1000 * at}, {logged}, 0, 0, 0\n" for at in (1, 2, 3))
    (folder / "x_iops.1.log").write_text("".join(rows))
    return str(folder)


@pytest.mark.slow
def test_a_sound_import_is_said_to_hold(typed, tmp_path):
    done = typed("import", place(tmp_path / "in"))
    assert done.exit_code == 0
    line = "audit passed: bytes, rate, end, logs; not checked: percentiles"
    assert done.stderr == (
        "1 run of 1 step in 1 trial · bytes = I/Os × block ✓ · logs sum to JSON ✓ · "
        "date 2020-09-13 ✓\n"
    )
    assert line in typed("show", "-v").stdout
    (run,) = json.loads(typed("show", "--output", "json").stdout)["runs"]
    assert {one["name"]: one["holds"] for one in run["audits"][0]["checks"]} == {
        "bytes": True, "rate": True, "percentiles": None, "end": True, "logs": True,
    }  # fmt: skip
    assert not run["steps"][0]["warnings"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"size": 8192}, "bytes = I/Os × block"), ({"logged": 300}, "logs sum to JSON")],
)
def test_what_does_not_hold_is_named_and_makes_the_row_doubtful(typed, tmp_path, wrong, words):
    name = words.split()[0]
    (said,) = typed("import", place(tmp_path / "in", **wrong)).stderr.splitlines()
    assert f"{words} ✗ in step a" in said
    (run,) = json.loads(typed("show", "--output", "json").stdout)["runs"]
    (doubt,) = [w for w in run["steps"][0]["warnings"] if w["code"] == "figures-disagree"]
    assert doubt["message"].startswith(f"{name}: ")
    assert run["verdicts"][0]["trust"] == "with care"
    assert f"audit failed: {name} in step a" in typed("show").stdout


CLIFF = bucket(900_000, 3000, 100, 900, Noise(sd=0.0), seed=1)


@pytest.fixture
def shown(here, monkeypatch, capfd):
    """Import a series as fio's log; returns what `results show` with these flags prints."""
    monkeypatch.setenv("COLUMNS", "80")

    def show(series, *flags):
        rows = (f"{n * 1000}, {round(v)}, 0, 0, 0, 0\n" for n, v in enumerate(series, 1))
        (here / "gp2_iops.1.log").write_text("".join(rows))
        assert main.main(["results", "import", "gp2_iops.1.log"]) == 0
        capfd.readouterr()
        assert main.main(["results", "show", "-v", *flags]) == 0
        return capfd.readouterr().out

    return show


def on_a_terminal(**environment):
    """What `results show` writes to a terminal of 80 columns, its newlines as in a file."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", **environment}
    process = Cli(Path.cwd()).start(
        "results", "show", "-v", stdout=theirs, stderr=subprocess.PIPE, env=environ
    )
    os.close(theirs)
    chunks = []
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux: the other end was closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(ours)
    assert process.wait() == 0
    return b"".join(chunks).decode().replace("\r\n", "\n")


def test_each_step_has_a_line_of_blocks_and_plots_are_drawn_when_asked_for(shown):
    [line] = [one for one in shown(CLIFF).splitlines() if "100 to 3,000" in one]
    assert line.split()[:2] == ["gp2", "read"]
    assert "█" in line
    assert "▁" in line
    out = shown(CLIFF, "--plot")
    plot = out[out.index("gp2: IOPS over 900 s") :].splitlines()
    assert plot[-1] == "│ cliff at 5:10: 3,000 → 100"
    assert max(map(len, plot)) <= 80
    assert "\x1b" not in out
    assert shown(CLIFF, "--plot", "--output", "json").startswith("{")


def test_where_there_is_no_terminal_nothing_is_drawn_unasked(shown):
    assert "IOPS over" not in shown(CLIFF)


@pytest.mark.slow
def test_on_a_terminal_a_fall_is_drawn_unasked_in_colours_and_one_level_is_not(shown):
    shown(CLIFF)
    assert "\x1b[36m" in on_a_terminal()
    drawn = on_a_terminal(NO_COLOR="1", PYTHONIOENCODING="ascii")
    assert "IOPS over 900 s" in drawn
    assert ("\x1b[36m" not in drawn, drawn.isascii()) == (True, True)
    shown(flat(500, 400, Noise(sd=0.02), seed=1))
    assert "IOPS over" not in on_a_terminal()


BURST = bucket(870_000, 3000, 100, 900, Noise(sd=0.01), seed=1)


@pytest.fixture
def ask(call):
    def run(*arguments, code=0):
        ended, out, err = call("results", *arguments)
        assert ended == code
        return SimpleNamespace(out=out, err=err)

    return run


def drawn(count, sd=0.01, seed=1):
    draw = random.Random(seed)
    return [3000 * (1 + draw.gauss(0, sd)) for _ in range(count)]


@pytest.mark.slow
def test_a_set_of_logs_alone_says_why_it_has_no_figures(ask, tmp_path):
    for iops in (3000, 2900):
        log = tmp_path / f"x{iops}_iops.1.log"
        log.write_text("".join(f"{second}000, {iops}, 0, 0, 0\n" for second in range(1, 90)))
        ask("import", str(log), "--label", "team=x")
    told = ask("show", "team=x").out
    assert "team=x: 0 trials" in told
    assert "logs without fio's JSON have only levels" in told


@pytest.mark.slow
def test_ten_replicates_are_a_median_with_its_interval(database, ask):
    trials = measured(database, drawn(10), labels=[("disk", "gp2")])
    out = ask("show", "disk=gp2").out
    assert "disk=gp2: 10 trials" in out
    assert "aws eu-central-1 m7i.large gp2 20 GiB, quick" in out
    assert "IOPS, n = 10), CoV 1.0 %" in out
    assert all(trial not in out for trial in trials)


@pytest.mark.slow
def test_trials_and_matrices_are_named_by_their_ids_and_beginnings(database, ask):
    trials = measured(database, drawn(10))
    campaign = json.loads(ask("show", "--output", "json", trials[3]).out)["runs"][0]["campaign_id"]
    for name in (campaign, campaign[:14]):
        assert f"{name}: 10 trials" in ask("show", name).out
    (run,) = json.loads(ask("show", "--output", "json", trials[3]).out)["runs"]
    assert run["trial_id"] == trials[3]


def test_one_trial_of_several_says_where_they_stand_together(database, ask):
    trials = measured(database, drawn(3))
    (run,) = json.loads(ask("show", "--output", "json", trials[1]).out)["runs"]
    told = f"one of 3 trials; together: diskbench results show {run['campaign_id'][-8:]}"
    assert told in ask("show", trials[1]).out
    (alone,) = measured(database, drawn(1), campaign=1)
    assert "together:" not in ask("show", alone).out


@pytest.mark.slow
def test_the_document_of_a_set_holds_all_of_it(database, ask):
    measured(database, drawn(10), labels=[("disk", "gp2")], block_bytes=2**20)
    found = json.loads(ask("show", "disk=gp2", "--output", "json").out)
    jsonschema.validate(found, model_schema(Replicates, "replicates"))
    assert (found["format"], found["trials"]) == (1, 10)
    (line,) = found["lines"]
    assert (line["metric"], line["replicated"]["machines"]) == ("bytes_per_s", 10)
    assert line["replicated"]["interval"]["coverage"] >= 0.95


@pytest.mark.slow
def test_trials_on_which_other_things_were_found_stand_apart_unless_pooled(database, ask):
    measured(database, drawn(6), labels=[("disk", "gp2")])
    other = {"kernel": "6.5.0"}
    measured(database, drawn(2), labels=[("disk", "gp2")], first=6, facts=other)
    out = ask("show", "disk=gp2").out
    assert "read read, on kernel 6.1.0" in out
    assert "read read, on kernel 6.5.0" in out
    assert "n = 8" in ask("show", "disk=gp2", "--pool", "kernel").out
    assert "unknown fact 'kernle'" in ask("show", "disk=gp2", "--pool", "kernle", code=2).err


@pytest.mark.slow
def test_the_level_after_a_cliff_counts_and_its_verdict_stands_below(database, evidence, ask):
    for number in range(2):
        coursed(database, evidence, BURST, number=number, labels=[("s", "a")])
    out = ask("show", "s=a").out
    assert "dropped in 2 of 2 trials: their figure is that of the baseline," in out
    assert "1,067" not in out
    assert "    = limited by burst credit used up, trusted\n" in ask("show", "s=a").out
    (line,) = json.loads(ask("show", "s=a", "--output", "json").out)["lines"]
    assert line["verdict"]["trust"] == "yes"
    assert line["verdict"]["replicated"]["median"] == pytest.approx(100, rel=0.05)


def test_csv_marks_the_level_after_a_cliff_and_no_step_without_one(database, evidence, ask):
    coursed(database, evidence, BURST)
    (row,) = csv.DictReader(io.StringIO(ask("export").out))
    assert row["after_cliff"] == "baseline"
    assert float(row["iops"]) == pytest.approx(100, rel=0.05)
    assert (row["lat_mean_ns"], int(row["ios"])) == ("", int(sum(BURST)))
    measured(database, [3000.0])
    assert ",3000.0," in ask("export").out
    assert ask("export").out.splitlines()[0].endswith(",job_error,after_cliff")

"""`results show` ends in a verdict, of imported runs by the disk that is named for them."""

import json

import jsonschema
import pytest
from tests.rigs.imported_disks import gobonniego_file
from tests.rigs.synthetic import Noise, bucket, flat

from diskbench.store.document import results_schema

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


def test_a_disk_at_its_baseline_is_not_held_against_a_burst_and_one_that_ends_in_it_is_burst_only(
    judged,
):
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

"""The public API for notebooks, and exports as JSON, CSV and in the text formats of metrics."""

import csv
import io
import json
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import polars as pl
import pytest
from tests.rigs.api_page import documented
from tests.rigs.database import taken_in
from tests.rigs.measured import recorded
from tests.rigs.plans import RUN_IDS, make_plan, make_step, run_fio, save_plan
from tests.rigs.runs import a_run

import diskbench
from diskbench.errors import StoreUnavailable, UnknownName
from diskbench.model.run import MEASURED_FIELDS, RUN_FIELDS
from diskbench.store import archive
from diskbench.store.document import results_document
from diskbench.store.export import MetricsFormat, benchstat_lines, csv_text, metrics_text
from diskbench.store.export import json_text as text_of
from diskbench.store.frames import series_frame
from diskbench.store.run_row import run_row
from diskbench.store.stored_series import LATENCIES_FILE, SERIES_FILE, latency_seconds

RUN = RUN_IDS[0]
LOGGED = (
    "[global]\nioengine=null\nsize=64m\nbs=4k\nrw=randrw\nruntime=2\ntime_based\nrate_iops=1000\n"
    "write_lat_log=fio\nwrite_iops_log=fio\nwrite_bw_log=fio\nwrite_hist_log=fio\n"
    "log_avg_msec=1000\nlog_hist_msec=1000\nlog_unix_epoch=1\n[mix]\nnumjobs=2\n"
)


@pytest.fixture(scope="module")
def logged_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logged")
    step = make_step(0, "mix").model_copy(update={"job": LOGGED})
    files = run_fio(folder, step)
    return step, {**files, **{path.name: path.read_bytes() for path in folder.glob("*.log")}}


@pytest.fixture
def kept(evidence, logged_files):
    step, files = logged_files
    archive.write_step_evidence(evidence, RUN, step, files, started_at="a", finished_at="b")
    return evidence


@pytest.fixture
def stored(database, evidence, plan, fio_files):
    recorded(database, evidence, plan, fio_files)
    return database.url.render_as_string(hide_password=False)


def shown(frame):
    return {name: str(kind) for name, kind in frame.schema.items()}


@pytest.mark.slow
def test_runs_and_measurements_have_the_documented_columns_and_are_asked_for_by_run(stored):
    runs = diskbench.load_runs(database=stored)
    assert shown(runs) == documented("load_runs")
    assert runs["run_id"].to_list() == list(RUN_IDS)
    rows = diskbench.load_measurements(database=stored)
    assert shown(rows) == documented("load_measurements")
    assert set(rows["scope"]) == {"job", "step"}
    assert rows.filter(scope="step", direction="write")["ios"].to_list() == [64]
    assert len(diskbench.load_measurements(RUN, database=stored)) > 0
    assert len(diskbench.load_measurements([RUN_IDS[1]], database=stored)) == 0
    assert len(diskbench.load_measurements([], database=stored)) == 0


def test_an_empty_database_gives_empty_frames_with_all_columns(tmp_path):
    url = f"sqlite:///{tmp_path}/new.db"
    assert shown(diskbench.load_runs(database=url)) == documented("load_runs")
    assert len(diskbench.load_measurements(database=url)) == 0


def total(files, key):
    """What fio's JSON counts of the reads of all jobs."""
    text = files["fio.json"].decode()
    return sum(job["read"][key] for job in json.loads(text[text.index("{") :])["jobs"])


@pytest.mark.slow
def test_a_series_has_a_row_a_second_and_a_histogram_every_io(kept, logged_files):
    _, files = logged_files
    frame = diskbench.load_series(RUN, evidence=kept.url)
    assert shown(frame) == documented("load_series")
    reads = frame.filter(direction="read")
    assert reads["second"].to_list() == list(range(len(reads)))
    assert len(frame) == 2 * len(reads) >= 4
    # On a busy machine fio's windows are late and cover a little more than their second.
    assert reads["iops"].sum() == pytest.approx(total(files, "total_ios"), rel=0.25)
    assert reads["bytes_per_s"].sum() == pytest.approx(total(files, "io_bytes"), rel=0.25)
    assert set(reads["unix_ms"].diff().drop_nulls()) == {1000}
    frame = diskbench.load_histogram(RUN, step="mix", direction="read", evidence=kept.url)
    assert shown(frame) == documented("load_histogram")
    assert frame.filter(kind="clat")["count"].sum() == total(logged_files[1], "total_ios")
    assert set(diskbench.load_histogram(RUN, evidence=kept.url)["direction"]) == {"read", "write"}
    with pytest.raises(UnknownName, match="no-such-run"):
        diskbench.load_series("no-such-run", evidence=kept.url)
    with pytest.raises(UnknownName, match="mix"):
        diskbench.load_series(RUN, step="mixed", evidence=kept.url)


@pytest.mark.slow
def test_a_series_is_made_once_and_kept_beside_the_evidence(kept, monkeypatch):
    first = series_frame(kept, RUN)
    counts = latency_seconds(kept, RUN)
    derived = [key.partition(".")[2] for key in kept.list(f"runs/{RUN}/derived")]
    assert sorted(derived) == [LATENCIES_FILE, SERIES_FILE]
    # they would fail if asked
    monkeypatch.setattr("diskbench.store.stored_series.write_series", None)
    monkeypatch.setattr("diskbench.store.log_counts.write_latencies", None)
    assert series_frame(kept, RUN).equals(first)
    assert latency_seconds(kept, RUN).equals(counts)


@pytest.mark.slow
def test_a_store_that_may_only_be_read_is_enough(kept):
    def refuse(key, data):
        raise StoreUnavailable(f"{key} of {len(data)} bytes refused")

    names = ("url", "get", "copy", "list", "folders")
    read_only = SimpleNamespace(put=refuse, **{name: getattr(kept, name) for name in names})
    assert len(series_frame(read_only, RUN)) >= 4
    assert kept.list(f"runs/{RUN}/derived") == []


@pytest.mark.slow
@pytest.mark.usefixtures("stored")
def test_steps_without_logs_have_no_seconds(evidence):
    frame = diskbench.load_series(RUN, evidence=evidence.url)
    assert len(frame) == 0
    assert shown(frame) == documented("load_series")


def test_an_imported_document_of_several_steps_has_their_histograms(evidence, tmp_path):
    case = Path(__file__).parents[2] / "cases" / "fio_output" / "v3.39-two-jobs.out"
    document = json.loads(case.read_text())
    document["jobs"][1]["groupid"] = 1
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(document))
    (run_id,) = taken_in(evidence, path)
    assert set(diskbench.load_histogram(run_id, evidence=evidence.url)["step"]) == {"a", "b"}
    second = diskbench.load_histogram(run_id, step="b", evidence=evidence.url)
    written = document["jobs"][1]["write"]["total_ios"]
    assert second.filter(direction="write", kind="clat")["count"].sum() == written
    with pytest.raises(UnknownName, match="'c'"):
        diskbench.load_histogram(run_id, step="c", evidence=evidence.url)


def test_importing_diskbench_imports_nothing_heavy():
    code = (
        "import sys, diskbench; heavy = {'polars', 'duckdb', 'sqlalchemy', 'pydantic', 'obstore'}; "
        "sys.exit(len(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture(scope="module")
def example_url(example):
    return example.database


@pytest.fixture(scope="module")
def runs(example_url):
    return diskbench.load_runs(database=example_url)


def test_columns_are_those_of_the_page_also_of_nothing(example_url, tmp_path):
    for url in (example_url, f"sqlite:///{tmp_path}/new.db"):
        assert shown(diskbench.load_expected(database=url)) == documented("load_expected")


def test_runs_say_what_was_rented_and_a_burst_has_the_credit_that_a_fill_leaves(example_url, runs):
    [run_id] = runs.filter((pl.col("disk_type") == "gp2") & (pl.col("disk_gib") == 100))["run_id"]
    burst = diskbench.load_expected(run_id, database=example_url).filter(step="burst")
    assert burst.select("begin_iops", "lasting_iops").row(0) == (3000, 300)
    full_s = 5_400_000 / 15 / (3000 - 300)
    assert full_s * 0.98 < burst["lasts_s"][0] < full_s
    assert burst["limited_by"][0] == "disk IOPS"
    two = runs["run_id"][:2].to_list()
    assert set(diskbench.load_expected(two, database=example_url)["run_id"]) == set(two)
    assert diskbench.load_expected([], database=example_url).height == 0
    io1 = runs.filter(disk_type="io1")
    rented = io1.select("disk_cloud", "disk_gib", "disk_count", "provisioned_iops").unique()
    assert rented.rows() == [("aws", 20, 1, 1000)]
    assert runs["region"].null_count() == runs.height, "the lab is nowhere"


def test_what_was_rented_is_read_on_every_database(any_database):
    save_plan(any_database, make_plan(), "memory://")
    url = any_database.url.render_as_string(hide_password=False)
    runs = diskbench.load_runs(database=url)
    assert runs.height == 2
    assert runs["disk_type"].to_list() == [None, None], "a machine that was there"
    assert diskbench.load_expected(database=url).height == 0


@pytest.mark.parametrize("count", [0, 1, 20, 21, 300])
def test_json_of_any_length_is_the_same_document(count):
    document = results_document([a_run(profile=f"ü{i}") for i in range(count)])
    text = text_of(document)
    assert json.loads(text) == document
    assert "\\u" not in text


def test_csv_survives_what_a_label_may_hold():
    plan = make_plan(labels=(("k", 'a "quoted", two-line\nvalue'),))
    [row] = csv.DictReader(io.StringIO(csv_text([run_row(plan, 0, "file:///e")], RUN_FIELDS)))
    assert json.loads(row["labels"]) == {"k": 'a "quoted", two-line\nvalue'}
    assert (row["imported"], row["started_at"], row["run_index"]) == ("false", "", "0")


_PAIR = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(
    rf"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)\{{(?P<labels>(?:{_PAIR},?)*)\}} "
    r"(?P<value>-?[0-9.]+(?:e[+-]?[0-9]+)?)"
)
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


def row(**more):
    """A row of a step, as CSV has it."""
    empty = dict.fromkeys((*RUN_FIELDS, *MEASURED_FIELDS))
    known = {
        "run_id": "01a", "provider": "aws", "region": "eu-central-1", "disk_type": "gp2",
        "disk_gib": 20, "profile": "quick", "replicate": 0, "labels": {}, "scope": "step",
        "role": "measure", "step": "read", "direction": "read", "iops": 3000.5,
        "bytes_per_s": 12_290_048.0, "lat_mean_ns": 331_000.0, "p99_ns": 1_500_000.0,
        "measured_at": "2026-11-23T10:00:00+00:00", "emulated": False, "imported": False,
        "unverified": False, "fio_version": "fio-3.33",
    }  # fmt: skip
    return {**empty, **known, **more}


def samples(text):
    """Name, labels and value of each sample; every other line must be a comment."""
    found = []
    for line in text.splitlines():
        if not line.startswith("# "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            found.append((match["name"], dict(LABEL.findall(match["labels"])), match["value"]))
    return found


def one(text, name):
    return next((labels, value) for known, labels, value in samples(text) if known == name)


@pytest.mark.parametrize("form", get_args(MetricsFormat))
def test_figures_are_gauges_in_base_units(form):
    text = metrics_text([row()], form)
    assert one(text, "diskbench_step_iops")[1] == "3000.5"
    assert one(text, "diskbench_step_throughput_bytes_per_second")[1] == "12290048"
    assert float(one(text, "diskbench_step_latency_p99_seconds")[1]) == 0.0015
    labels, _ = one(text, "diskbench_step_iops")
    assert labels == {
        "provider": "aws", "region": "eu-central-1", "disk_type": "gp2", "disk_gib": "20",
        "profile": "quick", "step": "read", "direction": "read",
    }  # fmt: skip
    assert "latency_max" not in text, "a figure that is not known has no sample"


@pytest.mark.parametrize("form", get_args(MetricsFormat))
def test_each_family_has_help_and_type_once_and_its_samples_together(form):
    text = metrics_text([row(), row(step="write", direction="write")], form)
    names = [name for name, _, _ in samples(text)]
    assert len([*groupby(names)]) == len(set(names))
    for kind in ("HELP", "TYPE"):
        heads = re.findall(rf"^# {kind} (\S+)", text, flags=re.M)
        assert len(heads) == len(set(heads)) == len(set(names))


def test_openmetrics_names_units_types_facts_as_info_and_says_where_it_ends():
    text = metrics_text([row()], "openmetrics")
    assert text.endswith("\n# EOF\n")
    for name, unit in re.findall(r"^# UNIT (\S+) (\S+)$", text, flags=re.M):
        assert name.endswith(f"_{unit}")
    assert "_run info\n" in text
    prometheus = metrics_text([row()], "prometheus")
    assert "EOF" not in prometheus
    assert "# UNIT" not in prometheus
    assert "_run_info gauge\n" in prometheus


def test_foreign_text_in_a_label_is_escaped_and_its_key_made_a_name():
    text = metrics_text([row(labels={"team.x": 'a"b\\c\nd\x1b'})], "prometheus")
    labels, _ = one(text, "diskbench_step_iops")
    assert labels["label_team_x"].startswith('a\\"b\\\\c\\nd')
    assert "\x1b" not in text


def test_of_several_runs_the_newest_is_shown_replicates_apart_and_jobs_fills_and_canaries_not():
    old = row(run_id="01a", iops=1.0)
    new = row(run_id="01b", iops=2.0, measured_at="2026-11-24T10:00:00+00:00")
    for rows in ([old, new], [new, old]):
        text = metrics_text(rows, "prometheus")
        assert [value for name, _, value in samples(text) if name == "diskbench_step_iops"] == ["2"]
        assert one(text, "diskbench_run_info")[0]["run_id"] == "01b"
    rows = [row(), row(scope="job"), row(role="fill"), row(role="canary"), row(replicate=1)]
    found = [labels for name, labels, _ in samples(metrics_text(rows, "prometheus"))
             if name == "diskbench_step_iops"]  # fmt: skip
    assert [labels.get("replicate") for labels in found] == [None, "1"]


@pytest.mark.parametrize("form", get_args(MetricsFormat))
def test_nothing_measured_is_a_valid_document(form):
    assert metrics_text([], form) == ("# EOF\n" if form == "openmetrics" else "")


def test_benchstat_gets_a_line_a_run_and_step_whose_name_has_neither_space_nor_slash():
    rows = [
        row(target_path="/mnt/a b", step="w", iops=3000.0, bytes_per_s=12.288e6, lat_mean_ns=333e3),
        row(step="w", direction="sync", iops=300.0, bytes_per_s=0.0, lat_mean_ns=2e6),
        row(step="w", role="fill"),
        row(step="w", iops=None),
    ]
    unit, first, sync = benchstat_lines(rows)
    assert unit == "Unit iops better=higher\n"
    name, count, *figures = first.split()
    assert name.startswith("BenchmarkDisk/step=w/direction=")
    assert "target=_mnt_a_b" in name or "disk_type=" in name
    assert (count, figures) == ("1", ["333000", "ns/op", "3000", "iops", "12.288", "MB/s"])
    assert sync.endswith(" 1 2000000 ns/op 300 iops\n"), "a sync moves no bytes"

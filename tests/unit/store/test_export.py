"""Exports as JSON and CSV; the text formats of Prometheus and OpenMetrics, read by the grammar of
their specifications."""

import csv
import io
import json
import re
from itertools import groupby
from typing import get_args

import pytest
from tests.rigs.plans import make_plan
from tests.rigs.runs import a_run

from diskbench.model.run import MEASURED_FIELDS, RUN_FIELDS
from diskbench.store.document import results_document
from diskbench.store.export import MetricsFormat, benchstat_lines, csv_text, metrics_text
from diskbench.store.export import json_text as text_of
from diskbench.store.run_row import run_row


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

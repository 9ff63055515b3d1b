"""How often a report asks a bucket for what belongs to one run."""

from collections import Counter

import pytest
from tests.unit.store.test_parallel_evidence import gobonniego, watched

from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.stored_report import ReportReader
from diskbench.results.imported_runs import imported
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.import_sources import read_sources
from diskbench.store.query import find_runs

RUNS = 6


@pytest.mark.slow
def test_a_report_reads_manifest_and_folders_of_a_run_once_and_many_runs_at_a_time(
    tmp_path, monkeypatch
):
    evidence = open_evidence("memory:///")
    database = open_database(f"sqlite:///{tmp_path}/rows.db")
    sources = read_sources([gobonniego(tmp_path / "one.json", runs=RUNS)]).sources
    assert len(list(imported(database, evidence, sources, {}, "0"))) == RUNS
    runs = find_runs(database)[::-1]
    with (
        watched(monkeypatch, "folders") as (listed, most_lists),
        watched(monkeypatch, "get") as (read, most_reads),
        watched(monkeypatch, "put") as (written, _),
    ):
        reader = ReportReader(database, lambda _: evidence)
        found = reader.read(runs)
        data = ChartData(found.groups, found.stored, reader.evidence, runs, runs[-1])
        assert data.bands == data.courses == data.distributions == ()
    assert listed == Counter({f"runs/{run.run_id}/steps": 1 for run in runs})
    last = f"runs/{runs[-1].run_id}/manifest.json"  # the distributions of the run in detail
    manifests = Counter({f"runs/{run.run_id}/manifest.json": 1 for run in runs})
    assert read == manifests + Counter([last])
    assert not written
    assert most_lists[0] > 1
    assert most_reads[0] > 1
    database.dispose()

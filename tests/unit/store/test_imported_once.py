"""What an import costs grows with its files and runs, not with their product."""

from collections import Counter

import pytest

from diskbench.results import imported_runs
from diskbench.results.imported_runs import imported
from diskbench.store import archive, imports
from diskbench.store.import_sources import read_sources
from diskbench.store.query import find_measurements, find_runs

pytestmark = pytest.mark.slow

LINE = (
    "1.97,1.97,host,1,{seed},8196M,,500,99,85809,11,40000,10,2000,97,150000,12,300.5,10,16,,,,,"
    "2104,15,+++++,+++,3240,16,3052,21,+++++,+++,2891,14,8767us,1945ms,1945ms,10ms,50ms,200ms,"
    "1us,2us,3us,4us,5us,6us\n"
)
RUNS = 30


@pytest.fixture
def files(tmp_path):
    """Two files of undated runs, whose ids depend on those that the store has."""
    for name, first in (("a.csv", 0), ("b.csv", 1000)):
        lines = (LINE.format(seed=first + at) for at in range(RUNS))
        (tmp_path / name).write_text("".join(lines))
    return [tmp_path / "a.csv", tmp_path / "b.csv"]


def counted(monkeypatch, calls, module, name):
    original = getattr(module, name)

    def call(*arguments, **named):
        calls.append(name)
        return original(*arguments, **named)

    monkeypatch.setattr(module, name, call)


def test_each_file_is_parsed_once_and_all_rows_come_after_the_evidence(
    database, evidence, files, monkeypatch
):
    sources = read_sources(files).sources
    calls: list[str] = []
    counted(monkeypatch, calls, imports, "read_imported")
    counted(monkeypatch, calls, archive, "list_runs")
    counted(monkeypatch, calls, evidence, "settle")
    counted(monkeypatch, calls, imported_runs, "write_runs")
    done = list(imported(database, evidence, sources, {}, "0"))
    assert len(done) == 2 * RUNS
    assert Counter(calls) == {"read_imported": 2, "list_runs": 1, "settle": 1, "write_runs": 1}
    assert calls.index("settle") < calls.index("write_runs")
    assert len(find_runs(database)) == 2 * RUNS
    assert len(find_measurements(database)) == 2 * RUNS * 6
    assert {row.run_id for row in find_measurements(database)} == {
        one.manifest.run_id for one in done
    }


def test_the_same_files_again_are_the_same_runs_whatever_they_are_called(
    database, evidence, files, tmp_path
):
    first = [one.manifest.run_id for one in imported(
        database, evidence, read_sources(files).sources, {}, "0"
    )]  # fmt: skip
    again = tmp_path / "again.csv"
    again.write_bytes(files[0].read_bytes())
    sources = read_sources([again, files[1]]).sources
    assert [one.manifest.run_id for one in imported(database, evidence, sources, {}, "0")] == first
    assert len(find_runs(database)) == 2 * RUNS


def test_rows_are_written_in_batches_whose_files_are_whole(database, evidence, files, monkeypatch):
    calls: list[str] = []
    counted(monkeypatch, calls, imported_runs, "write_runs")
    monkeypatch.setattr(imported_runs, "_ROWS_AT_ONCE", 10)
    list(imported(database, evidence, read_sources(files).sources, {}, "0"))
    assert len(calls) == 2
    assert len(find_runs(database)) == 2 * RUNS

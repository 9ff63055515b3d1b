"""script/bench: the rule by which a benchmark fails, and the table that it writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import (
    agreement,
    bench,
    bench_compare,
    bench_read,
    bench_rows,
    bench_run,
    bench_table,
    cells_chart,
    curves,
    overhead,
)
from benchmarks.bench_compare import Span, is_worse, ratios, span
from benchmarks.bench_read import Measured
from benchmarks.bench_rows import Bench, Row

KEPT = span([1.0, 1.1, 1.2, 1.1, 1.0])


@pytest.mark.parametrize(
    ("values", "worse"),
    [
        pytest.param([1.1, 1.0, 1.2], False, id="as it was"),
        pytest.param([1.4, 1.4, 1.45], False, id="by less than a third"),
        pytest.param([1.6, 1.55, 1.7], True, id="by more than a third"),
        pytest.param([1.15, 1.6, 4.0], False, id="noise: one of them is as it was"),
        pytest.param([0.5, 0.5, 0.5], False, id="better"),
        pytest.param([1.6], True, id="a single value, worse"),
        pytest.param([1.4], False, id="a single value, by less than a third"),
    ],
)
def test_worse_by_a_third_beyond_the_ranges_fails(values: list[float], worse: bool) -> None:
    assert is_worse(span(values), KEPT) is worse


def test_a_ratio_grows_by_exactly_a_third_and_passes() -> None:
    assert not is_worse(Span(4.0, 4.0, 4.0, 3), Span(3.0, 3.0, 3.0, 3))


def test_ratios_are_of_pairs_that_ran_in_turn() -> None:
    assert ratios([2.0, 30.0], [1.0, 10.0]) == [2.0, 3.0]
    assert ratios([2.0, 4.0, 6.0], [1.0, 3.0]) == [1.0, 2.0, 3.0]


def test_a_busy_machine_slows_both_alike() -> None:
    quiet = span(ratios([1.0, 1.1, 1.0], [0.5, 0.55, 0.5]))
    busy = span(ratios([9.0, 3.3, 5.0], [4.5, 1.65, 2.5]))

    assert not is_worse(busy, quiet)


def test_rows_of_overhead_are_those_of_the_table() -> None:
    cost = overhead.Cost(beyond_s=3.05, cpu_s=1.61, rss_mb=120)
    floor = overhead.Cost(beyond_s=0.59, cpu_s=0.1, rss_mb=20)
    benches = [of for of in bench_rows.BENCHES if of.script == "benchmarks/overhead.py"]
    declared = {row.name for of in benches for row in of.rows}
    rows = [row for count in (1, 8, 32) for row in overhead.rows_of(count, [floor], [cost])]

    assert {row.name for row in bench_read.rows_written({"rows": rows})} == declared


def test_rows_of_the_site_are_read_from_what_it_prints() -> None:
    text = (
        "             wall s    CPU s  peak MB\n"
        "publish        41.0     39.1      250\n"
        "site: 204 files, 31.2 MB\n"
    )

    assert bench_read.site_printed(text) == [
        Measured("publish", "s", (41.0,)),
        Measured("publish, CPU", "s", (39.1,)),
        Measured("publish, memory", "MB", (250.0,)),
        Measured("site, size", "MB", (31.2,)),
    ]


def test_rows_of_cells_and_of_a_large_store_are_read_from_what_they_write() -> None:
    figures = {"cells": 1000, "ended": 1000, "wall_s": 200.5, "cpu_s_a_cell": 0.4}
    figures |= {"makespan_to_ideal": 1.03, "matrix_ends_after_s": 2.0}
    cells = json.dumps(figures) + "\n"
    last = json.dumps(figures | {"cells": 10000, "ended": 300, "date": "2026-11-24"}) + "\n"
    cost = {"wall_s": 0.2, "cpu_s": 0.2, "peak_mb": 80.0}
    stored = json.dumps({"runs": 10, "parts": {"floor": [cost], "list": [{**cost, "wall_s": 0.3}]}})

    assert bench_read.cells_written(cells)[0] == Measured("1,000 cells, wall", "s", (200.5,))
    of_all, of_last = bench_read.cells_written(cells), bench_read.cells_written(last)
    assert {row.name.rpartition(", ")[0] for row in of_last} == {"last 300 of 10,000 cells"}
    assert {row.name.rpartition(", ")[2] for row in of_all} <= {
        row.name.rpartition(", ")[2] for row in of_last
    }
    assert Measured("cpu_s_a_cell", "", (0.4,)) in bench_read.curve_written(last)
    assert bench_read.stored_written(stored) == [
        Measured("list", "s", (0.3,), (0.2,)),
        Measured("list, CPU", "s", (0.2,)),
        Measured("list, memory", "MB", (80.0,)),
    ]


def test_the_curve_over_hosts_keeps_a_row_and_its_floor_without_their_number() -> None:
    found = Measured("8 hosts, beyond fio", "s", (5.0, 4.0, 6.0), (2.0, 1.0, 3.0))

    assert curves.figures(curves.CURVES["hosts"], found) == {
        "beyond_fio_s": 5.0,
        "beyond_fio_floor_s": 2.0,
    }


def test_the_curve_over_hosts_is_drawn_from_what_the_table_shows() -> None:
    kept = {
        "overhead: 1 host, beyond fio": {"median": 2.2, "unit": "s", "floor": 0.5},
        "overhead: 1 host, CPU": {"median": 1.0, "unit": "s", "floor": 0.07},
        "overhead-8: 8 hosts, CPU": {"median": 1.7, "unit": "s"},
        "cells: 1,000 cells, wall": {"median": 300, "unit": "s"},
    }
    entries = {key: {**value, "date": "2026-11-24", "machine": "m"} for key, value in kept.items()}

    found = curves.kept_lines(curves.CURVES["hosts"], entries, (1, 8, 32))

    at = {"date": "2026-11-24", "machine": "m"}
    assert found == [
        {**at, "hosts": 1, "beyond_fio_s": 2.2, "beyond_fio_floor_s": 0.5, "cpu_s": 1.0},
        {**at, "hosts": 8, "cpu_s": 1.7},
    ]


@pytest.mark.parametrize("curve", curves.CURVES.values(), ids=curves.CURVES.keys())
def test_the_picture_of_a_curve_is_drawn_from_lines_that_may_lack_figures(
    curve: curves.Curve,
) -> None:
    fields = [field for panel in curve.panels.values() for field in panel]
    lines = [{curve.x: size} | dict.fromkeys(fields, 1.0 * size) for size in curve.sizes]
    del lines[0][fields[0]]

    document = cells_chart.chart(lines, curve.panels, curve.x, curve.x_title)

    assert [len(panel["data"]["values"]) for panel in document["hconcat"]] == [
        len(panel) * len(lines) - (fields[0] in panel) for panel in curve.panels.values()
    ]


def script(folder: Path, rows: list[dict[str, object]], *, ends: int = 0) -> str:
    """A benchmark that writes `rows`."""
    path = folder / "one.py"
    path.write_text(
        "import json, sys\n"
        f"json.dump({{'rows': {rows!r}}}, open(sys.argv[sys.argv.index('--json') + 1], 'w'))\n"
        f"sys.exit({ends})\n"
    )
    return str(path)


def declared(path: str, *, at_most: float | None = None) -> Bench:
    return Bench("one", path, "", (Row("speed", "≤ 3 s", at_most, "a floor"),), quick="")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bench.Files:
    monkeypatch.setattr(bench_run, "yardstick", lambda: 0.5)
    return bench.Files(
        tmp_path / "baseline.json", tmp_path / "measured.json", tmp_path / "README.md"
    )


def row(ours: list[float], floor: list[float] | None) -> dict[str, object]:
    return {"name": "speed", "unit": "s", "ours": ours, "floor": floor}


def write(files: bench.Files, one: Bench) -> int:
    files.readme.write_text(f"# Benchmarks\n\n{bench_table.BEGIN}\n{bench_table.END}\n")
    return bench.run_all([one], everything=True, write=True, files=files)


def test_what_is_worse_by_a_third_fails_and_is_named(
    files: bench.Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write(files, declared(script(tmp_path, [row([2.0, 2.2], [1.0, 1.0])]))) == 0
    capsys.readouterr()

    worse = declared(script(tmp_path, [row([3.0, 3.2], [1.0, 1.0])]))
    assert bench.run_all([worse], everything=True, write=False, files=files) == 1
    assert "one: speed" in capsys.readouterr().err


def test_what_is_better_by_a_third_asks_to_be_kept_because_it_may_become_worse_unseen(
    files: bench.Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write(files, declared(script(tmp_path, [row([4.0, 4.2], [1.0, 1.0])]))) == 0
    capsys.readouterr()

    for ours, better in (([2.0, 2.2], True), ([3.9, 4.1], False)):
        now = declared(script(tmp_path, [row(ours, [1.0, 1.0])]))
        assert bench.run_all([now], everything=True, write=False, files=files) == 0
        assert ("BETTER:" in capsys.readouterr().out) is better


def test_a_slower_machine_does_not_fail(files: bench.Files, tmp_path: Path) -> None:
    assert write(files, declared(script(tmp_path, [row([2.0, 2.2], [1.0, 1.0])]))) == 0

    slower = declared(script(tmp_path, [row([8.0, 8.8], [4.0, 4.0])]))
    assert bench.run_all([slower], everything=True, write=False, files=files) == 0


def test_the_baseline_keeps_ratios_only(files: bench.Files, tmp_path: Path) -> None:
    write(files, declared(script(tmp_path, [row([20.0, 22.0, 21.0], [10.0, 10.0, 10.0])])))

    (kept,) = json.loads(files.baseline.read_text()).values()
    assert kept == {"median": 2.1, "low": 2.0, "high": 2.2, "n": 3}


def test_seconds_without_a_floor_are_set_beside_the_start_of_python(
    files: bench.Files, tmp_path: Path
) -> None:
    write(files, declared(script(tmp_path, [row([1.0, 1.5, 2.0], None)])))

    (kept,) = json.loads(files.baseline.read_text()).values()
    assert kept["median"] == 3.0


def test_the_table_names_value_range_floor_and_machine(
    files: bench.Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = declared(script(tmp_path, [row([2.0, 2.2, 2.1], [1.0, 1.0, 1.0])]), at_most=3)
    monkeypatch.setattr(bench_table, "BENCHES", (one,))
    write(files, one)

    (line,) = [text for text in files.readme.read_text().splitlines() if "speed" in text]
    assert "2.10 s (2.00–2.20, n 3) | ≤ 3 s | a floor: 1.00 s (× 2.10)" in line
    assert bench_run.machine() in line


def test_a_benchmark_runs_until_each_row_has_the_values_that_are_asked_for(
    files: bench.Files, tmp_path: Path
) -> None:
    files.readme.write_text(f"{bench_table.BEGIN}\n{bench_table.END}\n")
    one = declared(script(tmp_path, [row([2.0, 2.2], [1.0, 1.0])]))

    assert bench.run_all([one], everything=True, write=True, files=files, at_least=5) == 0

    (kept,) = json.loads(files.measured.read_text()).values()
    assert (kept["n"], kept["low"], kept["high"], kept["ratio"]) == (6, 2.0, 2.2, 2.1)


def test_a_benchmark_that_takes_long_is_not_repeated(files: bench.Files, tmp_path: Path) -> None:
    files.readme.write_text(f"{bench_table.BEGIN}\n{bench_table.END}\n")
    one = replace(declared(script(tmp_path, [row([2.0], [1.0])])), once=True)

    assert bench.run_all([one], everything=True, write=True, files=files, at_least=5) == 0

    (kept,) = json.loads(files.measured.read_text()).values()
    assert kept["n"] == 1


def test_values_are_kept_where_a_later_run_fails(
    files: bench.Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files.readme.write_text(f"{bench_table.BEGIN}\n{bench_table.END}\n")
    path = Path(script(tmp_path, [row([2.0], [1.0])]))
    there = tmp_path / "there"
    path.write_text(
        f"import pathlib, sys\nthere = pathlib.Path({str(there)!r})\n"
        "if there.exists(): sys.exit('no second run')\nthere.touch()\n" + path.read_text()
    )

    assert (
        bench.run_all([declared(str(path))], everything=True, write=True, files=files, at_least=5)
        == 0
    )

    (kept,) = json.loads(files.measured.read_text()).values()
    assert kept["n"] == 1
    assert "no second run" in capsys.readouterr().err


@pytest.mark.parametrize(("ratio", "bold"), [(0.97, True), (0.99, False), (1.03, True)])
def test_a_row_that_must_agree_with_its_floor_is_bold_where_it_is_off_either_way(
    ratio: float, bold: bool
) -> None:
    agreeing = Row("IOPS", "0.98–1.02", None, "bare fio", agrees=(0.98, 1.02))

    assert bench_table.is_as_wanted(agreeing, {"median": 1000.0, "ratio": ratio}) is not bold


def test_rows_of_agreement_are_those_of_the_table() -> None:
    declared = {row.name for of in bench_rows.BENCHES if of.name == "agreement" for row in of.rows}
    jobs = [part.partition("]")[0] for part in agreement.JOB.split("\n[")[1:]]
    ways = {"rand-rw70-16k-4jobs": ("read", "write"), "rand-write-4k-qd32": ("write",)}
    keys = [(job, way) for job in jobs for way in ways.get(job, ("read",))]
    figures = dict.fromkeys(keys, 1000.0)

    rows = agreement.rows({"bare": [figures], "ours": [figures]})

    assert {row.name for row in bench_read.rows_written({"rows": rows})} == declared


def test_the_rows_of_one_benchmark_are_written_beside_those_that_are_there(
    files: bench.Files, tmp_path: Path
) -> None:
    files.measured.write_text(json.dumps({"other: speed": {"n": 1}}))

    write(files, declared(script(tmp_path, [row([2.0], [1.0])])))

    assert set(json.loads(files.measured.read_text())) == {"other: speed", "one: speed"}


def test_the_table_says_that_the_machine_was_loaded(
    files: bench.Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = declared(script(tmp_path, [row([2.0], [1.0])]))
    monkeypatch.setattr(bench_table, "BENCHES", (one,))
    monkeypatch.setattr(bench.os, "getloadavg", lambda: (99.0, 0.0, 0.0))
    write(files, one)

    (line,) = [text for text in files.readme.read_text().splitlines() if "speed" in text]
    assert line.endswith(", loaded |")


def test_a_benchmark_that_fails_is_named_and_the_others_are_run(
    files: bench.Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Bench("broken", str(tmp_path / "broken.py"), "", (Row("x", "–", None),), quick="")
    (tmp_path / "broken.py").write_text("import sys  # --json\nsys.exit('no disk')\n")
    good = declared(script(tmp_path, [row([2.0], [1.0])]))

    assert bench.run_all([broken, good], everything=True, write=False, files=files) == 1
    printed = capsys.readouterr()
    assert "broken" in printed.err
    assert "speed" in printed.out


def test_a_declared_row_that_is_not_measured_is_named_beside_the_others(
    files: bench.Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Bench(
        "one",
        script(tmp_path, [row([2.0], [1.0])]),
        "",
        (Row("speed", "–", None), Row("memory", "–", None)),
        quick="",
    )

    assert bench.run_all([one], everything=True, write=False, files=files) == 1
    printed = capsys.readouterr()
    assert "one: memory" in printed.err
    assert "speed" in printed.out


def test_a_benchmark_that_misses_its_own_target_is_measured_all_the_same(
    files: bench.Files, tmp_path: Path
) -> None:
    missed = declared(script(tmp_path, [row([2.0], [1.0])], ends=1))

    assert bench.run_all([missed], everything=True, write=False, files=files) == 0


def test_each_row_is_declared_once() -> None:
    names = [(one.name, row.name) for one in bench_rows.BENCHES for row in one.rows]

    assert len(set(names)) == len(names)
    assert len({one.name for one in bench_rows.BENCHES}) == len(bench_rows.BENCHES)


def test_the_table_of_the_readme_is_that_of_what_was_measured() -> None:
    written = bench.FILES.readme.read_text(encoding="utf-8")

    assert bench_table.replaced(written, bench.kept_measurements(bench.FILES)) == written, (
        "run script/bench --table"
    )


def test_worse_by_a_third_is_the_issue_s_rule() -> None:
    assert pytest.approx(4 / 3) == bench_compare.WORSE

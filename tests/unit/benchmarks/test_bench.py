"""script/bench: the rule by which a benchmark fails, and the table that it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import (
    bench,
    bench_rows,
    bench_run,
    bench_table,
)
from benchmarks import cells as cells_bench
from benchmarks.bench_compare import is_worse, ratios, span
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


def test_ratios_are_of_pairs_that_ran_in_turn() -> None:
    assert ratios([2.0, 30.0], [1.0, 10.0]) == [2.0, 3.0]
    assert ratios([2.0, 4.0, 6.0], [1.0, 3.0]) == [1.0, 2.0, 3.0]


def test_cells_that_begin_out_of_turn_and_too_many_at_once_are_counted() -> None:
    turns = [(0, 1.0, 4.0), (2.0, 3.0, 5.0), (1.0, 3.5, 6.0)]
    cells = [cells_bench.Cell(n, *times) for n, times in enumerate(turns)]

    assert cells_bench.out_of_turn(cells) == 1
    assert cells_bench.most_at_once(cells) == 3


def script(folder: Path, rows: list[dict[str, object]]) -> str:
    """A benchmark that writes `rows`."""
    path = folder / "one.py"
    path.write_text(
        "import json, sys\n"
        f"json.dump({{'rows': {rows!r}}}, open(sys.argv[sys.argv.index('--json') + 1], 'w'))\n"
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


@pytest.mark.parametrize(("ratio", "bold"), [(0.97, True), (0.99, False), (1.03, True)])
def test_a_row_that_must_agree_with_its_floor_is_bold_where_it_is_off_either_way(
    ratio: float, bold: bool
) -> None:
    agreeing = Row("IOPS", "0.98–1.02", None, "bare fio", agrees=(0.98, 1.02))

    assert bench_table.is_as_wanted(agreeing, {"median": 1000.0, "ratio": ratio}) is not bold


def test_a_benchmark_that_fails_is_named_and_the_others_are_run(
    files: bench.Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Bench("broken", str(tmp_path / "broken.py"), "", (Row("x", "–", None),), quick="")
    (tmp_path / "broken.py").write_text("import sys\nsys.exit('no disk')\n")
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


def test_each_row_is_declared_once() -> None:
    names = [(one.name, row.name) for one in bench_rows.BENCHES for row in one.rows]

    assert len(set(names)) == len(names)
    assert len({one.name for one in bench_rows.BENCHES}) == len(bench_rows.BENCHES)


def test_the_table_of_the_readme_is_that_of_what_was_measured() -> None:
    written = bench.FILES.readme.read_text(encoding="utf-8")

    assert bench_table.replaced(written, bench.kept_measurements(bench.FILES)) == written, (
        "run script/bench --table"
    )

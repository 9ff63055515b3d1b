"""script/bench: how a benchmark fails, its table; what pages and mutants name is there."""

import json
import re
from pathlib import Path

import pytest
from benchmarks import bench, bench_rows, bench_run, house_counts
from benchmarks.bench_rows import Bench, Row
from benchmarks.bench_run import is_worse, ratios, span
from benchmarks.mutants import COPIED, MUTANTS, ROOT, place_of

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
def test_worse_by_a_third_beyond_the_ranges_fails(values, worse):
    assert is_worse(span(values), KEPT) is worse


def script(folder, rows):
    """A benchmark that writes `rows`."""
    path = folder / "one.py"
    path.write_text(
        "import json, sys\n"
        f"json.dump({{'rows': {rows!r}}}, open(sys.argv[sys.argv.index('--json') + 1], 'w'))\n"
    )
    return str(path)


def declared(path, *, at_most=None):
    return Bench("one", path, "", (Row("speed", "≤ 3 s", at_most, "a floor"),), quick="")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_run, "yardstick", lambda: 0.5)
    names = ("baseline.json", "measured.json", "README.md")
    return bench.Files(*(tmp_path / name for name in names))


def row(ours, floor):
    return {"name": "speed", "unit": "s", "ours": ours, "floor": floor}


def write(files, one):
    files.readme.write_text(f"# Benchmarks\n\n{bench_rows.BEGIN}\n{bench_rows.END}\n")
    return bench.run_all([one], everything=True, write=True, files=files)


@pytest.mark.parametrize(
    ("ours", "floor", "failed"), [([3.0, 3.2], [1.0, 1.0], 1), ([8.0, 8.8], [4.0, 4.0], 0)]
)
def test_what_is_worse_by_a_third_fails_and_is_named_and_a_slower_machine_does_not_fail(
    files, tmp_path, capsys,
    ours, floor, failed
):  # fmt: skip
    assert write(files, declared(script(tmp_path, [row([2.0, 2.2], [1.0, 1.0])]))) == 0
    capsys.readouterr()
    again = declared(script(tmp_path, [row(ours, floor)]))
    assert bench.run_all([again], everything=True, write=False, files=files) == failed
    assert ("one: speed" in capsys.readouterr().err) == bool(failed)


def test_the_baseline_keeps_ratios_only_and_those_of_pairs(files, tmp_path):
    write(files, declared(script(tmp_path, [row([20.0, 22.0, 21.0], [10.0, 10.0, 10.0])])))
    (kept,) = json.loads(files.baseline.read_text()).values()
    assert kept == {"median": 2.1, "low": 2.0, "high": 2.2, "n": 3}
    assert ratios([2.0, 30.0], [1.0, 10.0]) == [2.0, 3.0], "of pairs that ran in turn"
    assert ratios([2.0, 4.0, 6.0], [1.0, 3.0]) == [1.0, 2.0, 3.0]


def test_a_benchmark_that_fails_is_named_and_the_others_are_run(files, tmp_path, capsys):
    broken = Bench("broken", str(tmp_path / "broken.py"), "", (Row("x", "–", None),), quick="")
    (tmp_path / "broken.py").write_text("import sys\nsys.exit('no disk')\n")
    good = declared(script(tmp_path, [row([2.0], [1.0])]))
    assert bench.run_all([broken, good], everything=True, write=False, files=files) == 1
    printed = capsys.readouterr()
    assert "broken" in printed.err
    assert "speed" in printed.out


def test_each_row_is_declared_once():
    names = [(one.name, row.name) for one in bench_rows.BENCHES for row in one.rows]
    assert len(set(names)) == len(names)
    assert len({one.name for one in bench_rows.BENCHES}) == len(bench_rows.BENCHES)


def test_the_table_of_the_readme_is_that_of_what_was_measured():
    written = bench.FILES.readme.read_text(encoding="utf-8")
    measured = json.loads(bench.FILES.measured.read_text("utf-8"))
    assert bench_rows.replaced(written, measured) == written, "run script/bench --table"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_its_text_stands_once_and_its_tests_exist(mutant):
    assert place_of(mutant, ROOT / "src" / "diskbench")
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert f"def {name}" in Path(ROOT, path).read_text("utf-8")


def test_a_copy_has_every_folder_that_tests_import():
    imported: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text("utf-8")
        imported |= set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
    assert "emulators" in imported
    missing = {one for one in imported if (ROOT / one).is_dir()} - set(COPIED)
    assert missing == set()


SCRIPT = re.compile(r"benchmarks/(\w+)\.py|-m benchmarks\.(\w+)")


def test_a_benchmark_that_a_page_or_a_docstring_names_is_there():
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "script").glob("*")]
    for folder in ("docs", "src", "tests", "benchmarks"):
        files += [*(ROOT / folder).rglob("*.md"), *(ROOT / folder).rglob("*.py")]
    lost = {
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in files
        if path.is_file()
        for found in SCRIPT.finditer(path.read_text("utf-8", errors="replace"))
        if not (ROOT / "benchmarks" / f"{found[1] or found[2]}.py").is_file()
    }
    assert lost == set()


@pytest.mark.parametrize(
    "name", [pytest.param("src/diskbench", marks=pytest.mark.slow), "benchmarks", "emulators"]
)
def test_no_two_files_import_each_other(name):
    sources = house_counts.sources(ROOT / name)
    assert house_counts.circles(house_counts.imports(sources, Path(name).name)) == []

"""One figure of a step and its verdict on every surface: tests/cases/figures, golden/verdicts."""

import csv
import html
import io
import json
import re
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from tests.limiter_case import judge
from tests.rigs.coursed import coursed
from tests.rigs.database import trial_figures
from tests.rigs.imported_disks import Job, bucket_logs, fio_file, flat_logs, gobonniego_file
from tests.rigs.printed import print_result
from tests.unit.report.made import plan, row

import diskbench
from diskbench.cli import main
from diskbench.model.doubts import NETWORK_FILESYSTEM, doubt_of
from diskbench.model.ids import short
from diskbench.report.assemble.subject import subject_of_plan
from diskbench.report.terminal.progress import open_progress
from diskbench.results.replicate_set import replicates_of
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.query import find_runs
from diskbench.store.rows import load_plan
from diskbench.store.step_rows import load_results
from diskbench.units import format_iops
from diskbench.yaml_lines import plain_yaml

pytestmark = pytest.mark.slow
PLACE = Path(__file__).parents[2] / "cases"
CASES = {one.stem: plain_yaml(one.read_text()) for one in (PLACE / "figures").glob("*.yaml")}
NEAR = 0.006
"""Of a figure: logs of whole I/Os a second are not fio's own count."""


class Shown:
    """A case as it is stored, and what every surface shows of it."""

    def __init__(self, case, place):
        self.case, self.place, self.capfd = case, place, None
        self.url = f"sqlite:///{place}/rows.db"
        self.store = (place / "evidence").as_uri()
        self.database = open_database(self.url)
        self.evidence = open_evidence(self.store)
        self.direction = case.get("direction", "read")

    @cached_property
    def runs(self):
        """The runs of the case, oldest first, stored when they are first asked for."""
        if "fio" in self.case:
            source = PLACE / "fio_output" / self.case["fio"]
            (self.place / "imported.json").write_bytes(source.read_bytes())
            self.call("results", "import", "imported.json")
        else:
            first, *more = [self._seconds(run) for run in self.case["runs"]]
            coursed(self.database, self.evidence, first, again=more)
        return find_runs(self.database)[::-1]

    @staticmethod
    def _seconds(parts):
        return np.concatenate([np.full(seconds, float(value)) for value, seconds in parts])

    def call(self, *arguments):
        code = main.main(list(arguments))
        done = self.capfd.readouterr()
        assert code == 0, done.err
        return done.out

    def rows(self, found):
        return [
            one for one in found if one["scope"] == "step" and one["direction"] == self.direction
        ]

    def table(self):
        """Without the picture of the seconds, which tells the highest one."""
        told = self.call("results", "show", self.runs[0].trial_id, "-v")
        return told.partition("IOPS by the second")[0]

    def document(self):
        return json.loads(self.call("results", "show", self.runs[0].trial_id, "--output", "json"))

    def progress(self):
        """What a terminal is told when each run's step is done."""
        plan, stream = load_plan(self.database, self.runs[0].trial_id), io.StringIO()
        display = open_progress([plan], stream=stream, evidence=self.evidence)
        for index, run_id in enumerate(plan.run_ids):
            (result,) = load_results(self.database, run_id)[run_id]
            seconds = sum(each for _, each in self.case["runs"][index])
            display.step_started(plan.trial_id, index, plan.steps[0])
            result = result.model_copy(update={"seconds_in_fio": float(seconds)})
            display.step_finished(plan.trial_id, result)
        return [line for line in stream.getvalue().splitlines() if " done: " in line]

    def page(self, name):
        self.call("report", self.runs[0].trial_id, "-o", name)
        return (self.place / name).read_text()

    def site(self):
        self.call("publish", "site")
        return {
            str(one.relative_to(self.place / "site")): one.read_text()
            for one in (self.place / "site").rglob("*")
            if one.suffix in (".html", ".json", ".csv")
        }


@pytest.fixture(scope="module", params=sorted(CASES))
def stored(request, tmp_path_factory):
    """A case, stored once for all that show it: they only read."""
    found = Shown(CASES[request.param], tmp_path_factory.mktemp("case"))
    yield found
    found.database.dispose()


@pytest.fixture
def shown(stored, monkeypatch, capfd):
    place = stored.place
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", stored.url)
    monkeypatch.setenv("DISKBENCH_EVIDENCE_URL", stored.store)
    stored.capfd = capfd
    assert stored.runs
    return stored


def words(text):
    """A page as a reader sees it: without scripts, styles and tags."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", bare))


def has(text, number):
    """Whether a number stands in a text by itself."""
    return re.search(rf"(?<![\d,.]){re.escape(number)}(?![\d]|,\d|\.\d)", text) is not None


near = partial(pytest.approx, rel=NEAR)


def test_every_figure_of_a_run_is_the_same(shown):
    """CSV, Parquet, JSON and frames have a row a run."""
    expected, case = shown.case["of_runs"], shown.case
    for kind in ("csv", "json", "parquet"):
        shown.call("results", "export", "--format", kind, "--to", f"rows.{kind}")
    with (shown.place / "rows.csv").open() as file:
        from_csv = shown.rows(csv.DictReader(file))
    exported = json.loads((shown.place / "rows.json").read_text())["runs"]
    of_json = {
        "export": sorted(exported, key=lambda run: run["run_index"]),
        "show": shown.document()["runs"],
    }
    found = {
        "csv": [float(row["iops"]) for row in from_csv],
        "parquet": [row["iops"] for row in shown.rows(pl.read_parquet("rows.parquet").to_dicts())],
        "load_measurements": [
            row["iops"]
            for row in shown.rows(diskbench.load_measurements().sort("run_id").to_dicts())
        ],
    }
    for name, runs in of_json.items():
        rows = [
            shown.rows([row for step in run["steps"] for row in step["measurements"]])
            for run in sorted(runs, key=lambda run: run["run_id"])
        ]
        found[name] = [row["iops"] for of_run in rows for row in of_run]
        if case.get("latencies") is False:
            assert all(row["lat_mean_ns"] is None for of_run in rows for row in of_run)
    found["verdicts"] = [
        one["stretches"][one["main"]]["iops"]
        for run in sorted(of_json["show"], key=lambda run: run["run_id"])
        for one in run["verdicts"]
    ]
    frame = diskbench.load_verdicts(evidence=shown.store).filter(pl.col("stands_for"))
    found["load_verdicts"] = frame.sort("run_id")["iops"].to_list()
    for name, values in found.items():
        assert values == near(expected), name
    exact = found.pop("csv")
    for name, values in found.items():
        assert values == pytest.approx(exact, rel=1e-9), name


def test_the_figure_over_all_runs_is_the_same(shown):
    """Comparisons and sets of replicates have a figure a trial."""
    expected, line = shown.case["figure"], shown.direction
    figures = trial_figures(shown.database, [], "iops")
    (figure,) = [one for one in figures if one.line.direction == line]
    (told,) = [
        one
        for one in replicates_of(shown.database, [], evidence=shown.evidence).lines
        if one.direction == line
    ]
    assert figure.value == near(expected)
    assert told.replicated.median == figure.value
    if told.verdict is not None:
        assert told.verdict.replicated.median == pytest.approx(figure.value, rel=1e-9)
    latencies = trial_figures(shown.database, [], "lat_mean_ns")
    assert all(one.spans_cliff for one in latencies) == (shown.case.get("latencies") is False)


def test_every_text_shows_the_figure_and_never_a_mean_across_levels(shown):
    case = shown.case
    figure = format_iops(float(case["figure"]))
    texts = {
        "table": shown.table(), "page": words(shown.page("report.html")),
        "markdown": shown.page("report.md"), "picture": words(shown.page("report.svg")),
    }  # fmt: skip
    site = shown.site()
    runs = [text for name, text in site.items() if name.startswith("trials/")]
    texts["site"] = words(site["runs.html"]) if "runs.html" in site else words(site["index.html"])
    texts["page of a trial"] = "\n".join(map(words, runs))
    for name, text in texts.items():
        assert name == "site" or has(text, figure), (name, figure)
    for each in case["of_runs"]:
        assert has(texts["page of a trial"], format_iops(float(each))), each
    if "runs" in case:
        texts["progress"] = "\n".join(shown.progress())
        for each, line in zip(case["of_runs"], texts["progress"].splitlines(), strict=True):
            assert has(line, format_iops(float(each))), (each, line)
    for number in case.get("never", ()):
        for name, text in texts.items():
            assert not has(text, number), (name, number)


def test_the_verdict_says_what_stands_against_the_figure(shown):
    case = shown.case
    verdicts = [one for run in shown.document()["runs"] for one in run["verdicts"]]
    if "trust" in case:
        assert {one["trust"] for one in verdicts} == {case["trust"]}
    codes = {reason["code"] for one in verdicts for reason in one["reasons"]}
    assert ("stalled" in codes) == (case.get("code") == "stalled")
    if case.get("code"):
        assert "No I/O in " in shown.table()
    phases = [one for run in shown.document()["runs"] for one in run.get("phases", ())]
    if "steady" in case:
        assert {one["steady"]["state"] for one in phases} == {case["steady"]}


DISKS = Path(__file__).parents[2] / "cases" / "limiter"
KIB, MIB = 1024, 1024 * 1024
Files = Callable[[Path], list[str]]

QUICK = (
    Job("rand-read-4k", "randread", 4 * KIB, 32, 3010),
    Job("rand-write-4k", "randwrite", 4 * KIB, 32, 3004),
    Job("seq-read-1m", "read", MIB, 8, 125),
    Job("latency-4k", "randread", 4 * KIB, 1, 1450),
)
IMPORTED: dict[str, tuple[Files, tuple[str, ...]]] = {
    "gp2-cliff": (
        lambda at: bucket_logs(at, 5_400_000, 3000, 300, 2600),
        ("--as-disk", "aws:gp2:100", "--as-machine", "m5.large"),
    ),
    "gp2-gobonniego": (gobonniego_file, ("--as-disk", "aws:gp2:20", "--as-machine", "c4.xlarge")),
    "gp3-flat": (lambda at: fio_file(at, *QUICK), ("--as-disk", "aws:gp3:100")),
    "st1": (
        lambda at: bucket_logs(at, 1_000_000, 250, 40, 3000, kib=1024),
        ("--as-disk", "aws:st1:1024"),
    ),
    "pd-ssd": (
        lambda at: fio_file(
            at,
            Job("rand-read-4k", "randread", 4 * KIB, 64, 5980),
            Job("rand-write-4k", "randwrite", 4 * KIB, 64, 3100),
            Job("seq-write-1m", "write", MIB, 16, 46),
        ),
        ("--as-disk", "gcp:pd-ssd:100"),
    ),
    "azure-host-cache": (
        lambda at: fio_file(
            at,
            Job("rand-read-4k", "randread", 4 * KIB, 64, 9800),
            Job("rand-write-4k", "randwrite", 4 * KIB, 64, 1104),
        ),
        ("--as-disk", "azure:Premium_LRS:256:cache=readonly", "--as-machine", "Standard_D2s_v3"),
    ),
    "hyperdisk": (
        lambda at: flat_logs(at, 10_010, 600),
        ("--as-disk", "gcp:hyperdisk-balanced:500:iops=10000"),
    ),
    "page-cache": (
        lambda at: fio_file(
            at,
            Job("rand-read-4k", "randread", 4 * KIB, 1, 310_000, direct=False, size="1g"),
            Job("seq-write-1m", "write", MIB, 1, 2400, direct=False, size="1g"),
        ),
        ("--as-disk", "aws:gp3:100"),
    ),
    "unnamed-cliff": (lambda at: bucket_logs(at, 900_000, 3000, 100, 900), ()),
    "unnamed-flat": (lambda at: flat_logs(at, 26, 600, kib=1024), ()),
    "undocumented-burst": (lambda at: fio_file(at, QUICK[0]), ("--as-disk", "gcp:pd-standard:20")),
}


@pytest.mark.parametrize("name", IMPORTED)
def test_the_verdict_on_an_imported_run(name, diskbench, golden, tmp_path):
    files, options = IMPORTED[name]
    run_id = diskbench("results", "import", *files(tmp_path), *options).split()[0]
    said = diskbench("results", "show", run_id, "-v", "--no-plot").replace(str(tmp_path), "HERE")
    said = re.sub(r"\b[0-9a-z]{26}\b", "RUN", said).replace(short(run_id), "RUN")
    golden.check(f"verdicts/{name}.txt", re.split(r"^run RUN ", said, flags=re.MULTILINE)[0])


MEASURED = {"local-nvme": ("busy-core", []), "network-filesystem": ("nfs", [NETWORK_FILESYSTEM])}


@pytest.mark.parametrize("name", MEASURED)
def test_the_verdict_on_a_run_of_ours(name, golden):
    case, doubts = MEASURED[name]
    recorded = plain_yaml((DISKS / f"{case}.yaml").read_text("utf-8"))
    judged = judge(recorded | {"warnings": [doubt.code for doubt in doubts]})
    warnings = [
        doubt_of(one.code).warning(one.message.replace("recorded", "the target is on nfs4"))
        for one in judged.reasons
    ]
    warnings = [warning.model_copy(update={"step": "step"}) for warning in warnings]
    stream = io.StringIO()
    rows = [row(step="step", iops=recorded["measured"]["iops"])]
    subject = subject_of_plan(plan())
    print_result(subject, rows, warnings, (), [judged], console=Console(file=stream, width=80))
    golden.check(f"verdicts/{name}.txt", stream.getvalue())

"""What replicates say together, and verdicts in words, within 80 columns."""

import re
import time
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report import reported
from tests.unit.report.reported import judged

from diskbench.analysis.compare import percent
from diskbench.model import comparison
from diskbench.model.campaign import Replicates
from diskbench.model.comparison import Difference, Interval, Replicated, Side
from diskbench.model.doubts import Reason, doubt_of
from diskbench.model.history import History, HistoryPoint, LevelChange
from diskbench.model.result import AuditCheck, StepAudit
from diskbench.report.assemble.words import figure, figure_text
from diskbench.report.terminal import compare_text
from diskbench.report.terminal.compare_text import replicated_text
from diskbench.report.terminal.import_text import import_line
from diskbench.report.terminal.verdict_text import verdict_lines
from diskbench.store.import_sources import ImportSource
from diskbench.store.imports import ReadImport
from diskbench.store.manifest import ImportRecord, Manifest

NARROW = Replicated(
    trials=10, machines=10, median=3000, low=2900, high=3100, variation=0.01, more=0,
    interval=Interval(low=2990, high=3010, coverage=0.979),
)  # fmt: skip
FEW = Replicated(trials=3, machines=3, median=2000, low=1900, high=2100, variation=0.05, more=7)


def a_line(**changes):
    values = {
        "block": "aws gp2", "step": "rand", "direction": "read", "metric": "iops", "a": NARROW,
        "b": FEW, "pairs": 3, "n": 3, "unpaired": 7, "in_turn": True, "ratio": 0.67,
        "finding": "too few", "sentence": "B/A is 0.67; no interval (n = 3)",
    }  # fmt: skip
    return comparison.Compared(**(values | changes))


def text(*lines, verbose=False, **changes):
    sides = {"a": Side(asked="x=1", trials=("t1",)), "b": Side(asked="x=2", trials=("t2", "t3"))}
    found = comparison.Comparison(compared=lines, **(sides | changes))
    return "\n".join(compare_text.compare_lines(found, verbose=verbose))


NOISY = NARROW.model_copy(update={"more": None, "outliers": ("01abc",)})
ALONE = "3,000 IOPS (2,990 IOPS to 3,010 IOPS, n = 10), CoV 1.0 %"


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        (NARROW, ALONE),
        (FEW, "2,000 IOPS, no interval (n = 3), CoV 5.0 %, measure 7 more machines, ten in all"),
        (NOISY, f"{ALONE}, too noisy for ±5 %, outliers: 01abc"),
    ],
    ids=["narrow", "few", "noisy"],
)
def test_a_figure_has_its_unit_and_its_interval_or_what_it_lacks(figure, told):
    assert replicated_text(figure, figure_text("iops")) == told
    assert figure_text("p99_ns")(1_500_000) == "1.50 ms"
    assert figure_text("bytes_per_s")(102_600_000) == "103 MB/s"


def test_a_doubt_of_all_lines_of_a_block_is_told_once():
    shown = text(
        a_line(doubts=("not in turn", "mixed kernels")),
        a_line(step="seq", doubts=("not in turn",)),
        a_line(block="aws gp3", doubts=("not in turn",)),
    )
    assert shown.count("! not in turn") == 2
    assert shown.count("! rand read: mixed kernels") == 1


def test_what_sets_the_sides_apart_stands_above_and_several_tests_are_judged_together():
    many = Difference(fact="zone", a=tuple("abcdefgh"), b=("–",))
    shown = text(a_line(differences=(KERNEL,)), a_line(step="seq", differences=(KERNEL, many)))
    assert "differ in kernel 6.1 → 6.5; zone a, b, c, d, e, f and 2 more → –" in shown
    assert shown.index("differ in") < shown.index("rand read")
    assert "1 comparison" not in text(a_line(q=0.01), verbose=True)
    two = (a_line(q=0.01), a_line(step="b", q=0.3))
    assert "2 comparisons" in text(*two, verbose=True)


def test_what_was_not_compared_is_told_with_its_reason_and_no_line_is_too_long():
    why = "only A measured it, " + "and so on " * 12
    left = comparison.NotCompared(block="aws gp3", why=why)
    shown = text(a_line(step="a-step-with-a-very-long-name" * 3), not_compared=(left,))
    assert "not compared\n  aws gp3: only A measured it" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_table_has_a_row_for_each_figure_and_names_a_step_once():
    shown = text(
        a_line(finding="differs", p=0.002, interval=Interval(low=0.6, high=0.7, coverage=0.98)),
        a_line(metric="p99_ns", finding="noise", p=0.4, ratio=1.02),
        a_line(step="seq", finding="alike", p=0.4, ratio=1.0),
    )
    assert shown.count("rand read") == 1
    rows = [line for line in shown.splitlines() if line.endswith(("0.002", "0.400"))]
    assert [row.split()[-1] for row in rows] == ["0.002", "0.400", "0.400"]
    assert rows[0].split()[-6:] == ["−33", "%", "−40", "to", "−30", "0.002"]
    assert rows[1].split()[0] == "p99"
    assert shown.splitlines()[-1].startswith("~ ")


FIGURES = st.floats(1, 1e7)


@given(FIGURES, FIGURES, st.floats(0.1, 10), st.sampled_from(["too few", "noise", "differs"]))
def test_the_change_beside_two_figures_is_theirs(a, b, ratio, finding):
    sides = [NARROW.model_copy(update={"median": median}) for median in (a, b)]
    shown = text(a_line(a=sides[0], b=sides[1], ratio=ratio, finding=finding))
    (head,) = [line for line in shown.splitlines() if line.startswith("step ")]
    (row,) = [line for line in shown.splitlines() if line.startswith("rand read")]
    columns = [name for name in re.split(r" {2,}", head) if name][1:]
    cells = dict(zip(columns, re.split(r" {2,}", row)[2:], strict=True))
    assert cells["change"].removeprefix("? ").removeprefix("~ ") == percent(b / a)
    if percent(ratio) != percent(b / a):
        assert cells["in pairs"].endswith(percent(ratio))
    else:
        assert "in pairs" not in cells


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(day):
    return f"2026-11-{day:02d}T03:30:00.000000+00:00"


def history(values, *changes, visible=0.05, block="aws gp2"):
    points = tuple(
        HistoryPoint(at=at(day), campaign_id=f"c{day}", value=value, trials=3)
        for day, value in enumerate(values, 1)
    )
    return History(
        block=block, step="rand", direction="read", metric="iops", points=points, changes=changes,
        noise=0.012, span=0.2, visible=visible,
    )  # fmt: skip


def change(size, **more):
    values = {
        "at": at(5), "before": at(4), "median_before": 3000, "median_after": 3000 * (1 + size),
        "change": size, "regression": size < 0, "p": 1e-6, "since": 4,
    }  # fmt: skip
    return LevelChange(**(values | more))


KERNEL = Difference(fact="kernel", a=("6.1",), b=("6.5",))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (history([3000] * 4 + [2400] * 4, change(-0.2, differences=(KERNEL,))),
         ["aws gp2, rand read: measured 8 times", "2026-11-05 ",
          "worse: 3,000 IOPS → 2,400 IOPS (−20.0 %), measured 4 times since",
          "what changed with it: kernel 6.1 → 6.5"]),
        (history([3000] * 9, change(0.1)), ["better: 3,000 IOPS → 3,300 IOPS (+10.0 %)"]),
        (history([3000] * 9),
         ["no change in 9 measurements; a change of 5 % or more would have been"]),
        (history([3000] * 3, visible=None),
         ["1 figure measured at most 3 times: a change needs at least six measurements"]),
    ],
    ids=["worse", "better", "none", "too few"],
)  # fmt: skip
def test_a_history_tells_its_change_or_what_would_be_seen(found, told):
    shown = " ".join(" ".join(compare_text.regression_lines([found])).split())
    assert all(words in shown for words in told), shown


def test_the_largest_change_comes_first_and_what_did_not_change_last():
    small = history([1] * 9, change(-0.06), block="small")
    large = history([1] * 9, change(0.5), block="large")
    calm = history([1] * 9, block="calm")
    lines = list(compare_text.regression_lines([calm, small, large]))
    shown = "\n".join(lines)
    assert shown.index("large") < shown.index("small") < shown.index("calm")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("marks", "trials", "warned"),
    [(("emulated",), 10, True), (("emulated",), 1, False), ((), 10, False)],
)
def test_emulated_replicates_are_said_to_share_a_machine(marks, trials, warned):
    found = Replicates(asked="x", trials=trials, marks=marks, lines=())
    lines = list(compare_text.replicate_lines(found))
    assert any("physical machine" in line for line in lines) == warned
    assert all(len(line) <= 80 for line in lines)


verdict = partial(reported.verdict, step="randread", run_id="a")


def texts(*found):
    return [" ".join(text.split()) for _, text in verdict_lines(found)]


def test_each_phase_of_a_step_or_its_one_level_has_a_line_and_the_step_one_verdict():
    _, line = texts(verdict(judged(2990, promised=3000)))
    assert line == "randread 3,000 2,990 100% disk IOPS yes"
    assert verdict_lines([]) == []
    found = texts(verdict(judged(2990, limiter="unknown", evidence=("why it is so",))))
    told = ["randread 2,990 unknown yes", "randread: Why it is so."]
    assert found[1:] == told, "without a promise nothing is compared"
    burst = judged(3000, promised=3000, kind="burst", start_s=0)
    baseline = judged(100, promised=100, kind="baseline", start_s=1862, limiter="credit")
    assert texts(verdict(burst, baseline))[1:] == [
        "randread yes",
        "burst at 0:00 3,000 3,000 100% disk IOPS",
        "baseline at 31:02 100 100 100% credit used up",
    ]


def test_a_doubt_is_named_once_for_all_steps_that_share_it_and_said_of_those_it_is_true_of():
    reason = Reason(code="client-bound", weight="with care", message="a core was busy")
    one = verdict(judged(1), trust="with care", reasons=(reason,))
    both = (one, one.model_copy(update={"step": "randwrite"}))
    below = {("randread", "client-bound"), ("randwrite", "client-bound")}
    words = doubt_of("client-bound").words
    assert verdict_lines(both, below)[-1][1].startswith("! randread, randwrite: ")
    assert verdict_lines(both, below)[-1][1].endswith(words)
    assert texts(*both)[-1] == "! randread, randwrite: A core was busy."
    # The baseline of large blocks is another number than that of small ones.
    one, found = judged(3000, promised=3000, kind="burst"), []
    for step, iops in {"a": 100, "b": 100, "c": 25}.items():
        reason = Reason(code="burst-only", weight="note", message=f"{iops} IOPS")
        found.append(verdict(one, step=step, reasons=(reason,)))
    assert {"a, b: 100 IOPS.", "c: 25 IOPS."} <= set(texts(*found))


def test_runs_that_fell_are_told_level_by_level_and_large_blocks_in_mb_per_s():
    runs = [verdict(judged(3000, kind="burst"), run_id=f"{n}") for n in range(3)]
    runs += [verdict(judged(100, kind="baseline", limiter="credit"), run_id=f"{n}") for n in (3, 4)]
    assert texts(*runs)[1:4] == [
        "randread, by run",
        "burst 1–3 3,000 disk IOPS yes",
        "baseline 4–5 100 credit used up yes",
    ]
    assert figure(1000, 1000 * 4096) == "1,000"
    assert figure(94, 94 * 2**20) == "98.6 MB/s"
    assert figure(None, 250e6) == "250 MB/s"
    assert figure(None, None) == "–"


@given(
    step=st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=60),
    iops=st.floats(0.01, 1e8),
    promised=st.floats(1, 1e8),
    limit=st.sampled_from(["vm-cached-throughput", "queue-depth", "client", "page-cache"]),
)
def test_no_line_is_longer_than_eighty_columns(step, iops, promised, limit):
    one = judged(iops, promised=promised, limiter=limit, kind="baseline", start_s=86_400)
    reason = Reason(code="burst-only", weight="note", message="burst only: " + "word " * 40)
    for found in (verdict(one, step=step), verdict(one, one, step=step, reasons=(reason,))):
        assert all(len(text) <= 80 for _, text in verdict_lines([found]))


# The last line of an import: a mark stands only where a check was really made.


BYTES, LOGS, DATE = 1, 2, 3
"""The places of the checks in the line."""


def run(*steps, unchecked=0, logs=0, date="2018-03-16", local_time=None):
    """A run of steps with these checks (name → whether it holds), and of some without any."""
    audits = tuple(
        StepAudit(run_id="r", step_index=index, step=f"s{index}", checks=tuple(
            AuditCheck(name=name, holds=holds, message=f"{name} differ")
            for name, holds in checks.items()
        ))
        for index, checks in enumerate(steps)
    )  # fmt: skip
    parsed = None
    source = ImportSource("a.json", b"", parsed, {f"a_bw.{n}.log": b"" for n in range(logs)})
    record = ImportRecord.model_construct(kind="fio-json", local_time=local_time)
    manifest = Manifest.model_construct(trial_id="t", imported=record)
    return ReadImport(source, manifest, date, len(steps) + unchecked, audits)


def parts(*runs):
    return import_line(runs).split(" · ")


def test_twelve_runs_whose_checks_all_hold_have_the_line_of_the_docs():
    sound = dict.fromkeys(("bytes", "rate", "percentiles", "end", "logs"), True)
    assert import_line([run(sound, sound, sound, logs=2) for _ in range(12)]) == (
        "12 runs of 3 steps in 1 trial · bytes = I/Os × block ✓ · logs sum to JSON ✓ · "
        "date 2018-03-16 ✓"
    )


@pytest.mark.parametrize(
    ("runs", "place", "text"),
    [
        ([run({"bytes": None})], BYTES, "bytes = I/Os × block not checked"),
        ([run(unchecked=6)], BYTES, "bytes = I/Os × block not checked"),
        ([run({"bytes": True}, unchecked=2)], BYTES, "bytes = I/Os × block ✓ in 1 of 3 steps"),
        ([run({"bytes": True})], LOGS, "no logs"),
        ([run({"bytes": True, "logs": None}, logs=1)], LOGS, "logs sum to JSON not checked"),
        ([run({"logs": True}, logs=1), run({"logs": None})], LOGS,
         "logs sum to JSON ✓ in 1 of 2 steps"),
        ([run(date=None)], DATE, "no date in the file (give it with --measured-on)"),
        ([run({}), run({}, date=None)], DATE, "date 2018-03-16, of 1 of 2 runs"),
    ],
)  # fmt: skip
def test_what_was_not_checked_has_no_mark_of_its_own(runs, place, text):
    assert parts(*runs)[place] == text


@pytest.mark.parametrize("name", ["bytes", "logs", "rate", "percentiles"])
def test_any_check_that_fails_is_there_with_its_step(name):
    (said,) = [part for part in parts(run({}, {name: False}, logs=1)) if "✗" in part]
    assert said.endswith(f"✗ in step s1: {name} differ")

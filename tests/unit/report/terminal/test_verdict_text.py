"""Verdicts in words, within 80 columns."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report import reported
from tests.unit.report.reported import judged

from diskbench.model.doubts import Reason, doubt_of
from diskbench.model.result import AuditCheck, StepAudit
from diskbench.report.assemble.words import figure
from diskbench.report.terminal.import_text import import_line
from diskbench.report.terminal.verdict_text import verdict_lines
from diskbench.store.import_sources import ImportSource
from diskbench.store.imports import ReadImport
from diskbench.store.manifest import ImportRecord, Manifest

verdict = partial(reported.verdict, step="randread", run_id="a")


def texts(*found):
    return [" ".join(text.split()) for _, text in verdict_lines(found)]


def test_a_step_of_one_level_is_a_line():
    _, line = texts(verdict(judged(2990, promised=3000)))
    assert line == "randread 3,000 2,990 100% disk IOPS yes"
    assert verdict_lines([]) == []
    found = texts(verdict(judged(2990, limiter="unknown", evidence=("why it is so",))))
    told = ["randread 2,990 unknown yes", "randread: Why it is so."]
    assert found[1:] == told, "without a promise nothing is compared"


def test_each_phase_has_a_line_and_the_step_one_verdict():
    burst = judged(3000, promised=3000, kind="burst", start_s=0)
    baseline = judged(100, promised=100, kind="baseline", start_s=1862, limiter="credit")
    assert texts(verdict(burst, baseline))[1:] == [
        "randread yes",
        "burst at 0:00 3,000 3,000 100% disk IOPS",
        "baseline at 31:02 100 100 100% credit used up",
    ]


def test_a_doubt_is_named_once_for_all_steps_that_share_it():
    reason = Reason(code="client-bound", weight="with care", message="a core was busy")
    one = verdict(judged(1), trust="with care", reasons=(reason,))
    both = (one, one.model_copy(update={"step": "randwrite"}))
    below = {("randread", "client-bound"), ("randwrite", "client-bound")}
    words = doubt_of("client-bound").words
    assert verdict_lines(both, below)[-1][1].startswith("! randread, randwrite: ")
    assert verdict_lines(both, below)[-1][1].endswith(words)
    assert texts(*both)[-1] == "! randread, randwrite: A core was busy."


def test_what_a_reason_says_is_said_of_the_steps_that_it_is_true_of():
    """The baseline of large blocks is another number than that of small ones."""
    one, found = judged(3000, promised=3000, kind="burst"), []
    for step, iops in {"a": 100, "b": 100, "c": 25}.items():
        reason = Reason(code="burst-only", weight="note", message=f"{iops} IOPS")
        found.append(verdict(one, step=step, reasons=(reason,)))
    assert {"a, b: 100 IOPS.", "c: 25 IOPS."} <= set(texts(*found))


def test_runs_that_fell_are_told_level_by_level():
    runs = [verdict(judged(3000, kind="burst"), run_id=f"{n}") for n in range(3)]
    runs += [verdict(judged(100, kind="baseline", limiter="credit"), run_id=f"{n}") for n in (3, 4)]
    assert texts(*runs)[1:4] == [
        "randread, by run",
        "burst 1–3 3,000 disk IOPS yes",
        "baseline 4–5 100 credit used up yes",
    ]


def test_large_blocks_are_told_in_mb_per_s():
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
    parsed: Any = None
    source = ImportSource("a.json", b"", parsed, {f"a_bw.{n}.log": b"" for n in range(logs)})
    record = ImportRecord.model_construct(local_time=local_time)
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

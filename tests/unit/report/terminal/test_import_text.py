"""The last line of an import: a mark stands only where a check was really made."""

from typing import Any

import pytest

from diskbench.model.result import AuditCheck, StepAudit
from diskbench.report.terminal.import_text import import_line
from diskbench.store.import_sources import ImportSource
from diskbench.store.imports import ReadImport
from diskbench.store.manifest import ImportRecord, Manifest

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

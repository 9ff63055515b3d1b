"""Real outputs of each tool as rows, whole; and one run of fio, which all its forms tell alike.

tests/golden/imports.txt holds all that is read of each file. Its figures were compared with what
was worked out by hand from what each tool prints, before they were kept: units, counts, times and
latencies of each format and version (2026-11-28). Read its diff in the same way.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from diskbench.importers.form import Imported
from diskbench.importers.registry import read_imported
from diskbench.model.result import Measurement

CASES = Path(__file__).parents[2] / "cases"
FOLDERS = ("imports", "imported")
OF_THE_STEP = {"run_id", "step_index", "step", "round", "role", "job_index"}


def test_all_that_is_read_of_each_file_is_as_it_was_worked_out(golden):
    files = [path for folder in FOLDERS for path in sorted((CASES / folder).iterdir())]
    said = [
        line
        for path in files
        if path.is_file() and path.suffix != ".md"
        for line in told(path.name, read_imported(path.read_bytes(), name=path.name))
    ]
    golden.check("imports.txt", "\n".join(said))


def told(name: str, found: Imported) -> Iterator[str]:
    """All that was read of a file."""
    yield f"{name}: {found.kind} {found.tool_version} {dict(sorted(found.facts.items()))}"
    yield from (f"  note: {note}" for note in found.notes)
    for run in found.runs:
        yield f"  run: {run.started_at} to {run.finished_at}, {run.local_time}"
        yield from (f"    note: {note}" for note in run.notes)
        yield from ([f"    beside it: {run.reports}"] if run.reports else [])
        for step in run.steps:
            doubts = [warning.code for warning in step.warnings]
            compared = "compared" if step.compared else "not compared"
            yield f"    {step.step.name}: {compared}, {doubts}"
            yield from (f"      | {line}" for line in step.step.job.splitlines() if line)
            yield from (f"      {figures(row)}" for row in step.measurements)


def figures(row: Measurement) -> str:
    """The fields of a row that its file says."""
    told_fields = ((k, v) for k, v in row if v is not None and k not in OF_THE_STEP)
    return " ".join(f"{k}={v:.9g}" if isinstance(v, float) else f"{k}={v}" for k, v in told_fields)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["normal", "terse-3", "terse-4", "terse-5"])
def test_the_same_run_in_json_and_in_another_form_gives_the_same_rows(form, tmp_path):
    kind, _, version = form.partition("-")
    out = tmp_path / "out"
    subprocess.run(
        ["fio", f"--output-format={kind},json", f"--terse-version={version or 3}",
         f"--output={out}",
         f"--directory={tmp_path}", "--size=1m", "--ioengine=psync", "--name=a", "--rw=randrw",
         "--bs=8k", "--name=b", "--stonewall", "--rw=write", "--bs=64k", "--numjobs=2",
         "--group_reporting"],
        start_new_session=True, check=True, capture_output=True, timeout=240,
    )  # fmt: skip
    text = out.read_text()
    begin, end = text.index("{"), text.rindex("}") + 1
    document = json.loads(text[begin:end])
    other = (text[:begin] + text[end:]).encode()
    one = read_imported(text[begin:end].encode(), name="x.json")
    two = read_imported(other, name="x.txt")
    assert one.kind == "fio-json"
    assert two.kind == ("fio-text" if kind == "normal" else "fio-terse")
    assert len(document["jobs"]) == 2
    for ours, theirs in zip(one.runs[0].steps, two.runs[0].steps, strict=True):
        assert ours.step.name == theirs.step.name
        left, right = (
            {row.direction: row for row in step.measurements if row.scope == "step"}
            for step in (ours, theirs)
        )
        assert left.keys() == right.keys()
        for direction, row in left.items():
            that = right[direction]
            assert (row.bytes, row.runtime_ns) == (that.bytes, that.runtime_ns)
            assert that.ios == row.ios
            assert that.clat_mean_ns == pytest.approx(row.clat_mean_ns, abs=20)
            assert that.clat_max_ns == pytest.approx(row.clat_max_ns, abs=1000)

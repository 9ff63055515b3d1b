"""What fio itself wrote: JSON and json+, terse lines, normal text, and log files.

All forms of a report become the same FioOutput (fio/reported.py), so rows, audits and the logs
beside a report do not depend on its form. Log files are recognised by their name, and read for
their seconds by store/series.py.
"""

import re
from collections.abc import Sequence
from functools import partial

from diskbench.errors import FioOutputUnreadable, InvalidValue
from diskbench.fio.company import counted_company
from diskbench.fio.declared import job_text
from diskbench.fio.logs import layout, log_name
from diskbench.fio.output import parse_runs
from diskbench.fio.reported import NO_JOB_FILE, FioOutput, JobFile
from diskbench.fio.rows import measurements
from diskbench.fio.terse import TERSE, parse_terse
from diskbench.fio.text import RESULT, parse_text
from diskbench.fio.warnings import step_warnings
from diskbench.importers import form
from diskbench.importers.fio_runs import split_runs
from diskbench.importers.fio_told import commands_in, with_job_file, with_told
from diskbench.limits import FASTEST
from diskbench.model.doubts import FIGURES_DISAGREE
from diskbench.model.facts import HostFacts
from diskbench.model.spec import Step


def read_reports(
    kind: str, data: bytes, *, where: str, beside: JobFile = NO_JOB_FILE
) -> tuple[FioOutput, ...]:
    """What each fio in a file of one of FIO_REPORTS reports, one for each run; `beside` says what a
    report leaves out. Raises FioOutputUnreadable."""
    data = form.as_utf8(data)
    if kind == "fio-json":
        return with_job_file(parse_runs(data, where=where), beside)
    text = form.text_of(data, where)
    outputs = (parse_terse if kind == "fio-terse" else parse_text)(text.encode(), where=where)
    return with_job_file(with_told(outputs, commands_in(text)), beside)


def report_steps(
    kind: str, data: bytes, index: int, *, where: str, beside: JobFile = NO_JOB_FILE
) -> tuple[tuple[Step, FioOutput], ...]:
    """The steps of run `index` in a file, each with what fio reports of it. Raises
    FioOutputUnreadable, also where the file has no such run."""
    runs = split_runs(read_reports(kind, data, where=where, beside=beside))
    if not 0 <= index < len(runs):
        raise FioOutputUnreadable(f"{where}: it has {len(runs)} runs, but no run {index}")
    return runs[index]


def read_report(
    kind: form.ImportKind, data: bytes, name: str, beside: JobFile = NO_JOB_FILE
) -> form.Imported:
    """The runs in a report of fio, with what a job file beside it says. Raises InvalidValue,
    FioOutputUnreadable."""
    if kind == "fio-json":
        form.check_json(data, name)
    outputs = read_reports(kind, data, where=name, beside=beside)
    runs = tuple(map(_run_of_parts, split_runs(outputs)))
    return form.Imported(kind, outputs[0].version, runs, _facts(outputs[0]))


def _run_of_parts(parts: Sequence[tuple[Step, FioOutput]]) -> form.ImportedRun:
    steps = tuple(_step(step, part) for step, part in parts)
    outputs = [part for _, part in parts]
    for row in (row for step in steps for row in step.measurements):
        if max(row.bytes_per_s or 0, row.iops or 0) > FASTEST:
            raise FioOutputUnreadable(
                f"{outputs[0].where}: {row.bytes or 0:,} bytes of step {row.step!r} in "
                f"{(row.runtime_ns or 0) / 1e9:.3g} s are more than any disk moves"
            )
    starts = [job.start_ms for output in outputs for job in output.jobs if job.start_ms]
    if not starts:
        starts = [output.begun_ms for output in outputs if output.begun_ms]
    ends = [output.timestamp_ms for output in outputs if output.timestamp_ms]
    return form.ImportedRun(
        steps,
        started_at=form.utc(min(starts) / 1000) if starts else None,
        finished_at=form.utc(max(ends) / 1000) if ends else None,
        local_time=outputs[0].local_time,
        notes=tuple(dict.fromkeys(note for output in outputs for note in output.notes)),
        reports="; ".join(dict.fromkeys(o.reports for o in outputs if o.reports)),
    )


def _step(step: Step, part: FioOutput) -> form.ImportedStep:
    rows = measurements(part, run_id="", step=step)
    told = step.model_copy(update={"job": job_text(part)})
    company = (doubt.model_copy(update={"step": step.name}) for doubt in counted_company(part))
    doubts = (*step_warnings(told, rows, part, HostFacts(), None), *company)
    # Its audit goes by the report alone (store/audits.py): the options are not all there.
    others = tuple(doubt for doubt in doubts if doubt.code != FIGURES_DISAGREE.code)
    return form.ImportedStep(step, rows, warnings=others)


def _facts(output: FioOutput) -> dict[str, str | int | float]:
    hosts = {job.host for job in output.jobs if job.host}
    disks = {disk.name for disk in output.disks if disk.name}
    named = {"hosts": ", ".join(sorted(hosts)), "disks": ", ".join(sorted(disks))}
    return {"fio_version": output.version, **{key: text for key, text in named.items() if text}}


def _is_terse(data: bytes, _: str) -> bool:
    match = TERSE.search(form.head_of(data))
    if match is None or match["version"] == "2":
        return False
    return ";fio-" in match.string[match.start() :]


FIO_JSON = form.Format(
    "fio-json",
    "fio's --output-format=json or json+",
    lambda data, _: any(s in data for s in (b'"fio version"', b'"client_stats"', b'"jobname"')),
    partial(read_report, "fio-json"),
)
FIO_TERSE = form.Format(
    "fio-terse",
    "fio's terse output (versions 3, 4, 5)",
    _is_terse,
    partial(read_report, "fio-terse"),
)
FIO_TEXT = form.Format(
    "fio-text",
    "fio's normal text",
    lambda data, _: RESULT.search(form.head_of(data)) is not None,
    partial(read_report, "fio-text"),
)


_FIRST_LINE = 1024
_NO_NUMBER = re.compile(rb"[^0-9a-fA-FxX,\s-]")
"""Priorities are hexadecimal in newer logs."""
_NEWLINE = b"\n"


def check_log(data: bytes, *, name: str) -> None:
    """Check that a value log of fio is complete: only numbers, and a last line of as many columns.

    Raises InvalidValue naming the line, also for a file without any row.
    """
    log = log_name(name)
    if log is None or log.kind == "hist" or name.endswith(".zst"):
        return
    bad = _NO_NUMBER.search(data)
    ends = data.rstrip()
    at = bad.start() if bad else ends.rfind(b"\n") + 1
    line = data[data.rfind(b"\n", 0, at) + 1 :].partition(b"\n")[0].strip()
    if not bad and line.count(b",") == data.partition(b"\n")[0].count(b",") and ends:
        return
    mistake = f"line {data.count(_NEWLINE, 0, at) + 1} is not a row of a fio log: {line[:80]!r}"
    raise InvalidValue(
        f"{name}: {mistake if ends else 'it has no row'}",
        advice="it may have been cut while it was copied; without that line it can be imported"
        if ends
        else "with log_avg_msec fio writes a log when the job ends",
    )


def read_log(data: bytes, name: str) -> form.Imported:
    """A log as a run of one step without rows: fio's logs hold no totals."""
    log = log_name(name.rpartition("/")[2])
    assert log is not None
    step = form.step_of(0, log.prefix or "fio")
    run = form.ImportedRun((form.ImportedStep(step, ()),), started_at=_unix_start(data, name))
    return form.Imported("fio-log", "", (run,))


def _unix_start(data: bytes, name: str) -> str | None:
    """When a log with log_unix_epoch begins, in ISO 8601; None for other and damaged logs."""
    first = data[:_FIRST_LINE].partition(b"\n")[0]
    try:
        columns = layout(first + b"\n", where=name)
    except FioOutputUnreadable:
        return None
    return form.utc(int(first.partition(b",")[0]) / 1000) if columns and columns.epoch else None


FIO_LOG = form.Format(
    "fio-log",
    "fio's log files",
    lambda _, name: log_name(name.rpartition("/")[2]) is not None,
    read_log,
)

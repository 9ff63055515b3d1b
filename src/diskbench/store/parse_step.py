"""From the files of one step to its result: the one path, taken by a run and by its rebuild."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import EvidenceDamaged, FioFailed
from diskbench.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.model.facts import HostFacts
    from diskbench.model.result import StepResult
    from diskbench.model.spec import Step

PARSER_VERSION = 2
"""Raised when the same files give other rows; rows of different versions are not pooled.

2: quantiles lie between the exact extremes; a latency stands only where all jobs were timed.
"""
FIO_JSON = "fio.json"
FIO_EXIT = "fio.exit"
STDERR = "stderr.txt"
SAMPLES = "samples.txt"
CACHE = "cache.txt"
LIVE = "live.tsv"
LOCK = "lock.txt"
PARSED_FILES = (FIO_JSON, FIO_EXIT, STDERR, SAMPLES, CACHE, LIVE, LOCK)
"""All that `step_result` reads; logs are read when somebody asks for a series."""
_TAIL_LINES = 5


def step_result(
    step: Step,
    run_id: str,
    files: Mapping[str, bytes],
    facts: HostFacts,
    *,
    started_at: str,
    finished_at: str,
) -> StepResult:
    """The rows and warnings of `step` from the files fetched from the host (name → bytes).

    Raises FioFailed when fio ended with an error, FioOutputUnreadable when its output holds no
    result, EvidenceDamaged when a file is not there.
    """
    from diskbench.fio.company import company_warnings
    from diskbench.fio.offered import saturation_warning
    from diskbench.fio.output import parse_output
    from diskbench.fio.page_cache import cache_warning
    from diskbench.fio.rows import measurements
    from diskbench.fio.samples import parse_samples
    from diskbench.fio.warnings import step_warnings
    from diskbench.fio.written import fill_warning
    from diskbench.model.result import StepResult

    fio_exit = _exit_status(step, files)
    if fio_exit != 0:
        raise FioFailed(
            f"fio ended with status {fio_exit} in step {step.name!r}{_tail(files)}",
            advice="its job file and output are in the evidence: 'diskbench results show' names it",
        )
    output = parse_output(_file(files, FIO_JSON, step), where=f"{step.name}/{FIO_JSON}")
    samples = parse_samples(files[SAMPLES]) if files.get(SAMPLES) else None
    rows = measurements(output, run_id=run_id, step=step)
    result = StepResult(
        step_index=step.index,
        step=step.name,
        role=step.role,
        round=step.round,
        started_at=started_at,
        finished_at=finished_at,
        fio_exit=fio_exit,
        fio_version=output.version,
        measurements=rows,
        warnings=step_warnings(step, rows, output, facts, samples),
        seconds_in_fio=max((row.runtime_ns for row in rows), default=0) / NS_PER_S,
    )
    doubts = (
        saturation_warning(step, result),
        cache_warning(files.get(CACHE, b""), step),
        fill_warning(step),
    )
    told = tuple(doubt for doubt in doubts if doubt is not None)
    told += company_warnings(step, output, facts, files)
    return result.model_copy(update={"warnings": result.warnings + told}) if told else result


def _exit_status(step: Step, files: Mapping[str, bytes]) -> int:
    text = _file(files, FIO_EXIT, step).decode(errors="replace").strip()
    try:
        return int(text)
    except ValueError as error:
        raise EvidenceDamaged(
            f"{FIO_EXIT} of step {step.name!r} holds {text[:40]!r}, not an exit status"
        ) from error


def _file(files: Mapping[str, bytes], name: str, step: Step) -> bytes:
    try:
        return files[name]
    except KeyError:
        raise EvidenceDamaged(
            f"step {step.name!r} left no {name}",
            advice="was the host's state directory cleaned while the step ran?",
        ) from None


def _tail(files: Mapping[str, bytes]) -> str:
    """The last lines that fio wrote to stderr, or among its output, as part of a message."""
    for name in (STDERR, FIO_JSON):
        lines = files.get(name, b"").decode(errors="replace").strip().splitlines()
        told = [line for line in lines if "fio:" in line] or (lines if name == STDERR else [])
        if told:
            return ":\n  " + "\n  ".join(told[-_TAIL_LINES:])
    return ""

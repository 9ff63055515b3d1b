"""From the files of one step to its result: the one path, taken by a run and by its rebuild; which
files are parsed, and the version of what parses them."""

from collections.abc import Mapping

from diskbench.errors import EvidenceDamaged, FioFailed
from diskbench.fio.output import parse_output
from diskbench.fio.recorded import VOLUME, last_words, why_failed
from diskbench.fio.rows import measurements
from diskbench.fio.samples import parse_samples
from diskbench.fio.warnings import step_warnings
from diskbench.model.facts import HostFacts
from diskbench.model.result import LEFT_OUT, StepResult
from diskbench.model.spec import Step
from diskbench.units import NS_PER_S

PARSER_VERSION = 6
"""Raised when the same files give other rows; rows of different versions are not pooled."""
FIO_JSON = "fio.json"
FIO_EXIT = "fio.exit"
STDERR = "stderr.txt"
SAMPLES = "samples.txt"
CACHE = "cache.txt"
CANARIES = ("canary-before.txt", "canary-after.txt")
LIVE = "live.tsv"
LOCK = "lock.txt"
PARSED_FILES = (
    FIO_JSON,
    FIO_EXIT,
    STDERR,
    SAMPLES,
    CACHE,
    LIVE,
    LOCK,
    VOLUME,
    "end.txt",
    *CANARIES,
    LEFT_OUT,
)
"""All that `step_result` reads; logs are read when a series is requested."""
PARSED_IN_PART = (STDERR, SAMPLES, LIVE)
"""Those of which the first and the last sample are enough: a day of 192 cores is 1 GB."""
END_BYTES = 4 * 2**20
"""Of each end; a sample of 1,000 cores takes 70 kB."""


_LARGEST_EXIT = 255


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
    fio_exit = _exit_status(step, files)
    if why := why_failed(fio_exit, files):
        reason, advice = why
        raise FioFailed(f"step {step.name!r}: {reason}{last_words(files)}", advice=advice)
    output = parse_output(_file(files, FIO_JSON, step), where=f"{step.name}/{FIO_JSON}")
    samples = parse_samples(files[SAMPLES]) if files.get(SAMPLES) else None
    rows = measurements(output, run_id=run_id, step=step)
    seconds = max((row.runtime_ns or 0 for row in rows), default=0) / NS_PER_S
    return StepResult(
        step_index=step.index,
        step=step.name,
        role=step.role,
        round=step.round,
        started_at=started_at,
        finished_at=finished_at,
        fio_exit=fio_exit,
        fio_version=output.version,
        measurements=rows,
        warnings=step_warnings(step, rows, output, facts, samples, files),
        seconds_in_fio=seconds,
    )


def _exit_status(step: Step, files: Mapping[str, bytes]) -> int:
    text = _file(files, FIO_EXIT, step).decode(errors="replace").strip()
    if not (text.isascii() and text.isdecimal() and int(text[:4]) <= _LARGEST_EXIT):
        raise EvidenceDamaged(
            f"{FIO_EXIT} of step {step.name!r} holds {text[:40]!r}, not an exit status",
            advice="something on the host wrote into the step's directory: look at stderr.txt",
        )
    return int(text)


def _file(files: Mapping[str, bytes], name: str, step: Step) -> bytes:
    if name in files:
        return files[name]
    left_out = files.get(LEFT_OUT, b"").decode(errors="replace").splitlines()
    if why := next((line for line in left_out if line.startswith(f"{name}: ")), ""):
        raise EvidenceDamaged(
            f"step {step.name!r} has no {name} that could be kept: {why}",
            advice="check what replaced it on the host",
        )
    raise EvidenceDamaged(
        f"step {step.name!r} left no {name}",
        advice="something may have cleaned the host's state directory while the step ran",
    )

"""The JSON records that are stored beside the files of a run in the evidence store.

`step.json` closes a step's folder and `manifest.json` closes a run's: what has none is unfinished.
`pruned.json` names the raw logs that were removed later.
Unknown fields are ignored when read, because a later diskbench only ever adds some.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from diskbench.model.outcome import Problem
from diskbench.model.result import AuditCheck, RunState
from diskbench.model.spec import Cell, Step

FORMAT: Literal[1] = 1


_PLAIN = re.compile(r"[A-Za-z0-9_.+~-]+(?:/[A-Za-z0-9_.+~-]+)*")


def _inside(key: str) -> str:
    if not _PLAIN.fullmatch(key) or {".", ".."} & set(key.split("/")):
        raise ValueError("it leads out of its folder")
    return key


class Record(BaseModel):
    """What any record has in common."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


Key = Annotated[str, AfterValidator(_inside)]
"""Where something lies under its folder; never outside of it."""


class FileRecord(Record):
    """One file: where it lies under its folder, and what it held before compression."""

    key: Key
    bytes: int = Field(ge=0)
    sha256: str


class StepRecord(Record):
    """`step.json`. `stopped` marks the leavings of a step that a person stopped."""

    format: Literal[1] = FORMAT
    run_id: str
    step: Step
    started_at: str
    finished_at: str
    stopped: bool = False
    files: dict[str, FileRecord]


class StepEntry(Record):
    """A step in the manifest: its folder, the digest of its step.json, whether it has rows."""

    folder: Key
    sha256: str
    step_index: int
    step: str
    round: int | None = None
    started_at: str
    finished_at: str
    has_rows: bool
    files: dict[str, FileRecord]


class MissingStep(Record):
    """A step that has rows, and no closed folder in the store in which its run ended."""

    step_index: int
    name: str
    """As its folder under `steps/` is called: `003-randread-r2`."""
    why: str


class ImportRecord(Record):
    """Where imported numbers came from. `files` are the originals; their keys lie under the run.

    `name` is the file that holds the numbers (the first log where there is none), as it was given;
    `index` counts the runs in it; `job_file` is the one among `files` that says what a report of
    fio leaves out. `local_time` is a time in it whose zone it does not say.
    """

    kind: str
    name: str
    index: int
    tool_version: str
    created_at: str
    local_time: str | None = None
    job_file: str | None = None
    files: dict[str, FileRecord]


class Manifest(Record):
    """`manifest.json`, the last file of a run: everything that its rows are rebuilt from."""

    format: Literal[1] = FORMAT
    run_id: str
    run_index: int
    trial_id: str
    campaign_id: str
    state: RunState
    problem: Problem | None = None
    started_at: str | None
    finished_at: str
    diskbench_version: str
    parser_version: int
    fio_version: str | None = None
    cell: Cell | None = None
    labels: dict[str, str] = {}
    preparation: tuple[str, ...] = ()
    marks: dict[str, bool] = {}
    lease: dict[str, Any] | None = None
    plan: FileRecord | None = None
    steps: tuple[StepEntry, ...] = ()
    damaged: tuple[str, ...] = ()
    """Folders whose step.json could not be read when the run ended, each with the reason."""
    missing: tuple[MissingStep, ...] = ()
    imported: ImportRecord | None = None


class PrunedStep(Record):
    """A step whose raw logs were removed.

    `logs` are those, by name, as its step.json has them; `kept` is what was derived from them, by
    name (`series-5.parquet`), with keys under the run; `audit` is the check of the logs, made while
    they were there.
    """

    logs: dict[str, FileRecord]
    kept: dict[str, FileRecord]
    audit: AuditCheck | None = None


class PrunedRun(Record):
    """`pruned.json`: the raw logs of a run that `diskbench results prune` removed, by the folder of
    their step. It is written before the first of them is deleted."""

    format: Literal[1] = FORMAT
    run_id: str
    pruned_at: str
    steps: dict[str, PrunedStep]

    @property
    def log_count(self) -> int:
        """How many log files it names."""
        return sum(len(step.logs) for step in self.steps.values())

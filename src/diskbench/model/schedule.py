"""A matrix that is measured again and again: what was asked for, and what became of each time."""

from typing import Literal

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.model.campaign import CampaignState, CellState

Overlap = Literal["skip", "queue"]
"""What becomes of an occurrence while an earlier one of the same schedule still runs."""
OccurrenceState = Literal["queued", "begun", "skipped", "failed"]
"""`queued` waits to be begun; `begun` has a matrix of its own; `skipped` was not to be measured,
`failed` could not be: `reason` says why."""


class ScheduleRow(Frozen):
    """What a schedule measures: the matrix as its file read when the schedule was added.

    `source` is the file as it was named, `folder` where it lay (profiles are looked for there).
    When it is due is DBOS's to keep (engine/durable/schedules.py). `watched_until` is UTC: due
    times up to it were looked at.
    """

    name: str
    source: str
    folder: str
    text: str
    overlap: Overlap = "skip"
    backfill: bool = False
    budget_usd: float | None = None
    assume_price_usd_per_hour: float | None = None
    created_at: str
    updated_at: str
    watched_until: str


class Occurrence(Frozen):
    """One due time of a schedule, UTC, and what became of it. `owner` is the process that begins
    it, None otherwise. `campaign_state` and `counts` are how far the matrix is that it began; they
    are shown, and what is excluded is stored."""

    schedule: str = Field(exclude=True)
    scheduled_for: str
    state: OccurrenceState
    reason: str | None = None
    campaign_id: str | None = None
    owner: str | None = Field(default=None, exclude=True)
    recorded_at: str = Field(exclude=True)
    campaign_state: CampaignState | None = None
    counts: dict[CellState, int] = Field(default_factory=dict)


class ScheduleStatus(Frozen):
    """A schedule as `diskbench schedule list` prints it: times are ISO 8601, `next` with the offset
    of the schedule's timezone, empty while it is paused."""

    name: str
    source: str
    cron: str
    timezone: str
    paused: bool
    overlap: Overlap
    backfill: bool
    budget_usd: float | None = None
    assume_price_usd_per_hour: float | None = None
    created_at: str
    updated_at: str
    next: tuple[str, ...] = ()
    waiting: int = 0
    occurrences: tuple[Occurrence, ...] = ()
    """The newest first."""


class ScheduleDocument(Frozen):
    """What `diskbench schedule list` and `show` print with `--output json`."""

    format: Literal[1] = 1
    schedules: tuple[ScheduleStatus, ...]

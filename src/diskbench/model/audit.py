"""Whether the figures of a step agree with each other, as data."""

from typing import Literal

from diskbench.model.base import Frozen

AuditName = Literal["bytes", "rate", "percentiles", "end", "logs"]


class AuditCheck(Frozen):
    """One check. `holds` is None where the evidence does not say; `message` holds the figures."""

    name: AuditName
    holds: bool | None
    message: str


class StepAudit(Frozen):
    """The checks of one step of a run, each name once."""

    run_id: str
    step_index: int
    step: str
    round: int | None = None
    checks: tuple[AuditCheck, ...]

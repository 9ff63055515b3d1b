"""The states of a run; apart from the nouns, because lists need them alone."""

from typing import Literal

RunState = Literal["planned", "running", "done", "failed", "interrupted", "cancelled"]
FINAL_STATES: tuple[RunState, ...] = ("done", "failed", "interrupted", "cancelled")
ShownState = RunState | Literal["suspended"]
"""`suspended`: the run has not ended and no process works on it. It is found out when runs are
listed, because a process that dies cannot write it."""

"""Names in the evidence that diskbench alone writes; no file of a host or an import has one."""

from typing import Final

RECORD_NAMES: Final = ("plan.json", "step.json", "manifest.json")
"""The records of a run: see store/archive.py."""
LEFT_OUT: Final = "left-out.txt"
"""Beside the files of a step: those of the host that were not kept, a line each with the reason."""

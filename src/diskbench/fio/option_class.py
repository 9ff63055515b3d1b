"""What becomes of an option of fio in a job file: its class, for the page and the tests."""

from __future__ import annotations

from typing import Final, Literal

from diskbench.fio.guard import OURS, is_checked, settable
from diskbench.fio.jobfile import ALIASES
from diskbench.fio.refused import ENGINE_OPTIONS, OPTION_REASONS, option_reason
from diskbench.fio.retarget import OUTPUT

OptionClass = Literal["passes", "checked", "retargeted", "ours", "refused", "unknown"]
"""`passes` with any value, `checked`: with some values (guard.py); `retargeted`: put onto our
target or taken out; `ours`: set by diskbench alone; `unknown` is refused, too."""

_RETARGETED: Final = frozenset({"filename", "directory", "filename_format", "threads"})
_OF_THE_COMMAND: Final = frozenset({"readonly"})
"""Read with the command line (command_line.py)."""


def option_class(name: str) -> tuple[OptionClass, str]:
    """The class of an option by any of its names, and the reason of one that is refused."""
    name = ALIASES.get(name, name)
    if name in _RETARGETED | OUTPUT | _OF_THE_COMMAND:
        return "retargeted", ""
    if name in OURS:
        return "ours", OURS[name]
    if name in settable():
        return ("checked" if is_checked(name) else "passes"), ""
    if name in OPTION_REASONS or name in ENGINE_OPTIONS:
        return "refused", option_reason(name)
    return "unknown", option_reason(name)

"""Something that happens at one moment of a step: a program that the host runs then does it."""

import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

BEFORE = """\
#!/bin/sh
if {when} && mkdir {ran} 2>/dev/null; then
( {action}
) >{ran}/said 2>&1 </dev/null
echo $? >{ran}/exit
fi
exec {real} "$@"
"""
AFTER = """\
#!/bin/sh
if ! {when}; then exec {real} "$@"; fi
{real} "$@"
ended=$?
if mkdir {ran} 2>/dev/null; then
( {action}
) >{ran}/said 2>&1 </dev/null
echo $? >{ran}/exit
fi
exit $ended
"""
STEPS_FIO = 'case "$*" in *--status-interval*) true ;; *) false ;; esac'
"""Of all calls of fio, the one that measures: not the canary's."""


@dataclass(frozen=True)
class Window:
    """A moment of a step: a program that the host runs then. `after` is at the end of its call."""

    program: str
    when: str = "true"
    after: bool = False


CACHE_DROP = Window("sync")
FIO = Window("fio", STEPS_FIO, after=True)
BEFORE_FIO = Window("fio", STEPS_FIO)


@dataclass(frozen=True)
class Done:
    """What became of the action: look at it when the step has ended."""

    ran: Path

    @property
    def exit(self) -> int:
        return int((self.ran / "exit").read_text())

    @property
    def said(self) -> str:
        return (self.ran / "said").read_text()


def in_window(directory: Path, window: Window, action: str) -> Done:
    """Put a program of the window's name into `directory`, which runs shell words once."""
    real = shutil.which(window.program)
    assert real is not None
    directory.mkdir(exist_ok=True)
    shim = directory / window.program
    ran = directory / f"{window.program}.ran"
    shim.write_text(
        (AFTER if window.after else BEFORE).format(
            when=window.when, ran=shlex.quote(str(ran)), action=action, real=shlex.quote(real)
        )
    )
    shim.chmod(0o755)
    return Done(ran)


def first_on_path(directory: Path) -> str:
    return f"{directory}:{os.environ['PATH']}"

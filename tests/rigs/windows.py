"""Something that happens at one moment of a step: a program that the host runs then does it."""

import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

BEFORE = """\
if {when} && mkdir {ran} 2>/dev/null; then
( {action}
) >{ran}/said 2>&1 </dev/null
echo $? >{ran}/exit
fi
exec {real} "$@"
"""
AFTER = """\
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
    ran = directory / f"{window.program}.ran"
    told = {"when": window.when, "action": action, "real": shlex.quote(real)}
    text = (AFTER if window.after else BEFORE).format(ran=shlex.quote(str(ran)), **told)
    program(directory / window.program, text)
    return Done(ran)


def program(path: Path, script: str) -> None:
    """Put a program of the shell's words there."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def first_on_path(directory: Path) -> str:
    return f"{directory}:{os.environ['PATH']}"


def path_without(directory: Path, *names: str) -> str:
    """A PATH with links to this machine's programs in `directory`, but for these."""
    directory.mkdir()
    for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for tool in Path(folder).iterdir():
            if tool.name not in names and not (directory / tool.name).exists():
                (directory / tool.name).symlink_to(tool)
    return str(directory)

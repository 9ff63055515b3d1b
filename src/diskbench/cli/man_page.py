"""The manual page, made of the help: `python -m diskbench.cli.man_page >diskbench.1`.

It is not kept as a file: what the commands say of themselves is the only text.
"""

import sys

import typer
from typer.main import get_command

import diskbench
from diskbench.cli.lazy import COMMANDS, load
from diskbench.cli.main import PROGRAM, app

_EXIT_STATUS = """\
0    done
1    a measurement failed, or a figure missed what the user or its profile asks of it
2    the input or the environment is wrong; nothing was changed
3    something rented could not be given back; diskbench gc lists it
130  interrupted"""


def man_page() -> str:
    """The page in the man macros of roff, UTF-8: the help of each command as it is."""
    root = get_command(app)
    top = typer.Context(root, info_name=PROGRAM)
    lines = [
        f'.TH {PROGRAM.upper()} 1 "" "{PROGRAM} {diskbench.__version__}" "User Commands"',
        ".SH NAME",
        f"{PROGRAM} \\- measure how fast a disk is, and what limited the result",
        ".SH SYNOPSIS",
        *_as_it_is(root.get_help(top)),
        ".SH COMMANDS",
    ]
    for words in COMMANDS:
        command = load(words)
        context = typer.Context(command, info_name=words, parent=top)
        lines += [f".SS {PROGRAM} {words}", *_as_it_is(command.get_help(context))]
    lines += [".SH EXIT STATUS", *_as_it_is(_EXIT_STATUS), ".SH SEE ALSO", ".BR fio (1)"]
    return "\n".join(lines) + "\n"


def _as_it_is(text: str) -> list[str]:
    """Text whose lines roff keeps: backslashes, hyphens, and a dot or quote at the start of one."""
    escaped = text.replace("\\", "\\(rs").replace("-", "\\-").splitlines()
    return [".nf", *(f"\\&{line}" if line[:1] in (".", "'") else line for line in escaped), ".fi"]


if __name__ == "__main__":
    sys.stdout.write(man_page())

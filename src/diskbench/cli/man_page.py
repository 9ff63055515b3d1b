"""The manual page, made of the help: `python -m diskbench.cli.man_page >diskbench.1`.

It is not kept as a file: what the commands say of themselves is the only text.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer
from typer.main import get_command

import diskbench
from diskbench.cli.lazy import COMMANDS, load
from diskbench.cli.main import PROGRAM, app

if TYPE_CHECKING:
    from typer._click import Command, Context

_EXIT_STATUS = (
    ("0", "done"),
    ("1", "a measurement failed, or a figure met a condition of --fail-if"),
    ("2", "the input or the environment is wrong; nothing was changed"),
    ("3", "something rented could not be given back; diskbench gc lists it"),
    ("130", "interrupted"),
)


def man_page() -> str:
    """The page in the man macros of roff, UTF-8."""
    root = get_command(app)
    top = typer.Context(root, info_name=PROGRAM)
    lines = [
        f'.TH {PROGRAM.upper()} 1 "" "{PROGRAM} {diskbench.__version__}" "User Commands"',
        ".SH NAME",
        f"{PROGRAM} \\- measure how fast a disk is, and what limited the result",
        ".SH SYNOPSIS",
        f".B {PROGRAM}",
        _text("[OPTIONS] COMMAND [ARGS]…"),
        ".SH DESCRIPTION",
        *_paragraphs(root.help or ""),
        ".SH OPTIONS",
        *_options(root, top),
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        lines += _command(load(name), typer.Context(root, info_name=PROGRAM), name)
    lines.append(".SH EXIT STATUS")
    for status, meaning in _EXIT_STATUS:
        lines += [".TP", f".B {status}", _text(meaning)]
    lines += [".SH SEE ALSO", ".BR fio (1)"]
    return "\n".join(lines) + "\n"


def _command(command: Command, parent: Context, name: str) -> Iterator[str]:
    """A command, and the commands of a group behind it."""
    context = typer.Context(command, info_name=name, parent=parent)
    yield f".SS {_text(context.command_path)}"
    yield from _paragraphs(command.help or "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (".PP", f".B {_text(context.command_path)}", _text(usage))
    yield from _options(command, context)
    for inner_name, inner in getattr(command, "commands", {}).items():
        yield from _command(inner, context, inner_name)


def _options(command: Command, context: Context) -> Iterator[str]:
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None and param.name != "help":
            names, text = record
            yield from (".TP", f".B {_text(names)}", _text(" ".join(text.split())) or "\\&")


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text; one that begins with a backspace keeps its lines."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        yield ".PP"
        if paragraph.startswith("\b"):
            lines = paragraph.lstrip("\b\n").splitlines()
            yield from (".nf", *(_text(line) for line in lines), ".fi")
        else:
            yield _text(" ".join(paragraph.split()))


def _text(text: str) -> str:
    """Text that roff prints as it is: backslashes, hyphens, and a dot or quote at its start."""
    escaped = text.replace("\\", "\\(rs").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    sys.stdout.write(man_page())

"""An error as a person or a program reads it on stderr, and the exit code it means."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_log_path

from diskbench.cli.events import debugging, emit_problem
from diskbench.cli.lazy import commands_taking
from diskbench.errors import DiskbenchError
from diskbench.extras import of_import
from diskbench.files import private_directory
from diskbench.visible import visible

if TYPE_CHECKING:
    from typer.exceptions import TyperException

    from diskbench.model.outcome import Problem

UNEXPECTED = 1
_MOST_NAMED = 3


def report(error: BaseException) -> int:
    """Print `error` on stderr; returns the exit code.

    Of a DiskbenchError the message and the advice are printed, of a missing module of an extra how
    to install it. Anything else is a fault of diskbench: one line, and the traceback goes to a
    file. With --debug the traceback is printed for all.
    """
    if debugging():
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, ImportError):
        error = of_import(error) or error
    if isinstance(error, DiskbenchError):
        emit_problem(type(error).__name__, error.message, error.advice, error.exit_code)
        return error.exit_code
    line = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    traceback_path = _keep_traceback(error)
    advice = "this is a fault in diskbench, not in your input; please report it"
    if traceback_path:
        advice += f" with {traceback_path}"
    emit_problem(type(error).__name__, line, advice, UNEXPECTED)
    return UNEXPECTED


def report_usage(error: TyperException) -> int:
    """Print what is wrong with the words of a command line; returns the exit code. An option that
    other commands have is answered with their names, a group without a command with its help."""
    from typer._click.exceptions import NoArgsIsHelpError, NoSuchOption

    if isinstance(error, NoArgsIsHelpError):
        print(error.message, file=sys.stderr)
        return error.exit_code
    message = error.format_message().strip()
    context = getattr(error, "ctx", None)
    advice = f"see: {context.command_path} --help" if context is not None else ""
    if isinstance(error, NoSuchOption) and (commands := commands_taking(error.option_name)):
        message = error.message  # without options that are only spelled alike
        known = ", ".join(f"diskbench {command}" for command in commands[:_MOST_NAMED])
        more = len(commands) - _MOST_NAMED
        known += f" and {more} more" if more > 0 else ""
        advice = f"{error.option_name} is an option of: {known}; {advice}"
    emit_problem(type(error).__name__, message, advice, error.exit_code)
    return error.exit_code


def print_error(error: BaseException, *, prefix: str = "") -> None:
    """Print an error that does not end the command, with `prefix` before its message."""
    from diskbench.model.outcome import problem_of

    print_problem(problem_of(error), prefix=prefix)


def print_problem(problem: Problem, *, prefix: str = "") -> None:
    """Print an error that was kept as data."""
    emit_problem(problem.kind, f"{prefix}{problem.message}", problem.advice, problem.exit_code)


def _keep_traceback(error: BaseException) -> Path | None:
    """Write the traceback, without the values of variables, where only this user can read it."""
    text = "".join(traceback.format_exception(error))
    name = f"{type(error).__name__.lower()}-{os.getpid()}-"
    for folder in (_log_folder(), None):
        try:
            if folder:
                private_directory(folder)
            handle, path = tempfile.mkstemp(".txt", f"diskbench-{name}", folder)
            with os.fdopen(handle, "w") as file:
                file.write(visible(text))
        except OSError:
            continue
        return Path(path)
    return None


def _log_folder() -> Path | None:

    try:
        return user_log_path("diskbench")
    except (OSError, RuntimeError):  # no home directory
        return None

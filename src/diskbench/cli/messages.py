"""Events and errors on stderr: for a person, or (JSON) for a program.

A module logs with `logging.getLogger(__name__).info("fio started", extra={"run": run_id})`; every
field given in `extra` is shown. Secrets are never fields.
"""

import json
import logging
import os
import shutil
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TextIO

from platformdirs import user_log_path
from typer import BadParameter
from typer._click.exceptions import NoArgsIsHelpError
from typer.exceptions import TyperException

from diskbench.cli.opened import close_at_end
from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.extras import of_import
from diskbench.files import private_directory
from diskbench.model.outcome import Problem, problem_of
from diskbench.report.terminal.streams import OwnText
from diskbench.visible import one_line, shortened, visible

Format = Literal["human", "json"]
_OWN = logging.getLogger("diskbench")
_PLAIN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_NOISY = ("paramiko", "dbos")
"""Libraries that log what their caller handles anyway; heard with --debug only. Those of a provider
are silenced when it is made (providers/registry.py)."""


class _Stderr(logging.Handler):
    """Writes to whatever sys.stderr is now, since a progress bar replaces it while it is shown."""

    def __init__(self, chosen: Format | None) -> None:
        super().__init__()
        self._chosen = chosen

    @property
    def chosen(self) -> Format:
        """--log-format, else the setting; looked up at the first event, since few runs have any."""
        if self._chosen is None:
            from diskbench.settings import load_settings

            try:
                self._chosen = load_settings().log_format
            except DiskbenchError:
                self._chosen = "human"  # the command reports what is wrong with the settings
        return self._chosen

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            text = _as_json(record) if self.chosen == "json" else _as_text(record, sys.stderr)
            sys.stderr.write(OwnText(f"{text}\n"))
        except Exception:  # noqa: BLE001 - as every logging handler: logging must not end what is logged
            self.handleError(record)


def set_up(chosen: Format | None, *, verbose: bool = False, debug: bool = False) -> None:
    """Send events to stderr until the command ends: warnings, with `verbose` what happens, with
    `debug` everything. A command within another (`ab`) has its own way meanwhile."""
    root = logging.getLogger()
    for handler in root.handlers[:]:
        if isinstance(handler, _Stderr):
            root.removeHandler(handler)
            close_at_end(partial(root.addHandler, handler))
    ours = _Stderr(chosen)
    root.addHandler(ours)
    close_at_end(partial(root.removeHandler, ours))
    for logger in (_OWN, *map(logging.getLogger, _NOISY)):
        close_at_end(partial(logger.setLevel, logger.level))
    _OWN.setLevel(logging.DEBUG if debug else logging.INFO if verbose else logging.WARNING)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.INFO if debug else logging.CRITICAL)


def debugging() -> bool:
    """Was --debug given?"""
    return _OWN.isEnabledFor(logging.DEBUG)


def emit_problem(kind: str, message: str, advice: str, exit_code: int) -> None:
    """Print an error and what to do about it, in the chosen format."""
    ours = next((on for on in logging.getLogger().handlers if isinstance(on, _Stderr)), None)
    if ours is not None and ours.chosen == "json":
        now = datetime.now(UTC).isoformat()
        record = {"time": now, "level": "error", "event": message, "kind": kind}
        print(json.dumps({**record, "advice": advice, "exit_code": exit_code}), file=sys.stderr)
        return
    label = _styled("error:", "1;31", sys.stderr)
    message = "\n".join(_folded(line, "error: ") for line in message.split("\n"))
    sys.stderr.write(OwnText(f"{label} {_hung(message)}\n"))
    for line in advice.split("\n") if advice else ():
        print(f"  {_hung(_folded(line, '  '))}", file=sys.stderr)


def _folded(line: str, lead: str) -> str:
    """A line that is printed after `lead`, in lines for the width that a terminal or COLUMNS sets;
    further lines are to be indented by two."""
    line, width = shortened(line), shutil.get_terminal_size().columns
    if len(lead + line) <= width or not (sys.stderr.isatty() or os.environ.get("COLUMNS")):
        return line
    from diskbench.report.terminal.layout import wrapped

    first, *more = wrapped(lead, line, width, indent=2)
    return "\n".join([first.removeprefix(lead), *(text[2:] for text in more)])


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {k: v for k, v in vars(record).items() if k not in _PLAIN_FIELDS}


def _as_json(record: logging.LogRecord) -> str:
    document: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": record.getMessage(),
        **_fields(record),
    }
    if record.exc_info:
        document["traceback"] = logging.Formatter().formatException(record.exc_info)
    return json.dumps(document, default=str)


def _as_text(record: logging.LogRecord, stream: TextIO) -> str:
    clock = datetime.fromtimestamp(record.created, UTC).astimezone().strftime("%H:%M:%S")
    level = record.levelname.lower()
    colour = {"warning": "33", "error": "1;31", "critical": "1;31"}.get(level, "2")
    fields = "".join(f" {k}={one_line(str(v))}" for k, v in _fields(record).items())
    text = f"{clock} {_styled(level, colour, stream)} {_hung(record.getMessage())}"
    text += _styled(fields, "2", stream) if fields else ""
    if record.exc_info:
        text += "\n" + visible(logging.Formatter().formatException(record.exc_info))
    return text


def _hung(text: str) -> str:
    """`text` made visible, with later lines indented so that none looks like an event."""
    return visible(text).replace("\n", "\n  ")


def _styled(text: str, code: str, stream: TextIO) -> str:
    """`text` in a colour where the stream is a terminal and NO_COLOR is not set."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


UNEXPECTED = 1


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
    advice = "this is a fault in diskbench, not in your input; please report it"
    if traceback_path := _keep_traceback(error):
        advice += f" with {traceback_path}"
    emit_problem(type(error).__name__, line, advice, UNEXPECTED)
    return UNEXPECTED


def report_usage(error: TyperException) -> int:
    """Print what is wrong with the words of a command line; returns the exit code. A
    group without a command is answered with its help."""
    if isinstance(error, NoArgsIsHelpError):
        print(error.message, file=sys.stderr)
        return error.exit_code
    message = error.format_message().strip()
    context = getattr(error, "ctx", None)
    advice = f"see: {context.command_path} --help" if context is not None else ""
    emit_problem(type(error).__name__, message, advice, error.exit_code)
    return error.exit_code


def print_error(error: BaseException, *, prefix: str = "") -> None:
    """Print an error that does not end the command, with `prefix` before its message."""
    print_problem(problem_of(error), prefix=prefix)


def print_problem(problem: Problem, *, prefix: str = "") -> None:
    """Print an error that was kept as data."""
    emit_problem(problem.kind, f"{prefix}{problem.message}", problem.advice, problem.exit_code)


def _keep_traceback(error: BaseException) -> Path | None:
    """Write the traceback, without the values of variables, where only this user can read it."""
    text = "".join(traceback.format_exception(error))
    name = f"{type(error).__name__.lower()}-{os.getpid()}-"
    for named in (True, False):
        try:
            folder = user_log_path("diskbench") if named else None
            if folder:
                private_directory(folder)
            handle, path = tempfile.mkstemp(".txt", f"diskbench-{name}", folder)
            with os.fdopen(handle, "w") as file:
                file.write(visible(text))
        except (OSError, RuntimeError):  # RuntimeError: no home directory
            continue
        return Path(path)
    return None


_FORMS = {
    "GIB": "give GiB (2^30 bytes) without a unit, whole numbers for a rented disk: {} 20",
    "USD": "give US dollars without a currency sign: {} 12.50",
    "USD_PER_HOUR": "give US dollars an hour without a currency sign: {} 0.25",
    "RATE": "give a number without a unit: {} 250",
    "int": "give a whole number: {} 3",
    "float": "give a number: {} 2.5",
}
"""Metavar of an option, or what pydantic's error types begin with → how the value is written."""


def in_our_words(error: BadParameter) -> InvalidValue | None:
    """The error for a value that pydantic refused, with the value and an example; None for an error
    that Typer words itself (a file that is missing, an argument that is not there)."""
    from pydantic import ValidationError

    from diskbench.model.value_fault import value_fault

    cause, parameter = error.__cause__, error.param
    if not isinstance(cause, ValidationError) or parameter is None:
        return None
    first = cause.errors(include_url=False)[0]
    (reason, advice), name = value_fault(first), max(parameter.opts, key=len)
    kind = first["type"].partition("_")[0]
    form = _FORMS.get(parameter.metavar or "") or _FORMS.get(kind, "")
    return InvalidValue(
        f"{name}: {reason}",
        advice="; ".join(filter(None, (advice, form.format(name)))),
        field=name.lstrip("-").replace("-", "_"),
    )

"""Events on stderr: a message with fields, for a person or (JSON) for a program.

A module logs with `logging.getLogger(__name__).info("fio started", extra={"run": run_id})`; every
field given in `extra` is shown. Secrets are never fields.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, TextIO

from diskbench.cli.opened import close_at_end
from diskbench.errors import DiskbenchError
from diskbench.report.terminal.streams import OwnText
from diskbench.visible import one_line, shortened, visible

Format = Literal["human", "json"]
_OWN = logging.getLogger("diskbench")
_PLAIN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_NOISY = ("paramiko", "dbos", "alembic")
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
            self._chosen = _from_settings()
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
    `debug` everything."""
    root = logging.getLogger()
    for handler in root.handlers[:]:
        if isinstance(handler, _Stderr):
            root.removeHandler(handler)
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
    if _format() == "json":
        record = {"time": _now(), "level": "error", "event": message, "kind": kind}
        print(json.dumps({**record, "advice": advice, "exit_code": exit_code}), file=sys.stderr)
        return
    label = _styled("error:", "1;31", sys.stderr)
    message = "\n".join(map(shortened, message.split("\n")))
    sys.stderr.write(OwnText(f"{label} {_hung(message)}\n"))
    for line in advice.split("\n") if advice else ():
        print(f"  {shortened(line)}", file=sys.stderr)


def _format() -> Format:
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _Stderr):
            return handler.chosen
    return "human"


def _from_settings() -> Format:
    from diskbench.settings import load_settings

    try:
        return load_settings().settings.log_format
    except DiskbenchError:
        return "human"  # the command itself reports what is wrong with the settings


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


def _now() -> str:
    return datetime.now(UTC).isoformat()

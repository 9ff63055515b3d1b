"""What a run of tests prints: no dots, each failure at once, a line a minute, and a list to keep.

A log of CI may keep only its last lines. So whatever failed also goes to the file that
`--failures-to` names, one line each, and script/test prints that file last."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

EVERY_S = 60.0
"""How often the progress is printed; our choice."""
LONGEST = 300
"""Characters of a line about a failure; our choice."""


def add_options(parser):
    parser.addoption("--failures-to", default=None, help="write a line for each failure to FILE")


def is_worker(config):
    return hasattr(config, "workerinput")


def failure_line(report):
    """The id of what failed, in which phase, and the last line of its error."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    lines = [line for line in text.strip().splitlines() if line.strip()]
    # An assertion's first line says what was compared; any other text ends with its error.
    said = "no error text" if not lines else lines[0 if crash is not None else -1].strip()
    phase = "" if report.when in {"call", "???"} else f" ({report.when})"
    return f"{report.nodeid}{phase} - {said}"[:LONGEST]


class Progress:
    """In the process that prints: failures as they come, a line a minute, and the kept list."""

    def __init__(self, config, now=time.monotonic):
        self._config = config
        self._now = now
        self._began = self._said = now()
        self._total = 0
        self._ended: set[str] = set()
        self._failures: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report):
        """No letters: a failure gets a line of its own."""
        quiet = self._config.option.verbose < 0 and isinstance(report, pytest.TestReport)
        if not quiet or report.skipped or hasattr(report, "wasxfail"):
            return None
        if report.failed:
            phase = report.when in {"setup", "teardown"}
            return ("error", "", "ERROR") if phase else ("failed", "", "FAILED")
        return ("passed", "", "PASSED") if report.when == "call" else ("", "", "")

    def pytest_collection_finish(self, session):
        self._total = len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self._total = len(ids)

    def pytest_runtest_logreport(self, report):
        self._ended.add(report.nodeid)
        if report.failed:
            self._keep("failed", failure_line(report))
        if self._now() - self._said >= EVERY_S:
            self._said = self._now()
            self._print(
                f"{(self._said - self._began) / 60:.0f} min: {len(self._ended)} of {self._total} "
                f"tests, {len(self._failures)} failed; now {report.nodeid}"
            )

    def pytest_collectreport(self, report):
        if report.failed:
            self._keep("failed", failure_line(report))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        if error:
            self._keep("worker", f"{node.gateway.id} ended: {str(error).strip()[-LONGEST:]}")

    def pytest_keyboard_interrupt(self, excinfo):
        self._keep("stopped", f"!!! {type(excinfo.value).__name__}: {excinfo.value}"[:LONGEST])

    def pytest_internalerror(self, excinfo):
        self._keep("internal error", f"{excinfo.exconly()}"[-LONGEST:])

    def pytest_unconfigure(self):
        place = self._config.getoption("--failures-to")
        if place is not None:
            lines = [line.replace("\n", " ") + "\n" for line in self._failures]
            Path(place).write_text("".join(lines), "utf-8", "backslashreplace")

    def _keep(self, what, line):
        self._failures.append(f"{what}: {line}")
        if self._config.option.verbose < 0:
            self._print(self._failures[-1])

    def _print(self, line):
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(line)

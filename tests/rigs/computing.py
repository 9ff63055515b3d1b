"""How many CPU seconds each test takes: its own, and those of the processes that it waited for.

    script/test --cpu-to FILE

Wall-clock times say more of what else the machine does. What a process left running or took into a
session of its own (a server, fio's job on a host) counts when it ends and is waited for, which may
be in a later test. A fixture that several tests share counts for the first of them, as its setup.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TAKES = "cpu_s"
"""Under this name a report carries the CPU seconds of its phase."""
WHOLE = "cpu_s"
"""Under this key a worker of xdist hands over the CPU seconds of its whole life."""


def add_options(parser: pytest.Parser) -> None:
    """Add `--cpu-to FILE` to pytest's options."""
    parser.addoption("--cpu-to", default=None, help="write CPU seconds of tests and files to FILE")


def cpu_s() -> float:
    """CPU seconds of this process and of the ended processes that it waited for."""
    return sum(os.times()[:4])


def table(phases: Mapping[tuple[str, str], float], whole: float) -> str:
    """Lines of CPU seconds and what took them: all, rooms, files, then tests by their phases, each
    the costliest first; what took less than a hundredth of a second is left out."""
    rooms, files = defaultdict[str, float](float), defaultdict[str, float](float)
    for (test_id, _), seconds in phases.items():
        file = test_id.partition("::")[0]
        files[file] += seconds
        rooms[str(Path(*Path(file).parts[:2])) if "/" in file else file] += seconds
    named = {f"{test_id} ({phase})": seconds for (test_id, phase), seconds in phases.items()}
    tests = sum(phases.values())
    lines = [f"{whole:9.2f}  all", f"{tests:9.2f}  tests", f"{whole - tests:9.2f}  between tests"]
    for part in (rooms, files, named):
        lines.append("")
        costly = sorted(part.items(), key=lambda item: (-item[1], item[0]))
        lines += [f"{seconds:9.2f}  {name}" for name, seconds in costly if seconds >= 0.01]
    return "\n".join(lines) + "\n"


class Computing:
    """Where tests run: notes the CPU seconds of each phase. Where xdist's reports arrive, or where
    there is no xdist: sums them, and writes the file."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._at = cpu_s()
        self._phases = defaultdict[tuple[str, str], float](float)
        self._workers = 0.0

    def pytest_runtest_logstart(self) -> None:
        self._at = cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        now = cpu_s()
        report: Any = yield
        setattr(report, TAKES, now - self._at)
        self._at = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._phases[report.nodeid, report.when or ""] += getattr(report, TAKES, 0.0)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[WHOLE] = cpu_s()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._workers += (getattr(node, "workeroutput", None) or {}).get(WHOLE, 0.0)

    def pytest_unconfigure(self) -> None:
        place = self._config.getoption("--cpu-to")
        if hasattr(self._config, "workerinput"):
            return
        # The controller waits for its workers: their seconds may already be among its own.
        whole = max(cpu_s(), self._workers)
        Path(place).write_text(table(self._phases, whole), "utf-8")

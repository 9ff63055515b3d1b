"""How many CPU seconds each test takes, with all processes that it starts.

    script/test --cpu-to FILE

Wall-clock times say more of what else the machine does. As root, where the kernel counts by cgroups
of version 1, each of pytest's processes gets a cgroup of its own: what runs on in a session of its
own (fio on a host, a server) is counted too, for the test that runs meanwhile. Elsewhere it counts
when it ends and is waited for, if ever. A fixture that several tests share counts for the first of
them, as its setup.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ACCOUNTS = Path("/sys/fs/cgroup/cpuacct")
TAKES = "cpu_s"
"""Under this name a report carries the CPU seconds of its phase."""
WHOLE = "cpu_s"
"""Under this key a worker of xdist hands over the CPU seconds of its whole life."""


def add_options(parser: pytest.Parser) -> None:
    """Add `--cpu-to FILE` to pytest's options."""
    parser.addoption("--cpu-to", default=None, help="write CPU seconds of tests and files to FILE")


def table(phases: Mapping[tuple[str, str], float], whole: float) -> str:
    """Lines of CPU seconds and what took them: all, rooms, files, then tests by their phases, each
    the costliest first; what took less than a hundredth of a second is left out."""
    rooms, files = defaultdict[str, float](float), defaultdict[str, float](float)
    for (test_id, _), seconds in phases.items():
        file = test_id.partition("::")[0]
        files[file] += seconds
        rooms["/".join(file.split("/")[:2])] += seconds
    named = {f"{test_id} ({phase})": seconds for (test_id, phase), seconds in phases.items()}
    tests = sum(phases.values())
    lines = [f"{whole:9.2f}  all", f"{tests:9.2f}  tests", f"{whole - tests:9.2f}  between tests"]
    for part in (rooms, files, named):
        lines.append("")
        costly = sorted(part.items(), key=lambda item: (-item[1], item[0]))
        lines += [f"{seconds:9.2f}  {name}" for name, seconds in costly if seconds >= 0.01]
    return "\n".join(lines) + "\n"


class Account:
    """The CPU seconds of this process and of all that it starts."""

    def __init__(self, accounts: Path = ACCOUNTS) -> None:
        self._before = sum(os.times()[:4])
        self._group: Path | None = accounts / f"diskbench-tests-{os.getpid()}"
        try:
            self._group.mkdir(exist_ok=True)
            (self._group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:  # not root, or another kind of cgroups
            self._group = None

    def read(self) -> float:
        """CPU seconds until now."""
        if self._group is None:
            return sum(os.times()[:4])
        return self._before + int((self._group / "cpuacct.usage").read_text()) / 1e9

    @property
    def is_whole(self) -> bool:
        """Whether also what nobody waits for is counted."""
        return self._group is not None

    def close(self) -> None:
        """Leave the cgroup; it stays while something that was started in it runs."""
        if self._group is not None:
            with suppress(OSError):
                (self._group.parent / "cgroup.procs").write_text(str(os.getpid()))
                self._group.rmdir()


class Computing:
    """Where tests run: notes the CPU seconds of each phase. Where xdist's reports arrive, or where
    there is no xdist: sums them, and writes the file."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._account = Account()
        self._at = 0.0
        self._phases = defaultdict[tuple[str, str], float](float)
        self._workers = 0.0

    def pytest_runtest_logstart(self) -> None:
        self._at = self._account.read()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        now = self._account.read()
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
            output[WHOLE] = self._account.read()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._workers += (getattr(node, "workeroutput", None) or {}).get(WHOLE, 0.0)

    def pytest_unconfigure(self) -> None:
        whole = self._account.read()
        self._account.close()
        if not hasattr(self._config, "workerinput"):
            # Workers without a cgroup are the controller's children, and among its seconds.
            whole += self._workers if self._account.is_whole else 0.0
            place = self._config.getoption("--cpu-to")
            Path(place).write_text(table(self._phases, whole), "utf-8")

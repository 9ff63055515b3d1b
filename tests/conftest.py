"""What holds for every test: a skipped test is a failed run, unless it is allowed here by name.

A skip hides that something was not tested. Whoever must allow one writes down why."""

from __future__ import annotations

import fcntl
import gc
import os
import re
import shutil
import signal
from fnmatch import fnmatchcase

import pytest
from hypothesis import HealthCheck, settings
from tests.rigs.cli import all_ended
from tests.rigs.database import share_compiled
from tests.rigs.dealing import in_order, unit_of
from tests.rigs.golden import PLACE, Golden
from tests.rigs.own_locks import forget_claims, have_own_locks
from tests.rigs.reporting import Progress, add_options, is_worker
from tests.rooms import is_thorough

import diskbench
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence

settings.register_profile(
    "quick", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
"""For script/check: fewer examples, and others every time. How long drawing them takes says more of
the machine than of the test, as hypothesis' own profile `ci` has it, too."""

settings.register_profile("repeatable", settings.get_profile("quick"), derandomize=True)
"""For script/test: as few, and the same every time. `script/test --all` takes hypothesis' own
profile `ci`, which tries four times as many."""

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
"""For pytest without a profile: a busy machine misses the 0.2 s of hypothesis' own."""

ALLOWED_SKIPS: dict[str, str] = {
    "tests/unit/cli/test_deploy.py::test_systemd_knows_every_key_of_the_unit": (
        "not every machine has systemd"
    )
}
"""Test id, or a pattern of ids (`tests/lab/*`) → why it may be skipped."""

_skipped: list[tuple[str, str]] = []

SLOW = re.compile(r"tests/(browser|cloud|drills|lab|qemu|run/(?!test_python\.py))")
"""Whose tests have the marker `slow`; a run by each Python is among the fast ones."""

COLLECTED = pytest.StashKey[list[str]]()
"""The ids of all tests that were collected, also of those that `-m` left out."""


def pytest_addoption(parser):
    add_options(parser)
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew")


def pytest_configure(config):
    # The controller of xdist runs no test; its workers come here, too.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So a shell starts what it puts in the background; tests send it to what they start.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    worker = is_worker(config)
    if not worker:
        config.pluginmanager.register(Progress(config))
    if worker or not config.getvalue("numprocesses"):
        have_own_locks()
        share_compiled()
        # Importing the tests makes millions of objects that stay: to look through them again and
        # again for garbage takes as long as the import, and would slow every test.
        gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    gc.enable()


def ids_of(items):
    return [item.nodeid for item in items]


@pytest.hookimpl(wrapper=True, tryfirst=True)  # `-m` chooses by markers meanwhile
def pytest_collection_modifyitems(config, items):
    for item in items:
        if SLOW.match(item.nodeid):
            item.add_marker(pytest.mark.slow)
        if is_thorough(item.nodeid):
            item.add_marker(pytest.mark.thorough)
    config.stash[COLLECTED] = ids_of(items)
    yield
    if is_worker(config):
        dealt = {test_id: place for place, test_id in enumerate(in_order(ids_of(items)))}
        items.sort(key=lambda item: dealt[item.nodeid])


@pytest.fixture
def collected(request):
    return request.config.stash[COLLECTED]


@pytest.fixture
def golden(request):
    """The files that hold what pages and commands say (tests/rigs/golden.py)."""
    return Golden(PLACE, update=request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def _no_rows(tmp_path_factory):
    """A new database: copied in a quarter of the time in which one is made."""
    path = tmp_path_factory.mktemp("new") / "rows.db"
    open_database(f"sqlite:///{path}").dispose()
    return path


@pytest.fixture
def database(tmp_path, _no_rows):
    shutil.copy(_no_rows, tmp_path / "rows.db")
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    yield engine
    engine.dispose()


@pytest.fixture
def evidence(tmp_path):
    return open_evidence((tmp_path / "evidence").as_uri())


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory):
    """A XDG_CACHE_HOME with the example data, which one process unpacks for all of a session."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    home.mkdir(exist_ok=True)
    with (home / "example.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        diskbench.example_data(home / "diskbench")
    return home


@pytest.fixture(scope="session")
def example(cache_home):
    """The example data, to be read only."""
    return diskbench.example_data(cache_home / "diskbench")


@pytest.fixture(autouse=True)
def _nothing_of_an_earlier_test():
    forget_claims()
    with all_ended():
        yield


def _note(report):
    # An expected failure is reported as skipped too, but carries the reason in `wasxfail`.
    allowed = any(fnmatchcase(report.nodeid, pattern) for pattern in ALLOWED_SKIPS)
    if report.skipped and not hasattr(report, "wasxfail") and not allowed:
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else "no reason given"
        _skipped.append((report.nodeid, str(reason)))


def pytest_runtest_logreport(report):
    _note(report)


def pytest_collectreport(report):
    _note(report)


def pytest_sessionfinish(session, exitstatus):
    worker = hasattr(session.config, "workerinput")  # xdist: the controller hears all reports
    if _skipped and exitstatus == pytest.ExitCode.OK and not worker:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    if _skipped:
        terminalreporter.section("skipped, and not allowed to be (tests/conftest.py)")
        for test_id, reason in _skipped:
            terminalreporter.line(f"{test_id}: {reason}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    # The workers order their tests (tests/rigs/dealing.py); xdist would do so again, by number.
    config.option.loadscopereorder = False

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return unit_of(nodeid)

        def _assign_work_unit(self, node):
            """Every second worker is dealt from the end of the order."""
            if int(node.gateway.id.removeprefix("gw")) % 2:
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

        def mark_test_complete(self, node, item_index, duration=0):
            """Also forget a unit that is done: xdist counts what is left of all units that a worker
            ever got, with each test that ends."""
            super().mark_test_complete(node, item_index, duration)
            scope = self._split_scope(self.registered_collections[node][item_index])
            work = self.assigned_work[node]
            if all(work[scope].values()):
                del work[scope]

        def remove_node(self, node):
            """The test during which a worker died. Nobody else gets its tests: the one that killed
            it would kill the next, and the session ends (--max-worker-restart=0)."""
            left = (test for unit in self.assigned_work.pop(node).values() for test in unit.items())
            return next((test for test, done in left if not done), None)

    return Together(config, log)

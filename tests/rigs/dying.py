"""diskbench as ever, but that it ends at a moment that was named, as a machine that loses power.
`DISKBENCH_TEST_MOMENT="kill before engine.matrix.cells:LiveCells.rent 2" dying.py matrix run …`

The words: what happens (`kill`, `fail` for a database that is away, `break` for a fault,
`interrupt` for Ctrl-C, `vanish` for a thread that ends without a word), when (`before` or `after`
the call), what is called (of diskbench or pathlib, where its caller looks it up), at which call."""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import signal
import sys

MOMENT = "DISKBENCH_TEST_MOMENT"
BUSY_S = "DISKBENCH_TEST_BUSY_S"
"""Seconds that SQLite waits for a lock, in place of its half minute."""


def _happen(deed):
    if deed == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()  # until the signal comes
    if deed == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
        return
    if deed == "vanish":
        raise SystemExit  # no Exception: the workflow engine does not write it down
    if deed == "break":
        raise RuntimeError("it broke, as was asked for")
    from diskbench.errors import StoreUnavailable

    raise StoreUnavailable("the database does not answer, as was asked for")


def holders(function, name):
    """The modules of diskbench in which `name` is this very function: each importer holds one."""
    for module_name, module in tuple(sys.modules.items()):
        if module_name.split(".")[0] == "diskbench" and vars(module).get(name) is function:
            yield module


def replace_everywhere(monkeypatch, module, name, new):
    """Replace `module.name`, in every module that imported it, until the test ends."""
    for holder in holders(getattr(module, name), name):
        monkeypatch.setattr(holder, name, new)


def _install(deed, when, place, at):
    module, _, names = place.partition(":")
    *owners, name = names.split(".")
    owner = importlib.import_module(module if module == "pathlib" else f"diskbench.{module}")
    for one in owners:
        owner = getattr(owner, one)
    work = getattr(owner, name)
    count = itertools.count(1)

    @functools.wraps(work)
    def worked(*args, **kwargs):
        now = next(count) == at
        if now and when == "before":
            _happen(deed)
        result = work(*args, **kwargs)
        if now and when == "after":
            _happen(deed)
        return result

    if not owners:
        for holder in holders(work, name):
            setattr(holder, name, worked)
    setattr(owner, name, worked)


if __name__ == "__main__":
    from diskbench.cli.main import main
    from diskbench.store import database

    database.BUSY_TIMEOUT_S = int(os.environ.get(BUSY_S, database.BUSY_TIMEOUT_S))
    if MOMENT in os.environ:
        deed, when, place, at = os.environ[MOMENT].split()
        _install(deed, when, place, int(at))
    sys.exit(main())

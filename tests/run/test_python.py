"""A whole run on the Python and the SQLite that the tests run on: script/test has it on every
Python that the classifiers name and this machine has."""

import sqlite3

JOB = """[write]
size=1m
direct=0
ioengine=psync
rw=write
bs=64k
"""


def test_a_run_is_kept_by_this_python_and_sqlite(user, target, profile):
    """Before SQLite 3.42 a run on Python 3.12 ended in `NOT NULL constraint failed`."""
    args = ("run", "--provider", "local", "--path", str(target), "--profile", str(profile))
    (run,) = user.json(*args, "--quiet")["runs"]
    assert run["state"] == "done", sqlite3.sqlite_version
    (listed,) = user.json("results", "list")["runs"]
    assert listed["run_id"] == run["run_id"]

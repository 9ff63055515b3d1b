"""In which order xdist's workers get the tests, and which tests one worker has together.

Half of the workers begin with what waits for servers, disks and fio, the longest first, the others
with what computes: so the cores are busy, and none is left alone with a test of a minute."""

from collections import Counter

TOGETHER = (
    "tests/qemu/",
    "tests/browser/",
    "tests/drills/test_upgrades.py",
    "tests/drills/test_yaml_bombs.py",
)
"""Tests that share something costly, a guest that takes a minute to boot, a browser, a directory
that an old store names, or a process that was called for all of them: one process has them.
(`--dist loadgroup` of xdist 3.8 finds no groups under pytest 9.2.)"""

BY_FILE = ("tests/unit/", "tests/method/", "tests/docs/", "tests/contract/")
"""Where one process has all tests of a file: they are short, and what a file's tests share, a
server or a stored result, is made once and not once in each process."""

LONG = (
    "tests/docs/test_tutorial.py",
    "tests/unit/hosts/test_device.py",
    "tests/drills/test_yaml_bombs.py",
    "tests/unit/hosts/test_jobs.py",
    "tests/contract/",
    "tests/unit/hosts/test_guarded_unit.py",
    "tests/unit/fio/test_shipped.py",
    "tests/run/test_worker.py",
    "tests/run/test_several_disks.py",
    "tests/run/test_interrupt.py",
    "tests/cloud/",
    "tests/method/test_mr11_offered.py",
    "tests/method/test_mr04_cliff.py",
    "tests/unit/test_core.py",
    "tests/drills/test_clocks.py",
    "tests/drills/test_kills.py",
    "tests/plugin/",
    "tests/browser/",
)
"""What takes 15 s and more, or is made of tests that do: begun first, in this order."""


def unit_of(test_id):
    """What one process runs in a row: some rooms, files of others, else the test alone."""
    together = next((place for place in TOGETHER if test_id.startswith(place)), None)
    if together is not None:
        return together
    return test_id.partition("::")[0] if test_id.startswith(BY_FILE) else test_id


def in_order(test_ids):
    sizes = Counter(unit_of(test_id) for test_id in test_ids)

    def place(test_id):
        unit = unit_of(test_id)
        for rank, beginning in enumerate(LONG):
            if test_id.startswith(beginning):
                return 0, rank, unit
        return (2, sizes[unit], unit) if test_id.startswith(BY_FILE) else (1, 0, "")

    return sorted(test_ids, key=place)

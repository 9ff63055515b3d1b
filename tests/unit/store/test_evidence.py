"""Evidence stores, whose first users may be several threads at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from diskbench.errors import StoreUnavailable
from diskbench.store.evidence import open_evidence


def test_a_store_that_is_full_before_anything_began_is_not_to_be_resumed(small_disk):
    store = open_evidence(small_disk.as_uri())
    with pytest.raises(StoreUnavailable, match="No space left"):  # noqa: PT012 - until it is full
        for number in range(10_000):
            store.put(f"ballast/{number}", bytes(2**20 >> min(number // 20, 12)))
    with pytest.raises(StoreUnavailable, match="No space left") as caught:
        store.check_writable()
    assert "resume" not in caught.value.advice
    assert "--evidence-url" in caught.value.advice


def test_settling_a_run_flushes_its_files_and_every_directory_that_names_them(
    tmp_path, monkeypatch
):
    store = open_evidence(tmp_path.as_uri())
    for key in ("runs/a/steps/000-x/fio.json", "runs/a/manifest.json", "runs/b/manifest.json"):
        store.put(key, b"{}")
    flushed = set()

    def fsync(descriptor):
        flushed.add(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    store.settle("runs/a")

    names = ("runs/a/steps/000-x/fio.json", "runs/a/manifest.json")
    above = ("runs/a/steps/000-x", "runs/a/steps", "runs/a", "runs", ".")
    assert flushed == {tmp_path / name for name in (*names, *above)}


# A process of its own: only the first import of a process can race. obstore's store module is
# complete before the package that imports it is, so a second thread that asked for the module alone
# got a package without functions.
FIRST_USE = """
import builtins, sys, threading, time

half_made = threading.Event()
plain_import = builtins.__import__

def slow_import(name, globals=None, locals=None, fromlist=(), level=0):
    if level == 1 and fromlist == ("*",) and (globals or {}).get("__name__") == "obstore":
        half_made.set()
        time.sleep(0.3)  # keeps the half-made package long enough for every thread to meet it
    return plain_import(name, globals, locals, fromlist, level)

builtins.__import__ = slow_import
from diskbench.store import evidence

wrong = []

def first_use(number):
    if number:
        half_made.wait()
    try:
        store = evidence.open_evidence(sys.argv[1])
        store.put(f"{number}.txt", b"x")
        assert store.get(f"{number}.txt") == b"x"
    except BaseException as error:
        wrong.append(repr(error))

threads = [threading.Thread(target=first_use, args=(number,)) for number in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("\\n".join(sorted(set(wrong))))
"""


def test_sixteen_threads_may_be_the_first_to_use_a_store(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE, f"file://{tmp_path}/evidence"],
        capture_output=True, text=True, check=True, timeout=240,
    )  # fmt: skip
    assert done.stdout.strip() == ""

"""The first users of an evidence store may be several threads at once."""

import subprocess
import sys

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

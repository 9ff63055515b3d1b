"""What glibc's own account of its arenas says of the threads of a report."""

import subprocess
import sys

THREADS = """
import ctypes, os, sys, threading
from diskbench.report.allocator import return_free_memory, share_arenas

if sys.argv[1] == "shared":
    share_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.fopen.restype = libc.fdopen.restype = ctypes.c_void_p
all_there = threading.Barrier(8)

def allocate():
    all_there.wait()
    assert libc.malloc(1000)
    all_there.wait()

threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
return_free_memory()
stream = ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w"))
libc.malloc_info(0, stream)
libc.fclose(stream)
"""


def arenas(how):
    done = subprocess.run(
        [sys.executable, "-c", THREADS, how], capture_output=True, text=True, check=True
    )
    return done.stdout.count("<heap nr=")


def test_threads_share_two_arenas_where_each_would_have_its_own():
    assert arenas("shared") <= 2 < arenas("apart")

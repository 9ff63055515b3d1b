"""Processes of Python that are forked from one which has imported diskbench: each runs a module or
a file as `python` does, without the CPU that imports take, which is most of a short command's.

A forked process is a child of its caller, in a session of its own, with its own arguments,
environment, directory and streams. Only its words in /proc are those of the server, which ends
with the process that started it. What imports are, and cost, is tested elsewhere (tests/unit/cli/
test_main.py, test_imports.py).
"""

import atexit
import ctypes
import gc
import io
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import threading
import time
from functools import cache
from importlib import import_module
from pathlib import Path

KNOWN = frozenset({"stdin", "stdout", "stderr", "text", "env", "cwd", "start_new_session"})
"""Arguments of Popen that a forked process obeys."""
IMPORTED = ("diskbench.cli", "diskbench.engine", "diskbench.store", "diskbench.hosts")
USED_WITHIN = ("numpy", "paramiko")
"""What functions import that most commands call, but for what starts threads (duckdb, polars)."""
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
_one_at_a_time = threading.Lock()


class Forked(subprocess.Popen[str]):
    """`python ARGS` in a process that is forked, not executed; ARGS begin with -m or a file."""

    def _execute_child(self, args, *how):
        """What Popen's constructor calls for fork and exec, in Python 3.11 to 3.13."""
        cwd, env, pipes = how[4], how[5], how[9:15]
        asked = json.dumps({"argv": args, "cwd": str(cwd), "env": env}).encode()
        ends = (pipes[0], pipes[3], pipes[5])  # of each pair, the child's
        streams = [number if end == -1 else end for number, end in enumerate(ends)]
        with _one_at_a_time:
            # What forks it ends at once, and an orphan's parent is the nearest subreaper.
            server = _server((env or os.environ).get("PYTHONPATH"))
            _subreaper(1)
            try:
                socket.send_fds(server, [asked], streams)
                self.pid = int(server.recv(100))
            finally:
                _subreaper(0)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def _subreaper(whether):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, whether, 0, 0, 0)


@cache
def _server(python_path):
    """The connection to this process's server, which is started with the first of its modules."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        argv = [sys.executable, "-m", "tests.rigs.forked", str(theirs.fileno())]
        env = os.environ | ({"PYTHONPATH": python_path} if python_path else {})
        how = {"stdin": subprocess.DEVNULL, "cwd": Path(__file__).parents[2], "env": env}
        server = subprocess.Popen(argv, pass_fds=[theirs.fileno()], **how)
    atexit.register(server.wait)
    atexit.register(ours.close)  # before: it ends by that
    return ours


def serve(asked):
    """Fork a process for each request. Returns in each forked process, with its request."""
    while True:
        words, streams, *_ = socket.recv_fds(asked, 1 << 20, 3)
        if not words:
            sys.exit()
        reader, writer = os.pipe()
        if (between := os.fork()) == 0:
            if (pid := os.fork()) == 0:
                for number, stream in enumerate(streams):
                    os.dup2(stream, number)
                os.closerange(3, asked.detach() + 100)
                return dict(json.loads(words))
            os.write(writer, str(pid).encode())
            os._exit(0)
        os.waitpid(between, 0)
        asked.send(os.read(reader, 100))
        for descriptor in (*streams, reader, writer):
            os.close(descriptor)


def become(request):
    """Make this process what the request says."""
    os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    for name, number in (("stdout", 1), ("stderr", 2)):
        binary = os.fdopen(number, "wb")
        lines = number == 2 or os.isatty(number)
        setattr(sys, name, io.TextIOWrapper(binary, "utf-8", line_buffering=lines))


if __name__ == "__main__":
    for package in map(import_module, IMPORTED):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    for library in USED_WITHIN:
        import_module(library)
    gc.collect()
    gc.freeze()  # what is never looked through stays one copy in memory
    become(wanted := serve(socket.socket(fileno=int(sys.argv[1]))))
    program, *sys.argv[1:] = wanted["argv"]
    if program == "-m":
        runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program, run_name="__main__")

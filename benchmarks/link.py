"""100 MB of logs collected from a host behind a slow link that breaks.

    python benchmarks/link.py [--mb 100] [--delay-ms 500] [--cut-mb 2] [--repeats 1] [--json FILE]

The host is a real sshd behind a TCP proxy that holds everything from it back by `--delay-ms`, and
resets the connection each time that `--cut-mb` more have passed: what lost packets end in, when a
link loses enough of them. (The kernel's netem would lose single packets, but is not on every
machine.) Printed are the bytes that passed, handshakes included, beside the size of the same files
by `gzip -6`, and the memory of the process that collects. The floor is `ssh HOST 'gzip -6'` of the
same files through the same proxy, uncut. Ends with 1 where the files are not whole or more than
1.25 times the bytes of gzip were sent.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.rigs.sshd import running_sshd  # noqa: E402 - the tests' own sshd

import logs  # noqa: E402 - a neighbour

MOST_SENT = 1.25
HELD = 64
"""Chunks of 64 KiB under way: a link of 4 MiB a delay."""


class SlowLink:
    """A TCP proxy that delays what its target sends, and resets all after each `cut` bytes."""

    def __init__(self, target, delay_s):
        self._target, self._delay_s = target, delay_s
        self.passed = self.accepted = self.cuts = 0
        self.cut = None
        self._next = None
        self._writers = set()

    async def serve(self, ready):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self._loop = asyncio.get_running_loop()
        ready.set()
        with suppress(asyncio.CancelledError):
            await self._server.serve_forever()

    async def _accept(self, reader, writer):
        self.accepted += 1
        to_host = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, to_host[1]}
        await asyncio.gather(
            self._pass(reader, to_host[1], 0), self._pass(to_host[0], writer, self._delay_s)
        )

    async def _pass(self, reader, writer, delay_s):
        queue = asyncio.Queue(HELD)

        async def send():
            while item := await queue.get():
                due, data = item
                await asyncio.sleep(max(0, due - time.monotonic()))
                if writer.transport.is_closing():  # reset: what was under way is lost
                    continue
                with suppress(OSError):
                    writer.write(data)
                    await writer.drain()
                self._count(len(data))
            writer.close()

        sender = asyncio.create_task(send())
        with suppress(OSError):
            while data := await reader.read(65536):
                await queue.put((time.monotonic() + delay_s, data))
        await queue.put(None)
        await sender

    def _count(self, size):
        self.passed += size
        if self.cut is None:
            self._next = None
            return
        self._next = self._next or self.passed + self.cut
        if self.passed >= self._next:
            self._next = self.passed + self.cut
            self.cuts += 1
            for writer in self._writers:
                writer.transport.abort()
            self._writers.clear()


@contextmanager
def slow_link(target, delay_s):
    """A SlowLink in a thread until the block ends."""
    link, ready = SlowLink(target, delay_s), threading.Event()
    loop = asyncio.new_event_loop()
    task = loop.create_task(link.serve(ready))
    thread = threading.Thread(target=loop.run_until_complete, args=(task,), daemon=True)
    thread.start()
    ready.wait(30)
    try:
        yield link
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(30)


def files_of(folder, megabytes):
    """A unit's directory with logs of single I/Os: no two parts of them are alike."""
    seed = logs.real_logs(folder)
    unit = folder / "unit"
    logs.repeat_logs(seed, unit, max(1, megabytes * 1_000_000 // 24))
    (unit / "fio.json").write_text("{}")
    (unit / "fio.exit").write_text("0\n")
    return unit


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--delay-ms", type=int, default=500)
    parser.add_argument("--cut-mb", type=float, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(*options.child)
    found = {name: [] for name in ("sent", "gzip", "wall", "floor", "memory")}
    with tempfile.TemporaryDirectory(prefix="diskbench-link-") as made:
        folder = Path(made)
        unit = files_of(folder, options.mb)
        size = sum(path.stat().st_size for path in unit.iterdir())
        with (
            running_sshd(folder / "host") as server,
            slow_link(server.port, options.delay_ms / 1000) as link,
        ):
            config = folder / "ssh_config"
            config.write_text(server.config_block("far", port=link.port))
            env = os.environ | {"DISKBENCH_SSH_CONFIG": str(config)}
            for number in range(options.repeats):
                once(unit, folder / f"got-{number}", link, options, env, found)
    for index in range(options.repeats):
        print(
            f"{size / 1e6:.0f} MB of logs: {found['sent'][index]:.2f} MB sent "
            f"(gzip -6: {found['gzip'][index]:.2f} MB), {link.cuts} breaks, "
            f"{found['wall'][index]:.1f} s (one gzip -6 through the same link, unbroken: "
            f"{found['floor'][index]:.1f} s), {found['memory'][index]:.0f} MB of memory"
        )
    if options.json:
        options.json.write_text(json.dumps({"rows": rows(found)}))
    return (
        0
        if all(a <= MOST_SENT * b for a, b in zip(found["sent"], found["gzip"], strict=True))
        else 1
    )


def once(unit, got, link, options, env, found):
    """Collect `unit` once through the link that breaks, and once by one gzip through one that does
    not; the figures go to `found`."""
    link.cut = None
    started, before = time.monotonic(), link.passed
    packed = f"tar -cf - -C {unit} . | gzip -6"
    argv = ["ssh", "-F", env["DISKBENCH_SSH_CONFIG"], "far", packed]
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=True)
    found["floor"].append(time.monotonic() - started)
    found["gzip"].append(len(done.stdout) / 1e6)
    before = link.passed
    link.cut = int(options.cut_mb * 1e6)
    started = time.monotonic()
    argv = [sys.executable, __file__, "--child", "far", str(unit), str(got)]
    peak = subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=True, text=True).stdout
    found["wall"].append(time.monotonic() - started)
    found["sent"].append((link.passed - before) / 1e6)
    found["memory"].append(float(peak))
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=got, check=True)


def child(host, unit_directory, got):
    """Collect in a process of its own; prints its largest resident set in MB."""
    from diskbench.hosts.collect import collect
    from diskbench.hosts.ssh import SshHost
    from diskbench.hosts.unit import Unit

    class Here(Unit):
        @property
        def directory(self):
            return unit_directory

    unit = Here(trial_id="t", run_index=0, name="000-x", state_dir="/nowhere", job="")
    far = SshHost(host)
    collect(far, unit, Path(got))
    far.close()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return 0


def rows(found):
    """The rows of script/bench."""
    return [
        {
            "name": "bytes sent over a slow link",
            "unit": "MB",
            "ours": found["sent"],
            "floor": found["gzip"],
        },
        {"name": "100 MB over a slow link", "unit": "s", "ours": found["wall"],
         "floor": found["floor"]},
        {"name": "memory of collecting", "unit": "MB", "ours": found["memory"], "floor": None},
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

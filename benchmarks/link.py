"""100 MB of logs collected from a host behind a slow link that breaks.

    python benchmarks/link.py [--mb 100] [--delay-ms 500] [--loss 1] [--kb-s 1000] [--cut-mb 2]
                              [--repeats 1] [--json FILE]

The host is a real sshd behind a TCP proxy: the kernel's netem, which would drop packets, is not in
every kernel (of the machine of the table neither as built in nor as a module). The proxy

    delays each byte by half of --delay-ms, in both directions, and the first by a round trip more
    passes at most --kb-s from the host
    holds --loss of each hundred packets of 1,448 bytes back by one more round trip, with all that
    comes after them: that is what a lost packet is to a program, because TCP sends it again and
    delivers in order. That TCP also sends less after a loss is in --kb-s: a TCP of its own that
    reads loss as congestion would pass 35 kB/s here (Mathis: 1.22 packets a round trip and root of
    the loss)
    resets all connections after each --cut-mb: what many losses in a row end in

Printed are the bytes that passed, handshakes included, beside the size of the same files by
`gzip -6`; the time beside the ideal, which is these bytes at --kb-s and the round trips of each
connection; and the memory of the process that collects. The floor is `ssh HOST 'gzip -6'` of the
same files through the same proxy, uncut. Ends with 1 where the files are not whole or more than
1.25 times the bytes of gzip were sent.
"""

import argparse
import asyncio
import json
import os
import random
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
"""Pieces under way in one direction: 4 MiB, more than an SSH channel lets be sent unasked."""
PACKET = 1448
ROUND_TRIPS = 8
"""Of a connection, before the first byte of a file: TCP, versions, two of the key exchange, the
service, the login, the channel, the command."""


class SlowLink:
    """A TCP proxy that delays and loses in both directions, and resets all after each `cut`
    bytes."""

    def __init__(self, target, *, round_trip_s, loss, bytes_per_s):
        self._target, self.round_trip_s = target, round_trip_s
        self._loss, self._bytes_per_s = loss, bytes_per_s
        self._chance = random.Random(7)
        self.passed = self.accepted = self.cuts = self.lost = 0
        self.cut = None
        self._next = None
        self._free = 0.0
        self._writers = set()

    async def serve(self, ready):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self._loop = asyncio.get_running_loop()
        ready.set()
        with suppress(asyncio.CancelledError):
            await self._server.serve_forever()
        passing = asyncio.all_tasks() - {asyncio.current_task()}
        for task in passing:
            task.cancel()
        await asyncio.gather(*passing, return_exceptions=True)

    async def _accept(self, reader, writer):
        self.accepted += 1
        await asyncio.sleep(self.round_trip_s)  # the handshake of TCP
        to_host = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, to_host[1]}
        await asyncio.gather(
            self._pass(reader, to_host[1], paced=False), self._pass(to_host[0], writer, paced=True)
        )

    async def _pass(self, reader, writer, *, paced):
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
        due = 0.0
        with suppress(OSError):
            while data := await reader.read(65536 if paced else 4096):
                now = time.monotonic()
                if paced:
                    self._free = max(self._free, now) + len(data) / self._bytes_per_s
                    now = self._free
                now += self.round_trip_s / 2
                for _ in range(0, len(data), PACKET):
                    if self._chance.random() < self._loss:
                        self.lost += 1
                        now += 0 if due > now else self.round_trip_s
                due = max(due, now)
                await queue.put((due, data))
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
            self._free = 0.0
            for writer in self._writers:
                writer.transport.abort()
            self._writers.clear()


@contextmanager
def slow_link(target, **how):
    """A SlowLink in a thread until the block ends."""
    link, ready = SlowLink(target, **how), threading.Event()
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
    parser.add_argument("--loss", type=float, default=1, help="of each hundred packets")
    parser.add_argument("--kb-s", type=float, default=1000)
    parser.add_argument("--cut-mb", type=float, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the rows of script/bench to this file")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(*options.child)
    names = ("sent", "gzip", "wall", "floor", "memory", "cuts", "accepted", "lost", "ideal")
    found = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="diskbench-link-") as made:
        folder = Path(made)
        unit = files_of(folder, options.mb)
        size = sum(path.stat().st_size for path in unit.iterdir())
        with (
            running_sshd(folder / "host") as server,
            slow_link(
                server.port,
                round_trip_s=options.delay_ms / 1000,
                loss=options.loss / 100,
                bytes_per_s=1000 * options.kb_s,
            ) as link,
        ):
            config = folder / "ssh_config"
            config.write_text(server.config_block("far", port=link.port))
            env = os.environ | {"DISKBENCH_SSH_CONFIG": str(config)}
            for number in range(options.repeats):
                once(unit, folder / f"got-{number}", link, options, env, found)
    for index in range(options.repeats):
        print(
            f"{size / 1e6:.0f} MB of logs: {found['sent'][index]:.2f} MB sent "
            f"(gzip -6: {found['gzip'][index]:.2f} MB), {found['cuts'][index]} breaks, "
            f"{found['accepted'][index]} connections, {found['lost'][index]} packets lost, "
            f"{found['wall'][index]:.1f} s (ideal: {found['ideal'][index]:.1f} s; one gzip -6 "
            f"through the same link, unbroken: {found['floor'][index]:.1f} s), "
            f"{found['memory'][index]:.0f} MB of memory"
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
    started = time.monotonic()
    packed = f"tar -cf - -C {unit} . | gzip -6"
    argv = ["ssh", "-F", env["DISKBENCH_SSH_CONFIG"], "far", packed]
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=True)
    found["floor"].append(time.monotonic() - started)
    found["gzip"].append(len(done.stdout) / 1e6)
    before, counts = link.passed, (link.cuts, link.accepted, link.lost)
    link.cut = int(options.cut_mb * 1e6)
    started = time.monotonic()
    argv = [sys.executable, __file__, "--child", "far", str(unit), str(got)]
    peak = subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=True, text=True).stdout
    found["wall"].append(time.monotonic() - started)
    found["sent"].append((link.passed - before) / 1e6)
    found["memory"].append(float(peak))
    for name, at_first in zip(("cuts", "accepted", "lost"), counts, strict=True):
        found[name].append(getattr(link, name) - at_first)
    trips = ROUND_TRIPS * found["accepted"][-1] * options.delay_ms / 1000
    found["ideal"].append(1000 * found["sent"][-1] / options.kb_s + trips)
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
        {"name": "100 MB over a slow link, beside the ideal", "unit": "s", "ours": found["wall"],
         "floor": found["ideal"]},
        {"name": "memory of collecting", "unit": "MB", "ours": found["memory"], "floor": None},
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

"""One side at a time on the throttled disks, by turns."""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks import fidelity_originals as originals
from benchmarks import fidelity_ours as ours
from benchmarks.fidelity_table import Sample
from tests.rigs import throttled_loop as rig

ROOT: Final = Path(__file__).resolve().parent.parent
RAW: Final = ("dd", "hdparm")
"""Tools that the seeds ran on a raw device; the others make files."""
DROPS_ITSELF: Final = ("gobonniego",)
"""Tools of which either side drops the page cache: a foreign drop cannot be told from theirs."""
PATIENCE_S: Final = 600
TRIES: Final = 3


@dataclass(frozen=True)
class Ended:
    """What a child process wrote, and when each piece of its stderr came."""

    stdout: str
    stderr: str
    progress: list[originals.Timed]


@dataclass(frozen=True)
class Bench:
    """Everything a run needs: where, how large, and how a program gets into the memory group."""

    sizes: originals.Sizes
    device: str
    directory: Path
    group: rig.Group
    home: Path
    gobonniego: Path | None
    versions: dict[str, str] = field(default_factory=dict)

    def original(self, tool: str) -> dict[str, float]:
        """One run of the original tool, inside the group."""
        argv = {
            "dd": lambda: originals.dd_command(self.device, self.sizes),
            "hdparm": lambda: originals.hdparm_command(self.device),
            "bonnie": lambda: originals.bonnie_command(self.directory, self.sizes),
            "gobonniego": lambda: originals.gobonniego_command(
                self.gobonniego or Path("gobonniego"), self.directory, self.sizes
            ),
        }[tool]()
        shim = self.group.write_shim(self.home / "originals", argv[0])
        ended = child([str(shim), *argv[1:]], os.environ | {"LC_ALL": "C"})
        self.versions.setdefault(tool, originals.tool_version(tool, ended.stdout))
        match tool:
            case "dd":
                return originals.parse_dd(ended.stderr)
            case "hdparm":
                return originals.parse_hdparm(ended.stdout)
            case "gobonniego":
                return originals.parse_gobonniego(ended.stdout)
            case _:
                files = self.sizes.files_ki * 1024
                return originals.parse_bonnie(ended.stdout, ended.progress, files)

    def ours(self, tool: str) -> dict[str, float]:
        """One `diskbench run` of our profile, its fio inside the group."""
        shim = self.group.write_shim(self.home / "fio", "fio")
        env = {k: v for k, v in os.environ.items() if not k.startswith("DISKBENCH_")} | {
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "data"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
            "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}",
        }
        target = ours.directory_target(self.directory)
        if tool in RAW:
            listed = child([sys.executable, "-m", "diskbench", "devices", "--output", "json"], env)
            target = ours.device_target(
                self.device, ours.parse_identity(listed.stdout, self.device)
            )
        starts = shim.with_name("fio.starts")
        starts.unlink(missing_ok=True)
        ended = child(ours.diskbench_command(tool, target, self.sizes), env)
        if not starts.exists() or "job.fio" not in starts.read_text("utf-8"):
            raise ours.OursError("fio was not started through the memory group")
        return ours.figures(tool, ours.parse_steps(ended.stdout))


def child(argv: list[str], env: dict[str, str]) -> Ended:
    """Run `argv` to its end, its stderr stamped piece by piece.

    It has a session of its own, so that Ctrl-C reaches it once, from here, and it may clean up.
    """
    process = subprocess.Popen(
        argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    progress: list[originals.Timed] = []
    out: list[bytes] = []
    threads = [
        threading.Thread(target=_stamp, args=(process.stderr, progress)),
        threading.Thread(target=lambda: out.append(process.stdout.read())),
    ]
    for thread in threads:
        thread.start()
    try:
        code = process.wait(PATIENCE_S)
    except BaseException:
        _end(process)
        raise
    finally:
        for thread in threads:
            thread.join(10)
    stderr = "".join(piece.text for piece in progress)
    if code:
        raise originals.OriginalError(f"{argv[0]} ended with {code}: {stderr[-1000:].strip()}")
    return Ended(out[0].decode("utf-8", "replace"), stderr, progress)


def _stamp(stream, into: list[originals.Timed]) -> None:
    while piece := os.read(stream.fileno(), 65536):
        into.append(originals.Timed(time.monotonic(), piece.decode("utf-8", "replace")))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask as Ctrl-C would, and wait for the clean-up; then insist."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_pairs(bench: Bench, tools: Sequence[str], repeats: int, seed: int) -> Iterator[Sample]:
    """All samples: each repeat has every tool once, each tool both sides in a drawn order.

    A disturbed sample comes too, and is taken again, up to TRIES times.
    """
    chance = random.Random(seed)
    sides: dict[str, Callable[[str], dict[str, float]]] = {
        "original": bench.original,
        "ours": bench.ours,
    }
    for repeat in range(repeats):
        for tool in tools:
            order = list(sides)
            chance.shuffle(order)
            for position, side in enumerate(order):
                for _ in range(TRIES):
                    rig.clear(bench.directory)
                    rig.drop_caches()
                    load, drops, began = os.getloadavg()[0], _cache_drops(), time.monotonic()
                    values = sides[side](tool)
                    seconds = time.monotonic() - began
                    disturbed = tool not in DROPS_ITSELF and _cache_drops() != drops
                    yield Sample(tool, side, repeat, position, load, seconds, disturbed, values)
                    if not disturbed:
                        break


def _cache_drops() -> int:
    """How often anybody dropped the page cache of this machine since it started."""
    with Path("/proc/vmstat").open(encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("drop_pagecache "))


@contextmanager
def bench_ground(options: argparse.Namespace, gobonniego: Path | None) -> Iterator[Bench]:
    """Two throttled loop disks, one with ext4 and one raw, and a memory group; all undone."""
    rig.need("losetup", "mkfs.ext4", "mount", "umount", "fio")
    cgroups = rig.find_cgroups()
    sizes = originals.Sizes(
        memory_mib=options.memory_mib,
        file_mib=2 * options.memory_mib,
        files_ki=options.files_ki,
    )
    # A buffered write to a raw device is a bio of 4 KiB a page, and blk-throttle counts each: with
    # a limit on IOPS it would be all that dd and fio measure.
    limits = rig.Limits(options.mb_per_s * 1_000_000, options.iops)
    raw_limits = rig.Limits(options.mb_per_s * 1_000_000)
    with ExitStack() as stack:
        enter = stack.enter_context
        home = Path(enter(tempfile.TemporaryDirectory(prefix="fidelity-", dir=options.dir)))
        raw_mib = max(sizes.device_mib, sizes.dd_count * 4 // 1024) + 64
        raw = enter(rig.loop_disk(home / "raw.img", raw_mib * rig.MIB))
        files = enter(rig.loop_disk(home / "files.img", (2 * sizes.file_mib + 1024) * rig.MIB))
        mount = enter(rig.mounted_ext4(files, home / "mnt"))
        enter(rig.throttled_disk(cgroups, raw, raw_limits))
        enter(rig.throttled_disk(cgroups, files, limits))
        group = enter(
            rig.group(
                cgroups,
                f"diskbench-fidelity-{os.getpid()}",
                sizes.memory_mib * rig.MIB,
                {raw: raw_limits, files: limits},
            )
        )
        yield Bench(sizes, raw.path, mount, group, home, gobonniego)

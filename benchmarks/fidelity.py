"""How faithful our profiles are to the tools they restate, as a ratio of medians.

The original GoBonnieGo, bonnie++, hdparm and dd run on the same throttled loop disk as
`diskbench run` of our profile, by turns, in a seeded random order inside each pair. Either has fio
or the tool alone in a memory cgroup, with files of twice its limit: otherwise both would measure
the page cache. Everything dirty is written out and the page cache dropped before each.

    python benchmarks/fidelity.py [--tools dd,hdparm,gobonniego,bonnie] [--repeats 5] [--seed 1]

Needs root, the tools, and cgroup v1 blkio or cgroup v2. Ends with 1 when a tool could not be
compared, 2 when the machine cannot hold the rig. Nothing else should run beside it; a sample during
which somebody else dropped the page cache is taken again. docs/evidence/fidelity.md has the figures
and the reasons.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import fidelity_originals as originals  # noqa: E402 - needs the path above
from benchmarks import fidelity_ours as ours  # noqa: E402
from benchmarks.fidelity_bench import bench_ground, run_pairs  # noqa: E402
from benchmarks.fidelity_table import Sample, compare, render, short  # noqa: E402
from tests.rigs.throttled_loop import RigError  # noqa: E402

TOOLS: Final = tuple(originals.METRICS)
PROGRAMS: Final = {"dd": "dd", "hdparm": "hdparm", "bonnie": "bonnie++"}


def find_gobonniego(options: argparse.Namespace, directory: Path) -> Path:
    """The binary: given, the stand-in, on PATH, or installed. Raises OriginalError."""
    if options.gobonniego_stand_in:
        return originals.build_stand_in(directory)
    if found := options.gobonniego or shutil.which("gobonniego"):
        return Path(found).resolve()
    return originals.install_gobonniego(directory)


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    fio = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True)
    return {
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "fio": fio.stdout.strip(),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tools", default=",".join(TOOLS), help="which, comma-separated")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1, help="of the order inside each pair")
    parser.add_argument("--memory-mib", type=int, default=256, help="limit; files are twice that")
    parser.add_argument("--mb-per-s", type=int, default=150, help="limit of the disk, each way")
    parser.add_argument("--iops", type=int, default=2500, help="limit of the disk with files")
    parser.add_argument("--files-ki", type=int, default=32, help="bonnie++ -n, in 1,024 files")
    parser.add_argument("--gobonniego", help="the original's binary (default: PATH, go install)")
    parser.add_argument(
        "--gobonniego-stand-in",
        action="store_true",
        help="compare with our own Go program of the same pattern instead",
    )
    parser.add_argument("--dir", default=None, help="where the disks' images go (about 4 GiB)")
    parser.add_argument("--output", choices=("table", "json"), default="table")
    options = parser.parse_args()
    options.tools = options.tools.split(",")
    if unknown := set(options.tools) - set(TOOLS):
        parser.error(f"unknown tools: {', '.join(sorted(unknown))}; known: {', '.join(TOOLS)}")
    if options.repeats < 1 or options.memory_mib < 64:
        parser.error("--repeats must be at least 1 and --memory-mib at least 64")
    if not 1 <= options.files_ki <= 32:
        parser.error("--files-ki must be 1 to 32: our profile names each file in its job file")
    return options


def measure(options: argparse.Namespace) -> int:
    samples: list[Sample] = []
    missing = {
        tool: f"{program} is not installed"
        for tool, program in PROGRAMS.items()
        if tool in options.tools and shutil.which(program) is None
    }
    gobonniego = None
    with tempfile.TemporaryDirectory(prefix="fidelity-go-") as directory:
        if "gobonniego" in options.tools:
            try:
                gobonniego = find_gobonniego(options, Path(directory))
            except originals.OriginalError as error:
                missing["gobonniego"] = str(error)
        say_missing(missing)
        tools = [tool for tool in options.tools if tool not in missing]
        with bench_ground(options, gobonniego) as bench:
            for sample in run_pairs(bench, tools, options.repeats, options.seed):
                samples.append(sample)
                say_sample(sample, options.repeats)
    rows = compare(samples)
    if options.output == "json":
        document = {
            "format": 1,
            "seed": options.seed,
            "machine": machine(),
            "sizes": asdict(bench.sizes),
            "disk": {"mb_per_s": options.mb_per_s, "iops": options.iops},
            "versions": bench.versions,
            "gobonniego_is_a_stand_in": options.gobonniego_stand_in,
            "not_compared": missing,
            "metrics": [asdict(row) for row in rows],
            "samples": [asdict(sample) for sample in samples],
        }
        print(json.dumps(document, indent=2))
    else:
        print(render(rows))
    if options.gobonniego_stand_in and "gobonniego" in tools:
        say("gobonniego: the original column is a STAND-IN, not GoBonnieGo")
    say_missing(missing)
    return 1 if missing else 0


def say_missing(missing: dict[str, str]) -> None:
    for tool, why in missing.items():
        say(f"{tool} NOT COMPARED: {why}")


def say_sample(sample: Sample, repeats: int) -> None:
    shown = ", ".join(f"{name} {short(value)}" for name, value in sample.values.items())
    note = " (page cache dropped by somebody else: not counted)" if sample.disturbed else ""
    say(
        f"{sample.repeat + 1}/{repeats} {sample.tool} {sample.side} in {sample.seconds:.0f} s, "
        f"load {sample.load:.1f}{note}: {shown}"
    )


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    options = arguments()
    # SIGTERM unwinds the stack of context managers as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return measure(options)
    except RigError as error:
        say(f"this machine cannot hold the rig: {error}")
        return 2
    except (originals.OriginalError, ours.OursError) as error:
        say(f"failed: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; everything was undone")
        return 130


if __name__ == "__main__":
    sys.exit(main())

"""What a job file asks of each of its jobs: fio's JSON leaves options out (axboe/fio #237), so the
job file is the truth and the JSON only stands in where there is none (imports)."""

import re
from collections.abc import Mapping

from diskbench.fio.numbers import bytes_of, count_of
from diskbench.fio.reported import FioJob, FioOutput
from diskbench.model.result import Direction

_ALIASES = {
    "blocksize": "bs",
    "readwrite": "rw",
    "blocksize_range": "bsrange",
    "io_limit": "io_size",
    "buffered": "buffered",
    "o_direct": "direct",
}
_COMMENT = re.compile(r"\s[;#].*$")
_DEFAULT_BLOCK = "4k"
_BLOCK_POSITION = {"read": 0, "write": 1, "trim": 2}

Options = Mapping[str, str]


def declared(job_text: str) -> dict[str, dict[str, str]]:
    """Section name → its options with those of [global] above it, fio's aliases resolved.

    A later [global] adds to the earlier ones and holds for the sections after it, as in fio.
    """
    shared: dict[str, str] = {}
    jobs: dict[str, dict[str, str]] = {}
    current = shared
    for raw in job_text.splitlines():
        line = raw.strip()
        if not line or line[0] in ";#":
            continue
        if line.startswith("[") and "]" in line:
            name = line[1 : line.index("]")]
            current = shared if name == "global" else jobs.setdefault(name, dict(shared))
            continue
        key, _, value = line.partition("=")
        key = key.strip()
        current[_ALIASES.get(key, key)] = _COMMENT.sub("", value).strip()
    return jobs


def options_of(job: FioJob, output: FioOutput, sections: Mapping[str, Options]) -> Options:
    """The options of one reported job: of its section, else of fio's own JSON."""
    if job.name in sections:
        return sections[job.name]
    merged = {**output.options, **job.options}
    return {_ALIASES.get(key, key): value for key, value in merged.items()}


def rw_of(options: Options) -> str | None:
    """The pattern (`randread`, `rw` …) without its offset modifier; None where nothing says."""
    value = options.get("rw")
    return value.split(":")[0] or None if value else None


def directions_of(options: Options) -> tuple[Direction, ...]:
    """The directions that the pattern asks for; none where nothing says."""
    rw = rw_of(options) or ""
    if rw in ("rw", "readwrite", "randrw"):
        return ("read", "write")
    if rw in ("trimwrite", "randtrimwrite"):
        return ("write", "trim")
    kinds: tuple[Direction, ...] = ("read", "write", "trim")
    return tuple(kind for kind in kinds if rw.removeprefix("rand") == kind)


def block_bytes(options: Options, direction: Direction) -> int | None:
    """Bytes of one I/O; None for mixtures of sizes, for sync and where nothing says."""
    if direction not in _BLOCK_POSITION or not options.get("rw"):
        return None
    if "bssplit" in options or "bsrange" in options:
        return None
    parts = [part.strip() for part in options.get("bs", _DEFAULT_BLOCK).split(",")]
    position = _BLOCK_POSITION[direction]
    # fio: a size that is left out is the one before it; an empty one is the default.
    text = parts[position] if position < len(parts) else parts[-1]
    return size_of(text or _DEFAULT_BLOCK)


def iodepth(options: Options) -> int | None:
    """Requested queue depth of one job; fio's default is 1. None where nothing says."""
    return count_of(options.get("iodepth", "1" if options.get("rw") else ""))


def numjobs(options: Options) -> int:
    """How many clones of the section run."""
    return max(count_of(options.get("numjobs", "1")) or 1, 1)


def is_set(options: Options, name: str) -> bool:
    """Whether a switch is on: `direct`, `direct=1`, but not `direct=0` nor its absence."""
    return options.get(name, "0") not in ("0", "false", "no")


def size_of(text: str) -> int | None:
    """A size in bytes; None for percentages and what else is no plain size."""
    return bytes_of(text)

"""bonnie++'s table and CSV line: 1.03, 1.9x and 2.x (bon_time.cpp, bonnie++.cpp).

K/s are 1,024 bytes a second, sizes M and G are 2^20 and 2^30 bytes; the k, m and g of version 2's
table are powers of 1,024 too. A phase shorter than half a second is printed as `+++++` and has no
row. The CSV holds whole figures and comes before the table where a file has both.

Only the block phases have an amount (the file's size). The others have rates alone, so the counts
and the run time of their rows are empty; the phases one byte at a time have no I/Os of a size, and
the seeks no bytes. Rates of files created, read and deleted are no I/O of the disk: they
are not rows.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from diskbench.errors import InvalidValue
from diskbench.importers import form
from diskbench.model.result import Direction
from diskbench.units import GIB, KIB, MIB

_PHASES: Final[tuple[tuple[str, Direction, str, bool], ...]] = (
    ("char-write", "write", "write", False),
    ("block-write", "write", "write", True),
    ("rewrite", "write", "rw", True),
    ("char-read", "read", "read", False),
    ("block-read", "read", "read", True),
    ("seeks", "read", "randrw", False),
)
"""Phase (as the profile bonnie names it), direction, pattern, whether it covers the whole file."""
_CHUNK = 8192
_MOST_RUNS = 1000
_OLD_CSV = re.compile(
    r"^(?P<name>[^,\n]{1,80}),(?P<size>\d{1,9}[MG]?)(?::(?P<chunk>\d{1,7}k?))?,(?P<rest>[\d.,+]*)$",
    re.M,
)
_NEW_CSV = re.compile(
    r"^(?P<format>1\.9\d|2\.\d\d?),(?P<version>[12]\.\d\d\w?),(?P<rest>.*)$", re.M
)
_HEAD = re.compile(r"^(?:Version\s+)?(?P<version>[12]\.\d\d\w?)\s+-+Sequential Output-", re.M)
_SIZE = re.compile(r"(?P<size>\d{1,9}[MG])(?::(?P<chunk>\d{1,7}k?))?")
_FIGURE = re.compile(r"[\d.]+[kmg]?|\++")
_LATENCY = re.compile(r"^Latency\s+(?P<rest>[\dmnus ]+)$")
_FIGURES = 12
_OLD_FIELDS = 30
"""1.03 has 12 figures of the disk and 13 of files."""
_SCALES: Final = {"k": KIB, "m": MIB, "g": GIB}


@dataclass(frozen=True)
class _Result:
    """One table or CSV line: text of each rate, in order, with the longest latencies."""

    version: str
    name: str
    size: int
    chunk: int
    jobs: int
    rates: tuple[str, ...]
    latencies: tuple[str, ...] = ()


def read_bonnie(data: bytes, name: str) -> form.Imported:
    """Each CSV line, or where there is none each table, as a run. Raises InvalidValue."""
    text = form.text_of(data, name)
    found = list(_csv(text, name)) or _tables(text, name)
    results = form.some(found, name, "line of bonnie++ figures", _MOST_RUNS)
    runs = (_run_of_phases(result, name) for result in results)
    measured = form.some((run for run in runs if run.steps), name, "phase of half a second (+++++)")
    rates_alone = (
        "bonnie++ prints no amounts for per-byte phases and seeks: their counts and run times are "
        "empty"
    )
    return form.Imported(
        "bonnie", results[0].version, measured, {"hosts": results[0].name}, (rates_alone,)
    )


def _csv(text: str, where: str) -> Iterator[_Result]:
    for match in _NEW_CSV.finditer(text):
        fields = match["rest"].split(",")
        # name, concurrency, seed, file size, chunk size; since 1.98 seeks and seekers, too
        first = 5 if match["format"] in ("1.96", "1.97") else 7
        if len(fields) < first + _FIGURES:
            raise InvalidValue(f"{where}: a CSV line of bonnie++ {match['version']} is cut")
        if not fields[3]:
            continue  # bonnie++ -s 0 measures files alone
        yield _Result(
            version=match["version"], name=fields[0][:80], size=_size(fields[3], where),
            chunk=_chunk(fields[4], where), rates=tuple(fields[first : first + _FIGURES : 2]),
            jobs=max(int(form.number(fields[1] or "1", where)), 1),
            latencies=tuple(fields[-12:-6]) if len(fields) >= first + _FIGURES + 29 else (),
        )  # fmt: skip
    if _NEW_CSV.search(text):
        return
    for match in _OLD_CSV.finditer(text):
        fields = match["rest"].split(",")
        if not _is_old(match):
            continue
        yield _Result(
            version="1.03", name=match["name"], size=_size(match["size"], where), jobs=1,
            chunk=_chunk(match["chunk"], where), rates=tuple(fields[0:_FIGURES:2]),
        )  # fmt: skip


def _tables(text: str, where: str) -> Iterator[_Result]:
    version = ""
    jobs = 1
    pending: _Result | None = None
    for line in text.splitlines():
        line = line[:512].rstrip()
        if match := _HEAD.match(line):
            version = match["version"]
        elif match := re.match(r"Concurrency\s+(\d{1,5})\s", line):
            jobs = max(int(match[1]), 1)
        elif version and (cells := _table_cells(line)):
            if pending:
                yield pending
            pending = _from_table(cells, version, jobs, where)
        elif pending and (match := _LATENCY.match(line)):
            cells = match["rest"].split()
            if len(cells) == len(_PHASES):
                pending = replace(pending, latencies=tuple(cells))
            yield pending
            pending = None
    if pending:
        yield pending


def _table_cells(line: str) -> list[str]:
    """The name, the size, and the rate and share of each phase in a line; empty for any other."""
    cells = line.split()
    at = next((i for i in range(1, min(len(cells), 5)) if _SIZE.fullmatch(cells[i])), 0)
    if not at or not all(_FIGURE.fullmatch(cell) for cell in cells[at + 1 :]):
        return []
    return [" ".join(cells[:at]), *cells[at:]]


def _from_table(cells: Sequence[str], version: str, jobs: int, where: str) -> _Result:
    name, sizes, *rates = cells
    if len(rates) != _FIGURES:
        raise InvalidValue(
            f"{where}: {' '.join(cells)[:60]!r} has {len(rates)} figures, where bonnie++ prints "
            f"{_FIGURES}: import its CSV line"
        )
    match = _SIZE.fullmatch(sizes)
    assert match is not None
    return _Result(
        version=version, name=name[:80], size=_size(match["size"], where), jobs=jobs,
        chunk=_chunk(match["chunk"], where), rates=tuple(rates[::2]),
    )  # fmt: skip


def _run_of_phases(result: _Result, where: str) -> form.ImportedRun:
    steps: list[form.ImportedStep] = []
    for place, (phase, direction, rw, moves_all) in enumerate(_PHASES):
        text = result.rates[place].strip() if place < len(result.rates) else ""
        if not text.strip("+"):
            continue
        step, seeks, at = form.step_of(len(steps), phase), phase == "seeks", f"{where}: {phase}"
        rate = _rate(text, at, per_second=seeks)
        if not rate:
            continue
        made = form.row(
            step=step, direction=direction, where=at, rw=rw,
            ios=-(-result.size // result.chunk) if moves_all else None,
            size=result.size if moves_all else None,
            seconds=result.size / rate if moves_all else None,
            iops=rate if seeks else None, bytes_per_s=None if seeks else rate,
            block=result.chunk if moves_all or seeks else None,
            jobs=result.jobs if not seeks else 1, latency=_longest(result, place),
        )  # fmt: skip
        steps.append(form.ImportedStep(step, (made,)))
    return form.ImportedRun(tuple(steps))


def _longest(result: _Result, place: int) -> dict[str, float]:
    """The longest latency of a phase; empty where the version prints none."""
    cell = result.latencies[place].strip() if place < len(result.latencies) else ""
    match = re.fullmatch(r"(\d{1,12})(ns|us|ms|s)", cell)
    scales = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
    return {"lat_max_ns": float(int(match[1]) * scales[match[2]])} if match else {}


def _rate(text: str, where: str, *, per_second: bool) -> float:
    """Bytes per second; for seeks, seeks per second."""
    scale: float = 1 if per_second else KIB
    if text[-1:].lower() in _SCALES:  # only version 2's table has these
        text, letter = text[:-1], text[-1].lower()
        scale = 1000 ** (1 + "kmg".index(letter)) if per_second else _SCALES[letter]
    return form.number(text, where) * scale


def _size(text: str, where: str) -> int:
    unit = {"G": GIB, "M": MIB}.get(text[-1:], MIB)
    size = round(form.number(text.rstrip("GMk"), where) * unit)
    if not 0 < size < 2**60:
        raise InvalidValue(f"{where}: {text[:40]!r} is not a size of a file")
    return size


def _chunk(text: str | None, where: str) -> int:
    if not text:
        return _CHUNK
    chunk = round(form.number(text.rstrip("k"), where) * (1024 if text.endswith("k") else 1))
    if not 256 <= chunk <= MIB:
        raise InvalidValue(f"{where}: {text[:40]!r} is not a chunk of bonnie++ (256 B to 1 MiB)")
    return chunk


def _recognises(data: bytes, _: str) -> bool:
    if b"Sequential Output-" not in data and b"," not in data:
        return False
    text = form.head_of(data)
    if _HEAD.search(text) and any(_table_cells(line[:512]) for line in text.splitlines()):
        return True
    return bool(_NEW_CSV.search(text)) or any(map(_is_old, _OLD_CSV.finditer(text)))


def _is_old(match: re.Match[str]) -> bool:
    """Whether it is 1.03's line: 12 figures of the disk, and 13 of files or none."""
    fields: Sequence[str] = match["rest"].split(",")
    return _FIGURES <= len(fields) <= _OLD_FIELDS and match["size"][-1] in "MG"


BONNIE = form.Format("bonnie", "bonnie++'s table or CSV (1.03 to 2.x)", _recognises, read_bonnie)

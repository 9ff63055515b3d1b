"""What every importer returns, and how a format is declared."""

import codecs
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal, TypeVar

from diskbench.catalog.published import Published
from diskbench.errors import InvalidValue
from diskbench.fio.histogram import QUANTILES, needed
from diskbench.fio.output import DECODER
from diskbench.fio.rows import ALL_JOBS
from diskbench.limits import COUNTER, FASTEST, JOBS
from diskbench.model.result import Direction, Measurement, Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Step
from diskbench.units import MIB, NS_PER_S, format_bytes
from diskbench.visible import UNKNOWN, unstorable, unstorable_words

ImportKind = Literal[
    "fio-json", "fio-terse", "fio-text", "fio-log", "gobonniego", "bonnie", "dd", "hdparm",
    "diskspd", "perfkit", "vdbench", "sysbench", "pg_test_fsync", "elbencho", "yabs", "published",
]  # fmt: skip

TEXT_BYTES = 16 * MIB
"""Text of one file: as a string, with what is made of it, it takes ten times as much memory."""
_JSON_BYTES = 32 * MIB
_JSON_VALUES = 700_000
"""Values in one JSON document, of up to 200 bytes each in memory: some 1,000 fio jobs as `json`, or
400 with the histograms of json+."""
_HEAD_BYTES = MIB
LONGEST_NAME = 80
"""Characters of a step's name; a job's own name stands in its row."""
MOST_STEPS = 10_000
"""Steps in one file: fio's own limit on jobs (limits.FIO_JOBS), and far above any real file."""
_LONGEST_RUN_S = 366 * 86400.0


@dataclass(frozen=True, slots=True)
class ImportedStep:
    """One step of an imported run. `step.job` is empty where the job file is not known. `compared`:
    its tool prints bytes, I/Os and block each for itself, and they agree (where they do not, a file
    is refused); fio's are compared by fio/audit.py. `warnings` are the doubts that its figures
    raise."""

    step: Step
    measurements: tuple[Measurement, ...]
    compared: bool = False
    warnings: tuple[Warning, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One run in a file. Times are ISO 8601 in UTC; None where the file has none, or has one
    without its time zone: `local_time` is then what the file says. `notes` say what was unusual in
    this run; `reports` what else in the file counts as this run or was left out. `first` is the
    place in the file of the first run of its trial. What only a post says of each of its runs:
    values of columns of Run (`row`), labels as a user gives them, and its figures as published."""

    steps: tuple[ImportedStep, ...]
    started_at: str | None = None
    finished_at: str | None = None
    local_time: str | None = None
    notes: tuple[str, ...] = ()
    reports: str = ""
    first: int = 0
    row: Mapping[str, object] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    figures: tuple[Published, ...] = ()

    @property
    def times(self) -> tuple[str | None, str | None]:
        """Begin and end, each replaced by the other where it is missing; None where the file has
        neither."""
        started = self.started_at or self.finished_at
        return started, self.finished_at or started


@dataclass(frozen=True, slots=True)
class Imported:
    """The contents of a file. `facts` describe the machine; `notes` say what was unusual; `figures`
    are those of a whole post."""

    kind: ImportKind
    tool_version: str
    runs: tuple[ImportedRun, ...]
    facts: Mapping[str, str | int | float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    figures: tuple[Published, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One format. `recognises` says whether a file (its bytes, its name) looks like it, `read`
    makes its runs (bytes, name) and raises InvalidValue or
    FioOutputUnreadable where it is damaged. `words` name the format in messages."""

    kind: ImportKind
    words: str
    recognises: Callable[[bytes, str], bool]
    read: Callable[[bytes, str], Imported]


def text_of(data: bytes, name: str) -> str:
    """The text of a file, which is UTF-8 (`as_utf8`). Raises InvalidValue for more than
    TEXT_BYTES."""
    if len(data) > TEXT_BYTES:
        raise InvalidValue(
            f"{name}: it has {format_bytes(len(data))}; text of at most {format_bytes(TEXT_BYTES)} "
            "is read",
            advice="keep the part with the results",
        )
    return data.decode("utf-8", errors="replace").replace("\0", UNKNOWN)


def as_utf8(data: bytes) -> bytes:
    """A file as UTF-8 without byte order marks, whatever Unicode it came in: Windows writes UTF-16
    (PowerShell's `>`), with its mark or without. Text that an e-mail quotes (`> ` before each line)
    is without these marks. Bytes that are no text stay as they are."""
    encoding = _encoding(data[:_SAMPLE])
    if encoding is not None:
        data = data.decode(encoding, errors="replace").encode(errors="replace")
    if data.lstrip().startswith(b">") and not _UNQUOTED.search(data):
        data = _QUOTED.sub(b"", data)
    return data.replace(codecs.BOM_UTF8, b"") if codecs.BOM_UTF8 in data else data


_QUOTED = re.compile(rb"^(?:>[ \t]?)+", re.MULTILINE)
_UNQUOTED = re.compile(rb"^[^>\s]", re.MULTILINE)


def _encoding(sample: bytes) -> str | None:
    """The encoding of text that is not UTF-8. Without a mark, the places of the NULs tell: a
    character of ASCII, and results are nearly that, has three in UTF-32 and one in UTF-16."""
    for mark, encoding in _MARKS:
        if sample.startswith(mark):
            return encoding
    quarter = len(sample) // 4
    if not quarter or sample.count(0) < quarter:
        return None
    nuls = "".join("0" if sample[at::4].count(0) > 0.6 * quarter else "x" for at in range(4))
    return _WHERE_NULS.get(nuls)


_SAMPLE = 4096
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_WHERE_NULS = {"x000": "utf-32-le", "000x": "utf-32-be", "x0x0": "utf-16-le", "0x0x": "utf-16-be"}
"""Which of four bytes are NUL in ASCII text → its encoding."""


def check_json(data: bytes, name: str) -> None:
    """Raise InvalidValue for a JSON document that takes more than some 200 MB of memory."""
    values = sum(data.count(sign) for sign in (b",", b"[", b"{"))
    if len(data) > _JSON_BYTES or values > _JSON_VALUES:
        raise InvalidValue(
            f"{name}: it has {format_bytes(len(data))} with {values:,} values; JSON of at most "
            f"{format_bytes(_JSON_BYTES)} and {_JSON_VALUES:,} values is imported",
            advice="with group_reporting, or json in place of json+, fio writes less",
        )


def json_of(data: bytes, name: str, *, within: bool = False) -> Any:  # noqa: ANN401 - any JSON
    """The JSON document in a file; `within`: other text may stand around it. Raises
    InvalidValue."""
    check_json(data, name)
    text = data.decode(errors="replace")
    try:
        root = DECODER.raw_decode(text, text.index("{"))[0] if within else DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"{name}: not readable as JSON: {error}") from error
    if (bad := unstorable(root)) is not None:
        raise InvalidValue(f"{name}: the text {unstorable_words(bad)}")
    return root


def head_of(data: bytes) -> str:
    """The text at the beginning of a file, in which a format must show itself."""
    return text_of(data[:_HEAD_BYTES], "")


def shows(*signs: str) -> Callable[[bytes, str], bool]:
    """Whether the head of a file has each of these signs, which are patterns."""

    def has_all(data: bytes, _: str) -> bool:
        head = head_of(data)
        return all(re.search(sign, head, re.MULTILINE) for sign in signs)

    return has_all


_T = TypeVar("_T")


def some(found: Iterable[_T], where: str, what: str, most: int = MOST_STEPS) -> tuple[_T, ...]:
    """All that a file holds of what is read of it, at least one. Raises InvalidValue, also for more
    than `most`, before more of them take memory."""
    few = tuple(islice(found, most + 1))
    if not few:
        raise InvalidValue(f"{where}: no {what} in it")
    if len(few) > most:
        raise InvalidValue(f"{where}: too many results: a {what} occurs more than {most:,} times")
    return few


def row(
    *,
    step: Step,
    direction: Direction,
    where: str,
    ios: int | None = None,
    size: int | None = None,
    seconds: float | None = None,
    iops: float | None = None,
    bytes_per_s: float | None = None,
    rw: str | None = None,
    block: int | None = None,
    jobs: int = 1,
    depth: int | None = None,
    latency: Mapping[str, float] | None = None,
    percentiles: Mapping[float, float] | None = None,
) -> Measurement:
    """The merged row of one direction of a step, `size` in bytes, without the id of its run. What
    the tool does not print is None; a rate that is not given follows from its count and `seconds`,
    where both are known. `latency` holds fields of Measurement in ns, `percentiles` ns by fraction
    (0.5); those of too few I/Os are left out (MR-10). Where I/Os are not counted, they are taken to
    be at least those of one second: every tool that prints rates alone runs for longer.

    Raises InvalidValue naming `where` for a figure that no disk gives: negative, not a number, a
    run of more than a year, more than 10^15 I/Os or bytes per second, more jobs than one output
    may have.
    """
    check_rates(ios, size, seconds, where=where)
    if seconds is not None:
        iops = ios / seconds if iops is None and ios is not None else iops
        bytes_per_s = size / seconds if bytes_per_s is None and size is not None else bytes_per_s
    for name, rate in (("IOPS", iops), ("bytes a second", bytes_per_s)):
        if rate is not None and not (math.isfinite(rate) and 0 <= rate <= FASTEST):
            raise InvalidValue(f"{where}: {rate:.4g} {name} are more than any disk does")
    limited = (("jobs", jobs, JOBS), ("iodepth", depth, COUNTER), ("bs", block, COUNTER))
    for name, figure, most in limited:
        if figure is not None and not 0 <= figure <= most:
            raise InvalidValue(f"{where}: {name} of {figure:.4g} is more than {most:,}")
    figures = dict(latency or {})
    by_fraction = {round(p, 6): ns for p, ns in (percentiles or {}).items()}
    figures |= {
        name: by_fraction[p]
        for name, p in QUANTILES.items()
        if p in by_fraction and (iops or 0.0 if ios is None else ios) >= needed(p)
    }
    for name, value in figures.items():
        if not math.isfinite(value) or not 0 <= value <= _LONGEST_RUN_S * NS_PER_S:
            raise InvalidValue(f"{where}: {name} of {value!r} ns is not a latency")
    return Measurement(
        run_id="", step_index=step.index, step=step.name, role="measure", scope="step",
        job=ALL_JOBS, job_index=-1, jobs=jobs, direction=direction, rw=rw, block_bytes=block,
        iodepth=depth, ios=ios, bytes=size, iops=iops, bytes_per_s=bytes_per_s,
        runtime_ns=None if seconds is None else max(round(seconds * NS_PER_S), 1),
        clat_samples=ios if percentiles else 0, quantiles_of="lat" if percentiles else None,
        **{name: round(v) if name.endswith(_WHOLE) else v for name, v in figures.items()},
    )  # fmt: skip


def check_rates(ios: int | None, size: int | None, seconds: float | None, *, where: str) -> None:
    """Raise InvalidValue for `ios` I/Os and `size` bytes in a time in which no disk does them. What
    is None is unknown."""
    if seconds is not None and not 0 < seconds <= _LONGEST_RUN_S:  # refuses NaN, too
        raise InvalidValue(f"{where}: {seconds!r} s is not a run time of a step")
    for name, count in (("I/Os", ios), ("bytes", size)):
        if count is None:
            continue
        if not 0 <= count <= COUNTER or (seconds is not None and count / seconds > FASTEST):
            within = "" if seconds is None else f" in {seconds:.4g} s"
            raise InvalidValue(f"{where}: {count:.4g} {name}{within} is more than any disk does")


_WHOLE = ("_min_ns", "_max_ns")
"""Fields of Measurement that hold whole nanoseconds."""


def step_of(index: int, name: str, job: str = "") -> Step:
    """A step of a foreign file: it has a name, which becomes that of a folder, and a job file only
    where the tool says its load."""
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 1]}…"
    return Step(index=index, name=name or f"step-{index + 1}", job=job, expected_s=0.0)


def number(text: str, where: str) -> float:
    """A figure that is finite and not negative. Raises InvalidValue naming `where`."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise InvalidValue(f"{where}: {text.strip()[:40]!r} is not a figure")
    return value


def utc(unix_s: float) -> str | None:
    """A Unix time in ISO 8601, UTC; None outside of all calendars."""
    try:
        moment = datetime.fromtimestamp(unix_s, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="microseconds")

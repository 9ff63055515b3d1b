"""fio's own result, read: `--output-format=json` and `json+` of versions 2.2 to 3.42.

fio writes other text into the same stream (notices, errors, output of exec_prerun; axboe/fio #731)
and, with --status-interval, a cumulative document each second. A file of others may hold the
documents of several runs, too: appended (`>> file` in a loop), one a line, or in a list. So a
stream is not read as one document, and `notes` says what was unusual:

    parse_output   the last complete document, of one fio that diskbench started
    parse_runs     each run in a file: documents of one fio count once, as the last of them

A document continues an earlier one of the same jobs and options if it can come from the same
process (fio/repeated.py). Where no time in them tells, growing counts are taken for one run; that
is told, for it may be wrong.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.declared import PATTERN, Options, block_bytes, first_names, sums_up_others
from diskbench.fio.document import read_disks, read_jobs, read_options
from diskbench.fio.repeated import continues, jobs_of
from diskbench.fio.reported import MOST_RUNS, FioJob, FioOutput
from diskbench.visible import UNKNOWN, unstorable, unstorable_words

__all__ = ["FioOutput", "parse_output", "parse_runs"]

_OPEN_TEXT = re.compile(r'"(?:[^"\\]|\\.)*\\?', re.DOTALL)
"""A JSON string that is not closed."""
_START = re.compile(r'\{\s*"')
"""How a document begins; fio's own begin with "fio version", those that another program rewrote
may have their keys in another order."""
_NEXT = re.compile(r'\{\s*"fio version"|^\{', re.MULTILINE)
"""How another document begins behind a broken one: fio indents all objects in a document."""
_BARE_NUMBER = re.compile(r":\s*-?(?:nan|inf)\b", re.IGNORECASE)
_FOREIGN_LINE = re.compile(r'^(?![ \t]*(?:["{}\[\]]|-?\d)).*\n?', re.MULTILINE)
"""A line that cannot be part of fio's JSON: it begins with no quote, bracket or digit."""
_AROUND = "text around the JSON:"
_MOST_CANDIDATES = 32
_LONGEST_INT = 40
"""Digits; the largest count that a database holds has 19."""
_Document = tuple[Mapping[str, Any], int, str]
"""A document, where it begins, and what was repaired to read it."""


def _whole(text: str) -> int | float:
    """A whole number of JSON; one of more digits than any count has is a float, perhaps infinite.
    Python refuses to read such numbers, in words about its own settings."""
    return int(text) if len(text) <= _LONGEST_INT else float(text)


DECODER: Final = json.JSONDecoder(parse_int=_whole)
"""For JSON from outside."""


def parse_output(data: bytes, *, where: str) -> FioOutput:
    """The last complete document in `data`, which came from the file `where`.

    Raises FioOutputUnreadable naming `where`, the cause and the position where there is none.
    """
    stream = _Stream(data, where)
    last, count = None, 0
    for document in stream:
        last, count = document, count + 1
    if last is None:
        raise stream.unreadable()
    output = _ended(_read(last, where, stream), stream, count)
    # Only fio wrote into this stream: what else stands there is about its work.
    around = tuple(note for note in output.notes if note.startswith(_AROUND))
    return replace(output, damage=(*output.damage, *around))


def parse_runs(data: bytes, *, where: str) -> tuple[FioOutput, ...]:
    """The last complete document of each run in `data`, in the order in which the runs begin.

    Raises FioOutputUnreadable as parse_output does, and for a document that is not as fio writes
    it.
    """
    stream = _Stream(data, where)
    runs: list[tuple[FioOutput, int]] = []
    latest: dict[object, int] = {}
    for document in stream:
        root, start, _ = document
        if not root.get("jobs") and not root.get("client_stats"):
            which = f"the document from character {start} on"
            stream.left_out.append(f"{which} lists no job and is left out")
            continue
        output = _read(document, where, stream)
        key = jobs_of(output)
        at = latest.get(key)
        if at is not None and continues(runs[at][0], output):
            runs[at] = (output, runs[at][1] + 1)
            continue
        latest[key] = len(runs)
        runs.append((output, 1))
        if len(runs) > MOST_RUNS:
            raise _unreadable(where, f"it holds more than {MOST_RUNS:,} runs")
    if not runs:
        raise stream.unreadable()
    if len(runs) > 1 and stream.broken and runs[-1][1] == 1:
        # A run of its own, of which nothing is known: no earlier document stands for it.
        stream.left_out.append(stream.broken_words() + " and is left out")
        stream.broken = None
    *before, last = runs
    whole = [_ended(output, replace(stream, broken=None), count) for output, count in before]
    return (*whole, _ended(last[0], stream, last[1]))


@dataclass
class _Stream:
    """The documents in a file, one after the other as they are read; then the text around them, and
    the document that is cut off at the end."""

    data: bytes
    where: str
    left_out: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    broken: tuple[int, str] | None = None
    """Where a document begins that cannot be read to its end, and why."""
    _begin: str = ""

    def __iter__(self) -> Iterator[_Document]:
        text = self.data.decode("utf-8", errors="replace").replace("\0", UNKNOWN)
        self._begin = text.strip()[:80]
        at = end = foreign = broken = 0
        while match := (_START if foreign <= _MOST_CANDIDATES else _NEXT).search(text, at):
            start = match.start()
            try:
                root, stop, repaired = _decode(text, start)
            except (ValueError, RecursionError) as error:
                self._note_broken()
                self.broken, broken = (start, _cause(text, error)), broken + 1
                if broken > _MOST_CANDIDATES:  # each is read to its end; thousands take hours
                    raise _unreadable(
                        self.where, f"{broken} documents in it are broken; {self.broken[1]}"
                    ) from None
                following = _NEXT.search(text, start + 1)
                self.outside.append(text[end:start])
                at = end = following.start() if following else len(text)
                continue
            lists = isinstance(root, dict) and (root.get("jobs"), root.get("client_stats"))
            if lists and any(isinstance(listed, list) for listed in lists):
                self._note_broken()
                self.outside.append(text[end:start])
                at = end = stop
                yield root, start, repaired
            elif '"jobs"' in text[start:stop] or '"client_stats"' in text[start:stop]:
                at, foreign = start + 1, foreign + 1  # perhaps wrapped in a document of its own
            else:
                at = stop
        self.outside.append(text[end:])

    def _note_broken(self) -> None:
        """A document that is cut, and not the last one, is left out."""
        if self.broken is not None:
            self.left_out.append(self.broken_words("document") + " and is left out")
            self.broken = None

    def broken_words(self, which: str = "last document") -> str:
        """What is said of a document that is cut; empty where none is."""
        if self.broken is None:
            return ""
        start, cause = self.broken
        return f"the {which}, from character {start} on, is not complete ({cause})"

    @property
    def text(self) -> str:
        """Everything outside of the documents; what holds a list of them together is none."""
        around = "".join(self.outside)
        return around.strip() if around.strip("[], \t\r\n") else ""

    def unreadable(self) -> FioOutputUnreadable:
        """The error for a file without a document."""
        if not self._begin:
            return _unreadable(self.where, "the file is empty")
        if self.broken is not None:
            return _unreadable(self.where, self.broken[1])
        if not _START.search(self.data.decode(errors="replace")):
            return _unreadable(self.where, f"no JSON document in it; it begins {self._begin!r}")
        return _unreadable(self.where, (*self.left_out, "no document of fio in it")[0])


def _read(document: _Document, where: str, stream: _Stream) -> FioOutput:
    root, _, repaired = document
    if (bad := unstorable(root)) is not None:
        raise _unreadable(where, f"the text {unstorable_words(bad)}")
    try:
        jobs, disks = read_jobs(root), read_disks(root)
    except ValueError as error:
        raise _unreadable(where, str(error)) from None
    if not jobs:
        printed = f"; fio said: {stream.text.splitlines()[0][:200]}" if stream.text else ""
        raise _unreadable(where, f"it lists no job: fio ended before it started one{printed}")
    jobs, options, lists_options = _of_sums(jobs, read_options(root.get("global options")))
    stamp = root.get("timestamp_ms")
    if stamp is None and type(root.get("timestamp")) is int:
        stamp = root["timestamp"] * 1000
    stamp = stamp if type(stamp) is int and stamp > 0 else None
    # A client writes its time when it connects (client.c), fio alone when it ends (stat.c).
    client = "client_stats" in root and not root.get("jobs")
    return FioOutput(
        where=where,
        version=str(root.get("fio version", "unknown")),
        jobs=jobs,
        options=options,
        lists_options=lists_options,
        timestamp_ms=None if client else stamp,
        begun_ms=stamp if client else None,
        timeless=client,
        disks=disks,
        notes=(repaired,) if repaired else (),
    )


def _of_sums(
    jobs: tuple[FioJob, ...], options: Mapping[str, str]
) -> tuple[tuple[FioJob, ...], Mapping[str, str], bool]:
    """The jobs and their common options, and whether what is not listed is known. An entry that
    sums up several sections has the options of one of them: its pattern, blocks and depth stand for
    all where the counts agree with them, and are unknown elsewhere."""
    own = [first_names((*options.items(), *job.options.items())) for job in jobs]
    sums = [sums_up_others(job, of_job) for job, of_job in zip(jobs, own, strict=True)]
    if not any(sums):
        return jobs, options, True
    read, all_agree = [], True
    for job, of_job, is_sum in zip(jobs, own, sums, strict=True):
        kept = {**of_job, "group_reporting": "1"} if is_sum else dict(of_job)
        if is_sum and not _agrees(job, of_job):
            kept = {k: v for k, v in options.items() if k not in PATTERN}
            kept, all_agree = {**first_names(kept.items()), "group_reporting": "1"}, False
        elif is_sum and "iodepth" in job.options:
            kept["iodepth"] = ""
        read.append(replace(job, options=kept))
    return tuple(read), {}, all_agree


def _agrees(job: FioJob, options: Options) -> bool:
    """Whether the counts of a job are of one block size that its options name."""
    return all(
        stats.bytes == stats.ios * block
        for direction, stats in job.directions.items()
        if stats.ios and direction != "sync" and (block := block_bytes(options, direction) or -1)
    )


def _ended(output: FioOutput, stream: _Stream, documents: int) -> FioOutput:
    """The last document of a run, with what was unusual in its stream."""
    notes, cut = [*output.notes, *stream.left_out], stream.broken_words()
    if cut:
        notes.append(f"{cut}; an earlier document, cumulative up to its own time, is used")
    damage = tuple(notes)
    # --output-format=normal,json writes the same report in fio's normal form first
    is_same_report = 0 < stream.text.count("(groupid=") <= len(output.jobs)
    if stream.text and not is_same_report:
        notes.append(f"{_AROUND} {stream.text.splitlines()[0][:120]!r}")
    reports = "; ".join(filter(None, (*stream.left_out, cut)))
    if documents > 1:
        sure = bool(output.timestamp_ms or output.begun_ms)
        taken = f"{documents} documents (--status-interval): the last one is used"
        if not sure:
            taken += f"; without times they cannot be told from {documents} runs"
        notes.append(taken)
        reports = "; ".join(filter(None, (reports, taken)))
    return replace(
        output,
        interim=stream.broken is not None,
        text=stream.text,
        notes=tuple(dict.fromkeys(notes)),
        damage=damage,
        reports=reports,
    )


def _decode(text: str, start: int) -> tuple[Any, int, str]:
    """The JSON value at `start`, where it ends in `text`, and what was repaired to read it."""
    try:
        root, end = DECODER.raw_decode(text, start)
    except ValueError:
        following = _NEXT.search(text, start + 1)
        limit = following.start() if following else len(text)
        numbers = _BARE_NUMBER.sub(": null", text[start:limit])
        lines = _FOREIGN_LINE.sub("", numbers)
        if lines == text[start:limit]:
            raise
        try:
            root, used = DECODER.raw_decode(numbers)
        except ValueError:
            root, _ = DECODER.raw_decode(lines)
            return root, limit, "lines of other text inside the JSON were left out"
        # Counted from the end, because the repair changed the length before it.
        end = limit - (len(numbers) - used)
        return root, end, "nan and inf, which are no JSON, were read as missing"
    return root, end, ""


def _cause(text: str, error: ValueError | RecursionError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "brackets are nested too deep" if isinstance(error, RecursionError) else str(error)
    if error.pos >= len(text.rstrip()) - 1 or _OPEN_TEXT.fullmatch(text, error.pos):
        return f"the file ends in the middle of a document, at character {error.pos}"
    return f"{error.msg} at line {error.lineno}, column {error.colno} (character {error.pos})"


def _unreadable(where: str, cause: str) -> FioOutputUnreadable:
    return FioOutputUnreadable(
        f"{where}: not readable as output of fio: {cause}",
        advice="the file was kept unchanged; look at it, and at stderr.txt in the same folder",
    )

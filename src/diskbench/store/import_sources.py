"""Collect the files of one import: the typed files, the files in typed folders, and the logs beside
a JSON.

A log belongs to the JSON file of its folder whose jobs name it (fio/declared.py). A JSON that names
no log (fio 2 lists no options) gets the logs of its folder, where it is the only JSON there and has
one step. A typed log that belongs to no JSON is a run of its own; one from a folder is not imported
and reported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from diskbench.errors import FioOutputUnreadable, InvalidValue
from diskbench.files import read_bytes
from diskbench.fio.declared import NamedLogs, declared, group_of, named_logs
from diskbench.fio.logs import log_name
from diskbench.fio.reported import FIO_REPORTS, NO_JOB_FILE
from diskbench.importers.fio_report import check_log, read_reports
from diskbench.importers.form import Imported
from diskbench.importers.registry import IMPORTABLE, others_in, read_imported
from diskbench.limits import IMPORT_BYTES, IMPORT_FILES, PARSED_BYTES
from diskbench.parallel import grouped
from diskbench.units import MIB, format_bytes


@dataclass(frozen=True)
class ImportSource:
    """One file that holds runs (or the first of several logs), what was read from it, and the logs
    that belong to it.

    `steps` maps the name of a log to the index of its step, in a file of several steps; `beside` is
    the job file of a report of fio.
    """

    name: str
    data: bytes
    parsed: Imported
    logs: Mapping[str, bytes]
    steps: Mapping[str, int] = field(default_factory=dict)
    beside: Mapping[str, bytes] = field(default_factory=dict)
    is_further: bool = False
    """Whether another tool's results were read of the same file before."""

    @property
    def job_file(self) -> str | None:
        """The name of the job file that says what the report leaves out."""
        return next(iter(self.beside), None)


Left = tuple[Path, str]
"""A file that was found and is not imported, and why."""


_Report = tuple[tuple[NamedLogs, ...], tuple[int, ...]]
"""The logs that a report of fio names, and its steps in order. A file of several runs has neither:
of which of them a log is, nothing says."""


def read_sources(paths: Sequence[Path]) -> tuple[list[ImportSource], list[Left]]:
    """The sources of one import in order, each log assigned to its JSON, and the files that are not
    imported. Folders are searched recursively. Raises InvalidValue naming a file."""
    left_out: list[Left] = []
    typed, in_folders = _listed(paths)
    contents: dict[Path, bytes] = {}
    job_files = _job_files(typed, in_folders, contents)
    typed, in_folders = (
        [path for path in found if path not in job_files] for found in (typed, in_folders)
    )
    parsed, beside = _read_results(typed, in_folders, job_files, contents, left_out)
    fio = {
        path: _report(path, result.kind, contents[path])
        for path, result in parsed.items()
        if result.kind in FIO_REPORTS
    }
    logs = [path for path in (*typed, *in_folders) if log_name(path.name)]
    near = [
        path
        for path in _siblings(fio)
        if log_name(path.name) and path.is_file() and path not in logs
    ]
    owner: dict[Path, tuple[Path, int]] = {}
    alone: list[Path] = []
    for log in (*logs, *near):
        mine = {path: report for path, report in fio.items() if path.parent == log.parent}
        owned, why = _owner(log, mine, searched=log in near)
        if owned:
            owner[log] = owned
        elif log in typed or not mine:
            alone.append(log)
        else:
            left_out.append((log, why))
    chosen = [log for log in (*logs, *near) if log in owner or log in alone]
    only = typed[0] if len(paths) == 1 and typed else None
    left_out += _read_logs(chosen, typed, near, contents, only=only)
    sources = []
    for path, result in parsed.items():
        places = {
            log: place
            for log, (document, place) in owner.items()
            if document == path and log in contents
        }
        several = path in fio and len(fio[path][1]) > 1
        source = _source(path, result, places, contents, several=several)
        if job_file := beside.get(path):
            source = replace(source, beside={job_file.name: job_files[job_file]})
        others, left = others_in(contents[path], result, name=path.name)
        sources.append(_with_left_out(source, left))
        sources += [
            ImportSource(path.name, contents[path], other, {}, is_further=True) for other in others
        ]
    for first, *following in _by_prefix([log for log in alone if log in contents]):
        result = _parsed(first, contents[first], None, {})
        sources.append(_source(first, result, dict.fromkeys(following, 0), contents, several=False))
    if not sources:
        names = ", ".join(map(str, paths))
        raise InvalidValue(f"{names}: holds nothing that can be imported", advice=IMPORTABLE)
    return sources, left_out


def _listed(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The typed files, and the files in typed folders."""
    typed: list[Path] = []
    in_folders: list[Path] = []
    for path in paths:
        if not path.is_dir():
            typed.append(path)
            continue
        for file in sorted(path.rglob("*")):
            hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            if hidden or not file.is_file():
                continue
            in_folders.append(file)
            if len(in_folders) > IMPORT_FILES:
                raise InvalidValue(
                    f"{path}: it holds more than {IMPORT_FILES:,} files",
                    advice="import its folders one by one",
                )
    typed = list(dict.fromkeys(typed))
    return typed, [path for path in dict.fromkeys(in_folders) if path not in typed]


def _read_results(
    typed: Sequence[Path],
    in_folders: Sequence[Path],
    job_files: Mapping[Path, bytes],
    contents: dict[Path, bytes],
    left_out: list[Left],
) -> tuple[dict[Path, Imported], dict[Path, Path]]:
    """Read all files that are no logs into `contents`, whole before anything is stored: an import
    that is refused keeps nothing; returns what each holds, and the job file that was read with it.
    A file from a folder that is no result, or is damaged, is added to `left_out`; one that was
    typed raises InvalidValue."""
    parsed: dict[Path, Imported] = {}
    beside: dict[Path, Path] = {}
    for path in (*typed, *in_folders):
        if log_name(path.name):
            continue
        if path not in typed and path.stat().st_size > PARSED_BYTES:
            left_out.append((path, f"it has more than {format_bytes(PARSED_BYTES)}"))
            continue
        data = _read_within_limit(path, contents)
        if len(data) > PARSED_BYTES:
            raise InvalidValue(
                f"{path}: it has {format_bytes(len(data))}; at most "
                f"{format_bytes(PARSED_BYTES)} is read",
                advice="with group_reporting, or json in place of json+, fio writes less",
            )
        try:
            # The job file in its folder that has its name, else the only one there.
            there = [job_file for job_file in job_files if job_file.parent == path.parent]
            named = [job_file for job_file in there if _stem(job_file) == _stem(path)]
            is_known = len(named) == 1 or len(there) == 1
            job_file = (named or there)[0] if is_known else None
            parsed[path] = _parsed(path, data, job_file, job_files)
            reports = "; ".join(run.reports for run in parsed[path].runs)
            if job_file and job_file.name in reports:
                beside[path] = job_file
        except InvalidValue as error:
            if path in typed:
                raise
            left_out.append((path, error.message.removeprefix(f"{path.name}: ")))
            continue
        contents[path] = data
    return parsed, beside


def _parsed(
    path: Path, data: bytes, job_file: Path | None, job_files: Mapping[Path, bytes]
) -> Imported:
    beside = NO_JOB_FILE
    if job_file is not None:
        beside = (job_file.name, job_files[job_file].decode(errors="replace"))
    return read_imported(data, name=path.name, beside=beside)


def _job_files(
    typed: Sequence[Path], in_folders: Sequence[Path], contents: Mapping[Path, bytes]
) -> dict[Path, bytes]:
    """The job files of fio among the files, and beside the typed ones."""
    found = {}
    for path in dict.fromkeys((*typed, *in_folders, *_siblings(typed))):
        if path.suffix.lower() not in {".fio", ".job", ".ini", ".cfg"} or not path.is_file():
            continue
        if path.stat().st_size <= MIB:
            data = _read_within_limit(path, contents)
            if declared(data.decode(errors="replace")):
                found[path] = data
    return found


def _siblings(paths: Iterable[Path]) -> list[Path]:
    """What lies in the folders of these files."""
    folders = dict.fromkeys(path.parent for path in paths)
    return [path for at in folders if at.is_dir() for path in sorted(at.iterdir())]


def _read_logs(
    chosen: Iterable[Path],
    typed: Sequence[Path],
    beside: Sequence[Path],
    contents: dict[Path, bytes],
    *,
    only: Path | None,
) -> Iterator[Left]:
    """Read the `chosen` logs into `contents`; returns those that are left out: a damaged log that
    was not typed, and one that was only found `beside` a JSON and is too large or cannot be read.
    An empty log (a direction without I/O) is refused only as the `only` file of an import."""
    for log in chosen:
        try:
            data = _read_within_limit(log, contents)
        except InvalidValue as error:
            if log not in beside:
                raise
            yield (log, error.message.removeprefix(f"{log}: "))
            continue
        try:
            if data.strip() or log == only:
                check_log(data, name=log.name)
        except InvalidValue as error:
            if log in typed:
                raise
            yield (log, error.message.removeprefix(f"{log.name}: "))
        else:
            contents[log] = data


def _read_within_limit(path: Path, contents: Mapping[Path, bytes]) -> bytes:
    """The bytes of a file. Raises InvalidValue where they and `contents` exceed IMPORT_BYTES."""
    room = IMPORT_BYTES - sum(map(len, contents.values()))
    try:
        return read_bytes(path, room)
    except OSError as error:
        raise InvalidValue(f"cannot read {path}: {error.strerror}") from error
    except ValueError:
        raise InvalidValue(
            f"{path}: with it this import holds more than {format_bytes(IMPORT_BYTES)}",
            advice="import fewer files at once, or make logs smaller with log_avg_msec",
        ) from None


def _report(path: Path, kind: str, data: bytes) -> _Report:
    try:
        outputs = read_reports(kind, data, where=path.name)
    except FioOutputUnreadable as error:
        raise InvalidValue(error.message, advice=error.advice) from error
    if len(outputs) > 1:
        return (), ()
    groups = tuple(sorted({job.group for job in outputs[0].jobs}))
    return named_logs(outputs[0]), groups


def _owner(
    log: Path, mine: Mapping[Path, _Report], *, searched: bool
) -> tuple[tuple[Path, int] | None, str]:
    """The JSON of a log in the same folder, with the index of its step; or why there is none."""
    name = log_name(log.name)
    assert name is not None
    naming = [
        (path, groups.index(group))
        for path, (named, groups) in mine.items()
        if (group := group_of(name, named)) is not None
    ]
    if len(naming) > 1:
        naming = [pair for pair in naming if _stem(pair[0]) == name.prefix] or naming
    if len(naming) == 1:
        return naming[0], ""
    if naming:
        names = ", ".join(path.name for path, _ in naming)
        return None, f"several files name it: {names}"
    silent = [path for path, (named, groups) in mine.items() if not named and len(groups) == 1]
    of_name = [path for path in silent if name.prefix == _stem(path)]
    if name.prefix and len(of_name) == 1:
        return (of_name[0], 0), ""
    others = {path for path in _siblings([log]) if path.suffix == ".json"} if searched else set()
    if silent and len(mine) == 1 and others <= mine.keys():
        return (silent[0], 0), ""
    if mine and not any(groups for _, groups in mine.values()):
        first = next(iter(mine)).name
        return None, f"{first} beside it holds several runs, and the log names none of them"
    return None, "no job of a JSON file beside it names it"


def _stem(path: Path) -> str:
    return path.name.split(".", maxsplit=1)[0]


def _source(
    path: Path,
    parsed: Imported,
    places: Mapping[Path, int],
    contents: Mapping[Path, bytes],
    *,
    several: bool,
) -> ImportSource:
    """A source with its logs, each of the step at its place; `several`: it has more than one."""
    logs = {log.name: contents[log] for log in places}
    steps = {log.name: place for log, place in places.items()} if several else {}
    return ImportSource(path.name, contents[path], parsed, logs, steps)


def _with_left_out(source: ImportSource, left: Sequence[str]) -> ImportSource:
    """The source, whose first run says what else in its file could not be read."""
    if not left or not source.parsed.runs:
        return source
    first, *others = source.parsed.runs
    reports = "; ".join(filter(None, (first.reports, *left)))
    first = replace(first, reports=reports)
    return replace(source, parsed=replace(source.parsed, runs=(first, *others)))


def _by_prefix(logs: Sequence[Path]) -> list[list[Path]]:
    def place(path: Path) -> tuple[Path, str]:
        name = log_name(path.name)
        return path.parent, name.prefix if name else ""

    return list(grouped(sorted(logs), place).values())

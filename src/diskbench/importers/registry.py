"""The formats that can be imported, in the order in which they are tried."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from diskbench.errors import FioOutputUnreadable, InvalidValue
from diskbench.fio.declared import SYNCS, declared, directions_of
from diskbench.fio.device import beyond_a_disk
from diskbench.fio.reported import FIO_REPORTS, NO_JOB_FILE, JobFile
from diskbench.fio.terse import TERSE
from diskbench.importers import fio_report
from diskbench.importers.bonnie import BONNIE
from diskbench.importers.dd_hdparm import DD, HDPARM
from diskbench.importers.diskspd import DISKSPD
from diskbench.importers.form import Format, Imported, ImportedStep, as_utf8, head_of
from diskbench.importers.json_tools import GOBONNIEGO, PERFKIT, YABS
from diskbench.importers.line_tools import ELBENCHO, PG_TEST_FSYNC, SYSBENCH, VDBENCH
from diskbench.importers.post import POST
from diskbench.model.doubts import MAYBE_MEMORY, NOT_A_DISK
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.yaml_lines import packaged

FORMATS: Final[tuple[Format, ...]] = (
    fio_report.FIO_LOG, PERFKIT, fio_report.FIO_JSON, GOBONNIEGO, YABS, fio_report.FIO_TERSE,
    fio_report.FIO_TEXT, DISKSPD, VDBENCH, BONNIE, SYSBENCH, PG_TEST_FSYNC, ELBENCHO, HDPARM, DD,
    POST,
)  # fmt: skip
"""The most particular first: a PerfKit file may quote fio's JSON, and a page may hold several."""
IMPORTABLE: Final = "diskbench imports " + "; ".join(form.words for form in FORMATS)
_LOOKED_AT = 256 * 1024
_PRINTABLE = 0.85
"""Least share of printable characters in a text."""


def format_of(data: bytes, *, name: str) -> Format:
    """The format of a file, from its name (logs) or content. The contents are not checked here.

    Raises InvalidValue that says what the file looks like if it has no known format.
    """
    data = as_utf8(data)
    for form in FORMATS:
        if form.recognises(data, name):
            return form
    raise InvalidValue(f"{name}: it looks like {_looks_like(data)}", advice=IMPORTABLE)


def read_imported(
    data: bytes, *, name: str, beside: JobFile = NO_JOB_FILE, kind: str | None = None
) -> Imported:
    """The runs and rows in a file; `beside` says what a report of fio leaves out, `kind` which tool
    is read of a file of several (default: the first that is recognised).

    A file may hold several runs, whose rows name none. A log file has
    one run with one step and no rows. Raises InvalidValue naming file and cause.
    """
    try:
        data = as_utf8(data)
        named = (form for form in FORMATS if form.kind == kind)
        form = next(named, None) or format_of(data, name=name)
        if form.kind in FIO_REPORTS:
            return fio_report.read_report(form.kind, data, name, beside)
        return _doubted(form.read(data, name))
    except (FioOutputUnreadable, InvalidValue) as error:
        raise InvalidValue(error.message, advice=error.advice or IMPORTABLE) from error
    except OverflowError as error:
        # Each figure may be finite and its product with a unit not.
        raise InvalidValue(
            f"{name}: a figure in it is too large for its unit", advice=IMPORTABLE
        ) from error


def _doubted(imported: Imported) -> Imported:
    """What was read, with a doubt in steps of other tools that no disk did."""
    if imported.kind in ("fio-log", "published"):
        return imported
    runs = []
    for run in imported.runs:
        steps = (
            replace(step, warnings=(*step.warnings, *_buffered(step), *_beyond(step)))
            for step in run.steps
        )
        runs.append(replace(run, steps=tuple(steps)))
    return replace(imported, runs=tuple(runs))


def _beyond(step: ImportedStep) -> Iterator[Warning]:
    if not any(doubt.code == NOT_A_DISK.code for doubt in step.warnings):
        for doubt in beyond_a_disk(step.measurements):
            yield doubt.model_copy(update={"step": step.step.name})


def _buffered(step: ImportedStep) -> tuple[Warning, ...]:
    """A doubt in buffered I/O of a load that the tool says, since no counter of the device is
    beside it: reads, and writes that no sync follows."""
    for options in declared(step.step.job).values():
        ways = set(directions_of(options)) - ({"write"} if set(options) & SYNCS else set())
        if options.get("direct") == "0" and ways:
            done = " and ".join(f"{way}s" for way in sorted(ways))
            words = f"its {done} were buffered: memory may have taken part"
            return (MAYBE_MEMORY.warning(words, step=step.step.name),)
    return ()


def others_in(
    data: bytes, first: Imported, *, name: str
) -> tuple[tuple[Imported, ...], tuple[str, ...]]:
    """What a file holds of other tools than the one that was read of it `first`; and what cannot be
    read, in words. fio may print one result in several forms, which is one tool."""
    data = as_utf8(data)
    chosen = next(form for form in FORMATS if form.kind == first.kind)
    if chosen in (fio_report.FIO_LOG, PERFKIT, POST):
        return (), ()
    found, left = [], []
    tools = {_tool(form): form for form in FORMATS if form.recognises(data, name)}
    tools.pop(_tool(chosen), None)
    for form in tools.values():
        try:
            found.append(read_imported(data, name=name, kind=form.kind))
        except InvalidValue as error:
            left.append(f"results of {form.words} in it are left out: {error.message}")
    return tuple(found), tuple(left)


def _tool(form: Format) -> str:
    return form.kind.partition("-")[0]


def _looks_like(data: bytes) -> str:
    text = head_of(data[:_LOOKED_AT]).strip()
    if not text:
        return "an empty file"
    shown = sum(char.isprintable() or char.isspace() for char in text)
    if shown < _PRINTABLE * len(text):
        return "a binary file"
    if (terse := TERSE.search(text)) and terse["version"] == "2":
        return "fio's terse output of version 2, which names no fio version: use --terse-version=3"
    for sign, words in packaged("diskbench.importers", "signs.yaml"):
        if match := re.search(sign, text, re.MULTILINE):
            return str(words).format(match[0].removeprefix("fio-"))
    first = text.splitlines()[0].strip()
    if first[:1] in "{[":
        return "JSON of an unknown tool"
    return f"text of an unknown tool; it begins {first[:60]!r}"

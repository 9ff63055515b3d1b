"""`diskbench results export`, `import` and `rebuild`: rows to files, and from files."""

import sys
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Annotated, get_args

import typer

from diskbench import __version__
from diskbench.catalog.published import SEEDS, post_file
from diskbench.cli.results_show import hint, hinting
from diskbench.cli.selecting import print_id, selecting
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.cli.terminal import argument, option
from diskbench.errors import InvalidValue, check_known
from diskbench.files import file_format, write_pieces
from diskbench.model.ids import short
from diskbench.plan.rent_options import key_values
from diskbench.report.terminal.import_text import import_line
from diskbench.report.terminal.streams import unguarded
from diskbench.results.exported_rows import ExportFormat, exported
from diskbench.results.selection import Selection, chosen
from diskbench.store.import_sources import ImportSource, Left, read_sources
from diskbench.store.imports import ReadImport, damaged_logs, imported
from diskbench.store.manifest import Manifest
from diskbench.store.rebuild import rebuild as make_again
from diskbench.units import counted


@selecting
def export(
    format_: Annotated[
        ExportFormat | None,
        option("--format", "The format (default: by the suffix of FILE; csv without one)."),
    ] = None,
    to: Annotated[
        Path | None, option("-o", "--to", "FILE", "The file to write (default: stdout).")
    ] = None,
    *,
    asked: Selection,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Write measurement rows as CSV or Parquet, each with its run's columns; JSON as in `show`.

    `prometheus` and `openmetrics` write the figures of each step as gauges, from the newest run of
    each disk; `benchstat` writes a line for each run and step. A step with several levels has the
    figures of the level that lasts.
    """
    kind = export_format(format_, to)
    store = evidence(evidence_url) if evidence_url else None
    engine = database(database_url)
    data = exported(engine, kind, chosen(engine, asked), store)
    if to is None:
        sys.stdout.flush()
        binary = unguarded(sys.stdout).buffer
        binary.writelines(data)
        binary.flush()
        return
    try:
        write_pieces(to, data)
    except OSError as error:
        raise InvalidValue(f"cannot write {to}: {error.strerror}") from error


def export_format(typed: ExportFormat | None, to: Path | None) -> ExportFormat:
    """The format that was typed, or that the name of the file says, else CSV: for stdout, and for a
    name without a suffix. Raises InvalidValue where these differ, and for another suffix."""
    return (file_format(to, typed, get_args(ExportFormat)) if to else typed) or "csv"


_SHOWN = 12
"""Files that a line names."""


def rebuild(database_url: DatabaseUrl = None, evidence_url: EvidenceUrl = None) -> None:
    """Rebuild all rows from the evidence, in an empty or an existing database.

    Restores runs with their trials, leases and times, and matrices with their cells. If a step of a
    finished run cannot be found, it is reported, its run stays as it is, and the exit code is 1.
    """
    done = make_again(database(database_url), evidence(evidence_url))
    print(f"rebuilt {counted(len(done.runs), 'run')}")
    if done.unfinished:
        _say(f"not changed, because they are not finished: {', '.join(done.unfinished)}")
    for run_id, error in done.failed:
        _say(f"run {short(run_id)} could not be rebuilt: {error}")
    for run_id, step, why in done.missing:
        _say(f"run {short(run_id)}, step {step}: not found: {why}")
    for key, error in done.records:
        _say(f"{key} could not be read: {error}")
    if done.failed or done.records:
        raise typer.Exit(1)


@hinting
def import_(
    files: Annotated[
        list[Path],
        argument(
            "FILE|DIR…",
            "Output of fio (JSON, terse, text, logs), bonnie++, dd, hdparm, diskspd, vdbench, "
            "sysbench fileio, pg_test_fsync, elbencho, YABS, GoBonnieGo or PerfKitBenchmarker, or "
            "folders of it; a post's tables, or published:NAME of a shipped post.",
        ),
    ],
    label: Annotated[list[str] | None, option("KEY=VALUE", "A label kept with the rows.")] = None,
    *,
    told: Mapping[str, str | None],
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Import measurements of other tools, as runs marked `imported`; a file is imported once.

    docs/importing.md lists the formats and what each lacks. Log files next to a fio JSON file
    are read with it if its jobs name them (write_bw_log, write_iops_log, write_lat_log,
    write_hist_log) and have their numbers. If it names none and is the only JSON there, all logs
    next to it are read with it. Files that were not imported are listed. The id of each trial (of
    its run, if it has only one) is printed on stdout. The last line says what was imported and
    which checks hold.
    """
    labels = dict(key_values("--label", label or ()))
    if note := hint(**told):
        labels |= note.labels()
    sources, left_out = read_sources([_shipped(file) or file for file in files])
    engine, store = database(database_url), evidence(evidence_url)
    done: list[ReadImport] = []
    notes: dict[str, None] = {}
    runs = imported(engine, store, sources, labels, __version__)
    for trial_id, of_trial in groupby(runs, key=lambda run: run.manifest.trial_id):
        before = len(done)
        for run in of_trial:
            done.append(run)
            if known := _known(run.source, run.manifest, labels):
                notes[known] = None
        print_id(trial_id if len(done) - before > 1 else done[-1].manifest.run_id)
    for line in (*notes, *_left(left_out), import_line(done)):
        _say(line)
    damaged = damaged_logs(store, [run.manifest.run_id for run in done if run.has_logs])
    for run_id, error in damaged:
        _say(f"run {short(run_id)} is kept, but its logs cannot be read: {error}")
    if damaged:
        ids = " ".join(short(run_id) for run_id, _ in damaged)
        _say(f"delete it: diskbench results delete {ids}")
        raise typer.Exit(1)


_SHIPPED = "published:"


def _shipped(file: Path) -> Path | None:
    """The file of a post that is named as `published:NAME`. Raises UnknownName."""
    if not (name := str(file)).startswith(_SHIPPED):
        return None
    seed = name.removeprefix(_SHIPPED)
    check_known("post", seed, SEEDS)
    return Path(str(resources.files("diskbench.catalog") / post_file(seed)))


def _known(source: ImportSource, manifest: Manifest, labels: Mapping[str, str]) -> str:
    """A line where a run was imported before with other labels; else empty."""
    own = source.parsed.runs[manifest.imported.index].labels if manifest.imported else {}
    if not labels or manifest.labels == {**own, **labels}:
        return ""
    stored = ", ".join(f"{key}={value}" for key, value in manifest.labels.items()) or "none"
    return f"{source.name} was imported before; its labels are kept as they were: {stored}"


def _left(left_out: Sequence[Left]) -> list[str]:
    """One line per reason, with the files that were not imported."""
    by_reason: dict[str, list[str]] = {}
    for path, why in left_out:
        by_reason.setdefault(why, []).append(str(path))
    lines = []
    for why, paths in by_reason.items():
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        shown = ", ".join(paths[:_SHOWN])
        lines.append(f"skipped {counted(len(paths), 'file')}: {shown}{more}: {why}")
    return lines


def _say(text: str) -> None:
    print(text, file=sys.stderr)

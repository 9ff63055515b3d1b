"""Which files of a run a site publishes, and under which names.

A host, a job file and the giver of an imported file choose names and contents, and a static host
serves what it is given: an `index.html` or a `.svg` among them would run its script in the readers'
browsers, and a `.php` or `.htaccess` on the server. So only files that the records of a run name
are published, of a step only those that diskbench knows, each as it was when it was recorded. Every
name ends in `.json`, `.txt` or, compressed, one of these and `.zst`, and has no other dot."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, count
from pathlib import PurePosixPath
from typing import TypeVar

from diskbench.errors import DiskbenchError
from diskbench.fio.logs import log_name
from diskbench.ports import EvidenceStore
from diskbench.results.run_evidence import warn
from diskbench.store.archive import STEP_JSON, read_manifest, read_plan, read_step, run_prefix
from diskbench.store.archive import step_folders as folders_of
from diskbench.store.content import PACKED, read_ends
from diskbench.store.derived import pruned_key, read_pruned
from diskbench.store.manifest import FileRecord
from diskbench.store.parse_step import PARSED_FILES

Record = TypeVar("Record")
_KNOWN = frozenset({*PARSED_FILES, "job.fio"})
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_MOST = 80
"""Characters of a published name before its endings; our choice."""

Stored = tuple[str, FileRecord | None]
"""The key of a file in the evidence store, and its record (None: it is a record itself)."""


def published_files(store: EvidenceStore, run_id: str) -> dict[str, Stored]:
    """The files of a run that a site publishes, by their names below the run's folder. Those that
    are missing are left out."""
    prefix, present = run_prefix(run_id), set(store.list(run_prefix(run_id)))
    named: dict[str, Stored] = {}
    for name, (key, record) in _all_files(store, run_id, prefix):
        if key in present:
            named[_unused(name, named)] = key, record
    return named


def is_as_recorded(store: EvidenceStore, run_id: str, file: Stored) -> bool:
    """Whether a file is what was recorded; another one is logged, and not published."""
    key, record = file
    if record is None:
        return True
    try:
        read_ends(store, key.removesuffix(f"/{record.key}"), key, record, end_bytes=0)
    except DiskbenchError as error:
        warn("published copy of a file", run_id, error)
        return False
    return True


def safe_name(name: str, *, packed: bool) -> str:
    """The published form of a file's name: a plain word that ends in `.json` where the name does,
    else in `.txt`; and in `.zst` too where it is compressed."""
    suffix = ".json" if PurePosixPath(name).suffix.lower() == ".json" else ".txt"
    stem = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    return f"{_word(stem)}{suffix}{PACKED if packed else ''}"


def _word(text: str) -> str:
    return _UNSAFE.sub("_", text).strip("_-")[:_MOST] or "file"


def _unused(name: str, taken: Mapping[str, object]) -> str:
    """The name, with a number where it is taken, also in other letters."""
    folded = {used.casefold() for used in taken}
    folder, slash, last = name.rpartition("/")
    names = chain([name], (f"{folder}{slash}{number}-{last}" for number in count(2)))
    return next(free for free in names if free.casefold() not in folded)


def _all_files(store: EvidenceStore, run_id: str, prefix: str) -> Iterator[tuple[str, Stored]]:
    def known(read: Callable[[EvidenceStore, str], Record | None]) -> Record | None:
        try:
            return read(store, run_id)
        except KeyError:
            return None
        except DiskbenchError as error:
            warn("published record", run_id, error)
            return None

    if known(read_plan) is not None:
        yield "plan.json", (f"{prefix}/plan.json", None)
    if known(read_pruned) is not None:
        yield "pruned.json", (pruned_key(run_id), None)
    if (manifest := known(read_manifest)) is not None:
        yield "manifest.json", (f"{prefix}/manifest.json", None)
        if manifest.imported is not None:
            yield from _of_folder("imported/", prefix, manifest.imported.files.items())
    for folder in folders_of(store, run_id):
        record = known(partial(read_step, folder=folder))
        if record is not None:
            place = f"steps/{_word(PurePosixPath(folder).name)}/"
            yield f"{place}{STEP_JSON}", (f"{prefix}/{folder}/{STEP_JSON}", None)
            of_step = [
                (name, of)
                for name, of in sorted(record.files.items())
                if name in _KNOWN or ("/" not in name and log_name(name) is not None)
            ]
            yield from _of_folder(place, f"{prefix}/{folder}", of_step)


def _of_folder(
    place: str, folder: str, files: Iterable[tuple[str, FileRecord]]
) -> Iterator[tuple[str, Stored]]:
    for name, file in files:
        published = safe_name(PurePosixPath(name).name, packed=file.key.endswith(PACKED))
        yield f"{place}{published}", (f"{folder}/{file.key}", file)

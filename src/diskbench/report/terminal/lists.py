"""What is stored, a line a run (all columns, however long) or a trial (as wide as the terminal), as
plain text: rich takes nine seconds for ten thousand lines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress

from diskbench.model.ids import short
from diskbench.model.result import FINAL_STATES
from diskbench.model.run import IMPORT, Headline, ListedTrial, Run
from diskbench.report.assemble.words import NO_DATE, NONE, cut, local_time, rate_words
from diskbench.report.terminal.layout import aligned
from diskbench.units import format_mb_per_s
from diskbench.visible import shortened

_HEADER = (
    "run", "when", "state", "mark", "figure", "trust", "profile", "disk", "provisioned", "cache",
    "region", "zone", "instance", "where", "target", "labels",
)  # fmt: skip


def run_lines(runs: Sequence[Run], headlines: Mapping[str, Headline]) -> Iterator[str]:
    """A header, then a line for each run with every column that some run fills, with times in the
    local timezone. `headlines` are the figures of the runs that were judged, by run id. Only a
    cell of more than 1,000 characters is cut, however long the lines become."""
    rows = [_HEADER, *(_cells(run, headlines.get(run.run_id)) for run in runs)]
    filled = [any(column) for column in zip(*rows[1:], strict=True)]
    return aligned([[*compress(row, filled)] for row in rows])


def headline_words(headline: Headline) -> str:
    """`3,000 IOPS`, or `98.0 MB/s` for large blocks and where no IOPS are known; `3,000 IOPS burst`
    where the credit lasted to the end."""
    words = rate_words(headline.iops, headline.bytes_per_s)
    return f"{words} burst" if headline.kind == "burst" else words


def where(run: Run) -> str:
    """The machine of a run."""
    return run.place or run.provider


def disk(run: Run) -> str:
    """The rented disk (`2 × gp2 20 GiB`), or else the kernel's name of the disk."""
    if not run.disk_type:
        return run.disk_model or ""
    count = f"{run.disk_count} × " if (run.disk_count or 1) > 1 else ""
    size = f" {run.disk_gib:,} GiB" if run.disk_gib else ""
    return f"{count}{run.disk_type}{size}"


def _cells(run: Run, headline: Headline | None) -> tuple[str, ...]:
    labels = ", ".join(f"{key}={value}" for key, value in sorted(run.labels.items()))
    figure, trust = (headline_words(headline), headline.trust) if headline else ("", "")
    rate = run.provisioned_bytes_per_s
    iops = f"{run.provisioned_iops:,} IOPS" if run.provisioned_iops else ""
    provisioned = ", ".join(filter(None, (iops, f"{format_mb_per_s(rate)} MB/s" if rate else "")))
    cells = (
        run.run_id, local_time(run.when), run.state, ", ".join(run.marks), figure, trust,
        run.profile, disk(run), provisioned, run.host_cache, run.region, run.zone,
        run.instance_type, where(run), target(run), labels,
    )  # fmt: skip
    return tuple(shortened(" ".join((cell or "").split())) for cell in cells)


def target(run: Run) -> str:
    """The directory, or the device with the filesystem that was made on it."""
    path, device = run.target_path, run.target_device
    if run.target_kind != "device":
        return path or device or ""
    return " ".join(word for word in (device or path, run.filesystem) if word)


_TRIAL_HEADER = ("#", "when", "disk", "profile", "figure", "trust", "id")
_DISK, _PROFILE = map(_TRIAL_HEADER.index, ("disk", "profile"))
_LEAST = {_DISK: 16, _PROFILE: 8}
"""The columns that are cut where lines are too long, with the characters that each keeps."""
_YEAR = len("2026-")
NOT_JUDGED = "?"
EMULATED = "*"
IMPORTED, PUBLISHED = "†", "‡"
_SUSPENDED = "suspended"
_RUNS = re.compile(r" (?:×\d+|\d+ of \d+)$")
"""The number of runs after a profile: it is not cut."""


def trial_lines(trials: Sequence[ListedTrial], *, width: int | None = None) -> Iterator[str]:
    """A header, then a line for each trial, with times in the local timezone. No line is longer
    than `width` (None: any length): the middle of disks and profiles is left out first."""
    rows = [_TRIAL_HEADER, *(_trial_cells(trial) for trial in trials)]
    for line in aligned(rows, right={0}, least=_LEAST, width=width, fit=_fit):
        yield line if width is None else cut(line, width)


def legend(trials: Sequence[ListedTrial]) -> list[str]:
    """What a reader of the lines has to know: of emulated disks, of runs that nothing judged, and
    of those whose process is gone."""
    show = "diskbench results show {}"
    marks = (
        (f"{EMULATED} emulated: a disk made of this machine, not the cloud's",
         lambda trial: trial.newest.emulated),
        (f"{IMPORTED} imported: measured by another tool",
         lambda trial: _imported(trial.newest) == IMPORTED),
        (f"{PUBLISHED} published: a figure of a post", lambda trial: trial.newest.has("published")),
        (f"{NOT_JUDGED} not judged yet (mean of the newest run): {show}",
         lambda trial: _trust(trial) == NOT_JUDGED),
        (f"{_SUSPENDED}: its process is gone; continue it: diskbench resume {{}}",
         lambda trial: trial.suspended),
    )  # fmt: skip
    found = ((words, next(filter(applies, trials), None)) for words, applies in marks)
    return [words.format(_id(first)) for words, first in found if first]


def state_words(trial: ListedTrial) -> str:
    """`suspended`, `running`, `failed`: the state of a trial of which no run is done, or of which
    some have not ended; empty where all that can be said is its figure."""
    if trial.unfinished:
        is_running = "running" in trial.states or "done" in trial.states
        return _SUSPENDED if trial.suspended else "running" if is_running else "planned"
    if "done" in trial.states:
        return ""
    return next(state for state in FINAL_STATES if state in trial.states)


def bought(run: Run) -> str:
    """`gp2 20 GiB eu-central-1`, or the host and path of a disk that was there, or the tool and the
    host of a run that was imported."""
    by = f"{run.provider} " if run.emulated and not run.imported else ""
    if run.disk_type:
        return " ".join(word for word in (f"{by}{disk(run)}", run.region) if word)
    if run.imported:
        return f"{run.provider.removeprefix(IMPORT)} {run.place}".strip()
    return ":".join(word for word in (where(run), target(run)) if word)


def _trial_cells(trial: ListedTrial) -> tuple[str, ...]:
    run = trial.newest
    when = local_time(run.when)
    count = f" ×{trial.runs}" if trial.done in (0, trial.runs) else f" {trial.done} of {trial.runs}"
    profile = f"{run.profile}{count}" if trial.runs > 1 else run.profile
    words = headline_words(trial.headline) if trial.headline else NONE
    figure = state_words(trial) or f"{words} {EMULATED * run.emulated} {_imported(run)}"
    day = when if when == NO_DATE else when[_YEAR:]
    cells = (str(trial.number), day, bought(run), profile, figure, _trust(trial), _id(trial))
    return tuple(" ".join(cell.split()) for cell in cells)


def _imported(run: Run) -> str:
    return PUBLISHED if run.has("published") else IMPORTED * run.imported


def _fit(cell: str, width: int) -> str:
    """The cell in `width` characters, with the number of its runs."""
    runs = _RUNS.search(cell)
    tail = runs[0] if runs and len(cell) > width else ""
    return cut(cell.removesuffix(tail), width - len(tail), middle=True) + tail


def _id(trial: ListedTrial) -> str:
    """The short id of a trial; of its run where it has only one."""
    return short(trial.newest.trial_id if trial.runs > 1 else trial.newest.run_id)


def _trust(trial: ListedTrial) -> str:
    trust = trial.headline.trust if trial.headline else None
    return "" if state_words(trial) else trust or NOT_JUDGED

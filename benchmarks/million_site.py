"""A site that shows all of a synthetic store, as if it had been published before.

It has a manifest, and a stand-in of one letter for each page. Drawing 200,000 pages would take a
night; what the next publish costs does not depend on what stands in those that it leaves alone.

`add_day` then measures some configurations four times more.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import sqlalchemy as sa

import million_rows
from diskbench.model.history import ConfigurationLine
from diskbench.report.site.build import configuration_name, digest_of
from diskbench.report.site.in_site import trial_name
from diskbench.report.site.lines import run_line
from diskbench.report.site.renew_trials import place_of
from diskbench.report.site.renewal import Wishes, common_digest
from diskbench.results.site_subjects import by_subject, key_of
from diskbench.results.trial_figures import words
from diskbench.store import schema
from diskbench.store.digests import load_asked, trial_stamps
from diskbench.store.site_folder import open_site
from diskbench.store.site_manifest import Entry, TrialLines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy.engine import Engine

    from diskbench.store.site_folder import SiteFolder

STAND_IN = b"x"
TIMES_A_DAY = 4
_AT_ONCE = 2000


def make_site(engine: Engine, path: Path) -> None:
    """A site of all runs in the new folder `path`."""
    stamps, common = dict(trial_stamps(engine, ())), common_digest(Wishes())
    with open_site(path) as folder:
        (path / "trials").mkdir()
        (path / "configurations").mkdir()
        trial_ids = sorted(stamps)
        folder.manifest.add(map(trial_name, trial_ids))
        lines: dict[str, ConfigurationLine] = {}
        for start in range(0, len(trial_ids), _AT_ONCE):
            chunk = trial_ids[start : start + _AT_ONCE]
            lines |= _put_trials(engine, folder, chunk, stamps, common)
        folder.manifest.add(map(configuration_name, lines))
        for key, digests in list(folder.manifest.configurations()):
            told = lines[key].model_dump(mode="json")
            _put(folder, configuration_name(key), digest_of(common, digests), told)


def restamp_site(engine: Engine, path: Path) -> None:
    """Let the site in `path` look as if this diskbench had published it: another one made it, and
    all its pages would be drawn anew."""
    stamps, common = dict(trial_stamps(engine, ())), common_digest(Wishes())
    with open_site(path) as folder:
        manifest = folder.manifest
        for name, entry in list(manifest.entries("trials")):
            if (stamp := stamps.get(PurePosixPath(name).stem)) is not None:
                digest = digest_of(common, stamp, None)
                manifest.put(name, Entry(digest, entry.bytes, entry.told))
        for key, digests in list(manifest.configurations()):
            name = configuration_name(key)
            if (entry := manifest.entry(name)) is not None:
                manifest.put(name, Entry(digest_of(common, digests), entry.bytes, entry.told))


def _put_trials(
    engine: Engine,
    folder: SiteFolder,
    trial_ids: Sequence[str],
    stamps: dict[str, str],
    common: str,
) -> dict[str, ConfigurationLine]:
    """Trials with the lines of their runs; returns a line for each of their configurations."""
    found = {}
    for subject, rows in by_subject(load_asked(engine, (), trial_ids=trial_ids)).items():
        key, asked = key_of(subject), dict(subject)
        runs: dict[str, list[tuple[str, str, str]]] = {}
        for row in rows:
            line = run_line(row.run, asked, key).model_dump_json(exclude_defaults=True)
            runs.setdefault(row.run.trial_id, []).append((row.run.run_id, place_of(row.run), line))
        for trial_id, lines in runs.items():
            digest = digest_of(common, stamps[trial_id], None)
            folder.manifest.put_trial(TrialLines(trial_id, key, digest_of(digest, lines), lines))
            _put(folder, trial_name(trial_id), digest, {"evidence": []})
        found[key] = ConfigurationLine(
            key=key, words=words(subject), provider="aws", region=asked.get("region", ""),
            disk=asked.get("disk", ""), machine="", profile="", runs=len(rows), times=1,
            machines=1, first="", last="",
        )  # fmt: skip
    return found


def _put(folder: SiteFolder, name: str, digest: str, told: dict[str, object]) -> None:
    (folder.path / name).write_bytes(STAND_IN)
    folder.manifest.put(name, Entry(digest, len(STAND_IN), told))


def add_day(engine: Engine, scratch: Path, configurations: int) -> int:
    """Measure the first `configurations` of the store four times after its last; returns how many
    runs that adds."""
    run = schema.run.c
    with engine.connect() as connection:
        last = connection.execute(sa.select(sa.func.max(run.measured_at))).scalar_one()
    for number in range(TIMES_A_DAY):
        at = million_rows.moment(last) + timedelta(hours=6 * (number + 1))
        million_rows.add_time(engine, at, configurations, scratch)
    return TIMES_A_DAY * configurations * million_rows.RUNS_A_TRIAL

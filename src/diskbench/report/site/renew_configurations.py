"""The pages of configurations that are out of date, made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.history import SiteRunLine
from diskbench.report.assemble.stored_report import few_at_a_time
from diskbench.report.site.build import configuration_name, digest_of, progress
from diskbench.report.site.configuration import configuration_page
from diskbench.report.site.lines import configuration_line
from diskbench.results.site_subjects import by_subject, configurations
from diskbench.store.digests import load_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from diskbench.report.site.build import SiteBuild

_MOST_TRIALS = 200
"""Trials whose runs are in memory together; a configuration's all are."""


def renew_configurations(build: SiteBuild) -> None:
    """Write the pages of configurations that are out of date; all are wanted."""
    folder, manifest = build.folder, build.folder.manifest
    stale, names = dict[str, str](), list[str]()
    for key, digests in manifest.configurations():
        name, digest = configuration_name(key), digest_of(build.common, digests)
        names.append(name)
        entry = folder.fresh(name, digest)
        if entry is None or not entry.summary:
            stale[key] = digest
    folder.claim(map(configuration_name, stale))
    manifest.want(names)
    with progress("configurations", len(stale)) as advance:
        of_keys = ((key, manifest.trials_of(key)) for key in stale)
        for few in few_at_a_time(of_keys, _MOST_TRIALS):
            _renew(build, few, stale, advance)


def _renew(
    build: SiteBuild,
    batch: Mapping[str, Sequence[str]],
    digests: Mapping[str, str],
    advance: Callable[[], None],
) -> None:
    trial_ids = [trial_id for trials in batch.values() for trial_id in trials]
    rows = load_asked(build.database, build.filters, trial_ids=trial_ids)
    shown = build.shown(rows)
    for configuration in configurations(build.database, build.filters, by_subject(rows)):
        anonymous = shown.configuration(configuration)
        lines = build.folder.manifest.lines_of(anonymous.key)
        runs = [
            SiteRunLine.model_validate_json(lines[run_id])
            for run_id in configuration.runs
            if run_id in lines
        ]
        line = configuration_line(anonymous, runs)
        page = configuration_page(build.site, anonymous, runs)
        build.folder.write(
            configuration_name(anonymous.key),
            page,
            digests[anonymous.key],
            line.model_dump(mode="json"),
        )
        advance()

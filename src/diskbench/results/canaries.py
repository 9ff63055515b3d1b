"""Which trials ran on a machine with an abnormal canary (MR-13), judged against the other selected
machines of the same kind."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING

from diskbench.analysis.canary import Reading, off
from diskbench.errors import DiskbenchError
from diskbench.parallel import all_of
from diskbench.results.phase_reader import EvidenceStores
from diskbench.store.canaries import canaries, runs_of_trials

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.analysis.canary import Off
    from diskbench.ports import EvidenceStore
    from diskbench.store.canaries import TrialRuns

log = logging.getLogger(__name__)


def off_trials(
    database: Engine, trial_ids: Sequence[str], evidence: EvidenceStore | None = None
) -> Mapping[str, tuple[Off, ...]]:
    """The trials whose canary is an outlier among the canaries of machines of the same provider,
    type and processor, each with its outlying readings."""
    trials = runs_of_trials(database, list(dict.fromkeys(trial_ids)))
    kinds: dict[tuple[str | None, ...], list[TrialRuns]] = defaultdict(list)
    for trial in trials:
        kinds[trial.kind].append(trial)
    fleets = [fleet for fleet in kinds.values() if len(fleet) > 1]
    stores = EvidenceStores(evidence)
    off_by_trial: dict[str, tuple[Off, ...]] = {}
    for fleet in fleets:
        read = all_of(lambda trial: _readings(trial, stores), fleet)
        off_by_trial |= off([reading for of_trial in read for reading in of_trial])
    return off_by_trial


def _readings(trial: TrialRuns, stores: EvidenceStores) -> list[Reading]:
    try:
        store = stores.at(trial.evidence_url)
        pair = canaries(store, trial.first_run, trial.last_run)
    except DiskbenchError as error:
        log.warning("no canary of trial %s: %s", trial.trial_id, error.message)
        return []
    return [
        Reading(trial.trial_id, quantity, when, value)
        for when, canary in zip(("before", "after"), pair, strict=True)
        if canary is not None
        for quantity, value in (
            (f"checksum of {canary.cpu_mib} MiB s", canary.cpu_s),
            ("null IOPS", canary.null_iops),
        )
        if value is not None
    ]

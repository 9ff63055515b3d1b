"""Which figures may be pooled as replicates of each other (MR-14), and which trials ran on a
machine with an abnormal canary (MR-13). Figures are pooled only where all checked facts are the
same: CPU, zone, kernel, fio, disk and regime are facts; instance type and job belong to the
subject. The user may name facts across which figures are pooled all the same."""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from diskbench.analysis.canary import Reading, off
from diskbench.errors import DiskbenchError, FactsDiffer, UnknownName
from diskbench.fio.recorded import parse_canary
from diskbench.model.run import Run
from diskbench.parallel import all_of, grouped
from diskbench.ports import EvidenceStore
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.trial_figures import FACTS, REGIME, LineFigure
from diskbench.store.archive import read_manifest, run_prefix
from diskbench.store.content import read_file
from diskbench.store.parse_step import CANARIES

CHECKED = (*FACTS, REGIME)
ALL = "all"
"""The value of `--pool` that stands for all facts."""
_NOT_KNOWN = "–"
log = logging.getLogger(__name__)


def facts_to_pool(named: Sequence[str]) -> frozenset[str]:
    """The facts across which the user wants figures pooled. Raises UnknownName."""
    if unknown := next((name for name in named if name not in (*CHECKED, ALL)), None):
        raise UnknownName("fact", unknown, (*CHECKED, ALL))
    return frozenset(CHECKED) if ALL in named else frozenset(named)


def check_alike(
    figures: Sequence[LineFigure], *, pool: Collection[str] = (), whose: str = "trials"
) -> None:
    """Raise FactsDiffer where figures that are to be pooled differ in a checked fact that is not in
    `pool`, or span a cliff."""
    spanning = sum(figure.spans_cliff for figure in figures)
    if spanning:
        raise FactsDiffer(
            f"{spanning} of the {whose} span a cliff: the figure describes neither level",
            advice="compare IOPS or bytes a second, which are known for each level",
        )
    differing = [f"{fact}: {words}" for fact, words in apart(figures) if fact not in pool]
    if differing:
        names = [difference.partition(":")[0] for difference in differing]
        raise FactsDiffer(
            f"{whose} differ in {'; '.join(differing)}",
            advice=f"to pool them anyway: {' '.join(f'--pool {name}' for name in names)}",
        )


def apart(figures: Sequence[LineFigure]) -> Iterator[tuple[str, str]]:
    """Each checked fact that differs, with its values: `6.1.0 (5), 6.5.0 (5)`. An unknown regime
    does not count as a different one."""
    known = [dict(figure.facts) for figure in figures]
    for fact in CHECKED:
        values = Counter(facts.get(fact, _NOT_KNOWN) for facts in known)
        if fact == REGIME:
            del values[_NOT_KNOWN]
        if len(values) > 1:
            yield fact, ", ".join(f"{value} ({count})" for value, count in values.most_common())


def alike(figures: Sequence[LineFigure], *, pool: Collection[str] = ()) -> list[list[LineFigure]]:
    """The figures in groups that may be pooled, the largest first; figures that span a cliff are
    left out."""
    usable = [figure for figure in figures if not figure.spans_cliff]
    names = {fact for fact, _ in apart(usable)} - set(pool)
    groups = grouped(
        usable, lambda figure: tuple((name, of) for name, of in figure.facts if name in names)
    )
    return sorted(groups.values(), key=len, reverse=True)


def off_trials(
    trials: Mapping[str, Sequence[Run]], evidence: EvidenceStore | None = None
) -> Mapping[str, tuple[Reading, ...]]:
    """The trials whose canary is an outlier among the canaries of machines of the same provider,
    type and processor, each with its outlying readings. `trials` are their finished runs by id, in
    order; imported ones have no canary."""
    kinds = grouped(
        (runs for runs in trials.values() if not runs[0].imported),
        lambda runs: (runs[0].provider, runs[0].instance_type, runs[0].cpu_model),
    )
    stores = EvidenceOfRuns.of(evidence)
    off_by_trial: dict[str, tuple[Reading, ...]] = {}
    for fleet in (fleet for fleet in kinds.values() if len(fleet) > 1):
        read = all_of(lambda runs: _readings(runs, stores), fleet)
        off_by_trial |= off([reading for of_trial in read for reading in of_trial])
    return off_by_trial


def _readings(runs: Sequence[Run], stores: EvidenceOfRuns) -> list[Reading]:
    """What the canaries before and after a trial say; a canary that was not stored, as for
    unfinished runs, says nothing."""
    trial_id, before, after = runs[0].trial_id, *CANARIES
    try:
        store = stores.at(runs[0].evidence_url)
        pair = {
            "before": _canary(store, runs[0].run_id, before, 0),
            "after": _canary(store, runs[-1].run_id, after, -1),
        }
    except DiskbenchError as error:
        log.warning("no canary of trial %s: %s", trial_id, error.message)
        return []
    return [
        Reading(trial_id, name, when, value)
        for when, canary in pair.items()
        for name, value in canary.items()
    ]


def _canary(evidence: EvidenceStore, run_id: str, name: str, at: int) -> dict[str, float]:
    manifest = read_manifest(evidence, run_id)
    holding = [step for step in manifest.steps if name in step.files] if manifest else []
    if not holding:
        return {}
    folder = f"{run_prefix(run_id)}/{holding[at].folder}"
    return parse_canary(read_file(evidence, folder, name, holding[at].files[name]))

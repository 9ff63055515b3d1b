"""The last line of an import: its runs, steps and trials, which checks hold, and the date.
✓: every step was checked and passed; ✗: the step and the figures of a check that fails follow."""

from collections.abc import Sequence

from diskbench.model.result import AuditName
from diskbench.store.imports import ReadImport
from diskbench.units import counted

_WORDS: dict[AuditName, str] = {
    "bytes": "bytes = I/Os × block", "logs": "logs sum to JSON", "rate": "rates × time = totals",
    "percentiles": "percentiles rise",
}  # fmt: skip
_IF_FAILED = frozenset({"rate", "percentiles"})


def import_line(runs: Sequence[ReadImport]) -> str:
    """The line for the runs of one import, of which there is at least one."""
    trials = len({run.manifest.trial_id for run in runs})
    least, most = min(run.steps for run in runs), max(run.steps for run in runs)
    steps = counted(most, "step") if least == most else f"{least} to {counted(most, 'step')}"
    parts = [f"{counted(len(runs), 'run')} of {steps} in {counted(trials, 'trial')}"]
    pairs = [(c, audit.step) for run in runs for audit in run.audits for c in audit.checks]
    of_steps = sum(run.steps for run in runs)
    for name, words in _WORDS.items():
        failed = [(c, step) for c, step in pairs if c.name == name and c.holds is False]
        held = sum(check.name == name and check.holds is True for check, _ in pairs)
        if name == "logs" and not any(run.source.logs for run in runs):
            parts.append("no logs")
        elif failed:
            check, step = failed[0]
            more = f" (and in {len(failed) - 1} more steps)" if len(failed) > 1 else ""
            parts.append(f"{words} ✗ in step {step}: {check.message}{more}")
        elif name not in _IF_FAILED:
            some = f" in {held:,} of {of_steps:,} steps" if held < of_steps else ""
            parts.append(f"{words} ✓{some}" if held else f"{words} not checked")
    reports = dict.fromkeys(f"{run.source.name}: {run.reports}" for run in runs if run.reports)
    return " · ".join([*parts, _date(runs), *reports])


def _date(runs: Sequence[ReadImport]) -> str:
    """The days in UTC; else a time whose zone the file does not say."""
    dates = sorted({run.measured_at[:10] for run in runs if run.measured_at})
    if dates:
        words = f"date {dates[0]}" if len(dates) == 1 else f"dates {dates[0]} to {dates[-1]}"
        dated = sum(run.measured_at is not None for run in runs)
        return f"{words} ✓" if dated == len(runs) else f"{words}, of {dated} of {len(runs)} runs"
    records = [run.manifest.imported for run in runs]
    if all(record and record.kind == "published" for record in records):
        days = sorted({run.manifest.labels.get("measured_on", "") for run in runs})
        return f"published {', '.join(filter(None, days)) or 'undated'}"
    local = next((record.local_time for record in records if record and record.local_time), None)
    if local:
        return f"no date: {local} has no time zone (give the day with --measured-on)"
    return "no date in the file (give it with --measured-on)"

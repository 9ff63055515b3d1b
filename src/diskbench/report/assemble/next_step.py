"""The proposed next step after a result, the one that teaches most: the reason, and the command
to type. Nothing is measured on this machine because of an imported file."""

import shlex
from collections.abc import Sequence

from diskbench.model import doubts
from diskbench.model.ids import short
from diskbench.model.verdict import Verdict
from diskbench.report.assemble.lines import StepLine, WarningGroup
from diskbench.report.assemble.subject import ENDED_EARLY, SUSPENDED, Subject

SHORT = frozenset({"quick"})
"""Profiles of a few seconds a step: a look and no measurement (method.md B10)."""
DIRECT = "default"
"""The profile of the usual figures, past the page cache."""
RUNS = 5
REPLICATES = 6
"""The fewest that have an interval (MR-6)."""
GO_ON = "the run is suspended; resume it"
_DISTURBED = (
    doubts.MACHINE_BUSY, doubts.CPU_STOLEN, doubts.DISK_SHARED, doubts.OTHER_IO, doubts.STALLED,
)  # fmt: skip
_HOST = "--host"
_BEFORE_HOSTS = 2
"""Words of a command before its options: `diskbench run`."""


def for_hosts(named: Sequence[tuple[str, tuple[str, str]]], chosen: str) -> tuple[str, str]:
    """The next step after one measurement of several hosts: that of the host `chosen`, for all
    hosts whose step is the same but for the host. It names the hosts where it is not for all.

    `named` are the steps by the names of the hosts.
    """
    reason, typed = dict(named)[chosen]
    command, _ = _without_hosts(typed)
    split = [(name, *_without_hosts(of)) for name, (_, of) in named]
    alike = {name: hosts for name, words, hosts in split if words == command}
    if len(alike) < len(named):
        reason = f"{', '.join(alike)}: {reason}"
    hosts = dict.fromkeys(host for of in alike.values() for host in of)
    flags = [word for host in hosts for word in (_HOST, host)]
    words = [*command[:_BEFORE_HOSTS], *flags, *command[_BEFORE_HOSTS:]]
    return reason, shlex.join(words) if flags else typed


def _without_hosts(command: str) -> tuple[list[str], list[str]]:
    """The words of a command without its hosts, and the hosts."""
    words = shlex.split(command)
    at = [place for place, word in enumerate(words[:-1]) if word == _HOST]
    gone = {*at, *(place + 1 for place in at)}
    without = [word for place, word in enumerate(words) if place not in gone]
    return without, [words[place + 1] for place in at]


def next_step(
    subject: Subject,
    lines: Sequence[StepLine],
    warnings: Sequence[WarningGroup],
    verdicts: Sequence[Verdict] = (),
    *,
    on_page: bool = False,
) -> tuple[str, str]:
    """The next step after this result: its reason and its command."""
    last, is_imported = subject.shown_id, "imported" in subject.marks
    if subject.state == SUSPENDED:
        return GO_ON, go_on(subject.trial_id)
    if subject.state in ENDED_EARLY:
        return "the run ended early; repeat it", run_again(subject, subject.runs_planned)
    if not lines and not is_imported:
        return "see what went wrong", f"diskbench results show {last}"
    if not lines and on_page:  # an imported fio log has a series and no summary
        code = f'import diskbench; print(diskbench.load_series("{last}"))'
        return "read the per-second series", f"python -c {shlex.quote(code)}"
    if not lines:
        return "draw it second by second", f"diskbench report {last}"
    if subject.state in ("planned", "running"):
        return "the run has not ended; look again later", f"diskbench results show {last}"
    if is_imported:
        # This machine is not the one that an imported file was measured on.
        if not subject.disk_is_named or _has(verdicts, doubts.OTHER_DISK.code):
            return "find disks that behave like this one", f"diskbench identify {last}"
    elif step := _of_run(subject, {group.code for group in warnings}, verdicts):
        return step
    if on_page:
        return "export the figures", "diskbench results export --to rows.csv"
    return "open the report with charts", f"diskbench report {last}"


def _of_run(
    subject: Subject, warned: set[str], verdicts: Sequence[Verdict]
) -> tuple[str, str] | None:
    """The next step where it was no disk that was measured, or else `_of_disk`."""
    for doubt in doubts.DOUBTS.values():
        if doubt.profile and doubt.code in warned and subject.profile != doubt.profile:
            if doubt is doubts.UNWRITTEN and subject.offer:  # a rented disk is a new one each time
                empty = "a new disk is empty; use a profile that fills it before it reads"
                return empty, _run_other(subject, DIRECT)
            return doubt.because, _run_other(subject, doubt.profile)
    if _has(verdicts, doubts.NOT_A_DISK.code, "no"):
        return "this measured memory; find a disk to measure", "diskbench devices"
    cached = (doubts.PAGE_CACHE, doubts.SERVED_FROM_CACHE)
    if subject.profile != DIRECT and any(_has(verdicts, doubt.code, "no") for doubt in cached):
        reason = "a cache served this; measure past the page cache"
        return reason, _run_other(subject, DIRECT)
    return _of_disk(subject, warned, verdicts)


def _of_disk(
    subject: Subject, warned: set[str], verdicts: Sequence[Verdict]
) -> tuple[str, str] | None:
    """The next step where it was the disk that was measured."""
    fell = has_fallen(verdicts)
    if any(_has(verdicts, doubt.code) for doubt in _DISTURBED):
        reason = "something disturbed the run; repeat it when machine and disk are idle"
        return reason, run_again(subject, len(subject.run_ids))
    if doubts.RUNS_DISAGREE.code in warned and not fell:
        reason = "the runs differ without a downward trend; repeat when the machine is idle"
        return reason, run_again(subject, max(RUNS, len(subject.run_ids)))
    if fell:
        return _replicates(subject, "burst credit ran out")
    if subject.beyond is not None and not any(
        stretch.kind == "baseline" or stretch.limiter.name == "credit"
        for verdict in verdicts
        for stretch in verdict.stretches
    ):  # no step reached what lasts: go beyond the credit, by this profile for longer or another
        reason = "the run ended before the burst credit did; to measure the sustained rate"
        profile = shlex.quote(subject.profile_typed or subject.profile)
        same = "" if "--profile" in subject.beyond.flags else f"--profile {profile}"
        return reason, _run_command(subject.target_flags, same, subject.beyond.flags)
    limits = {verdict.stands_for.limiter.name for verdict in verdicts}
    if _has(verdicts, doubts.OTHER_DISK.code) or "fixed-limit" in limits:
        return "find the disk type that has this limit", f"diskbench identify {subject.shown_id}"
    if _has(verdicts, doubts.BELOW_PROMISE.code):
        return _replicates(subject, "the disk was slower than promised")
    if subject.profile in SHORT:
        return "this run was short; measure longer", _run_other(subject, DIRECT)
    if len(subject.run_ids) == 1:
        reason = "one run shows no variation; repeat it on the same disk"
        return reason, run_again(subject, RUNS)
    return None


def has_fallen(verdicts: Sequence[Verdict]) -> bool:
    """Whether a step, or a trial from run to run, shows what is left after a fall."""
    kinds: list[set[str | None]]
    kinds = [{stretch.kind for stretch in verdict.stretches} for verdict in verdicts]
    main: dict[str, set[str | None]] = {}
    for verdict in verdicts:
        main.setdefault(verdict.step, set()).add(verdict.stands_for.kind)
    return any({"burst", "baseline"} <= of for of in (*kinds, *main.values()))


def _replicates(subject: Subject, reason: str) -> tuple[str, str] | None:
    """More disks of the same kind; None where none can be rented."""
    if not subject.offer:
        return None
    command = f"{run_again(subject, 1)} --replicates {REPLICATES}"
    return f"{reason}; one disk is one sample; to measure six", command


def _has(verdicts: Sequence[Verdict], code: str, weight: str | None = None) -> bool:
    """Whether a verdict has this doubt; a note counts only if it is asked for."""
    return any(
        reason.code == code and (reason.weight == weight if weight else reason.weight != "note")
        for verdict in verdicts
        for reason in verdict.reasons
    )


def go_on(trial_id: str) -> str:
    """The command that continues an interrupted run."""
    return f"diskbench resume {short(trial_id)}"


def _run_other(subject: Subject, profile: str) -> str:
    """The command for another profile on the same target, without the old profile's parameters."""
    return _run_command(subject.target_flags, "--profile", shlex.quote(profile))


def run_again(subject: Subject, runs: int) -> str:
    """The command that repeats the measurement with `runs` runs."""
    profile = shlex.quote(subject.profile_typed or subject.profile)
    several = f"--runs {runs}" if runs > 1 else ""
    return _run_command(subject.target_flags, "--profile", profile, subject.trial_flags, several)


def _run_command(*words: str) -> str:
    return " ".join(word for word in ("diskbench run", *words) if word)

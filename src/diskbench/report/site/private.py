"""What a site shows of runs, and what it hides. Always hidden: accounts, networks, images and
endpoints, the flags that name them, and error messages, in which clouds repeat them. With
`--anonymous`, machines become numbers and all names of the publisher's places are removed: only the
fields in _KEPT remain, so a new field is hidden by default."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from diskbench.model.doubts import Reason
from diskbench.model.history import Configuration
from diskbench.model.options import access_fields
from diskbench.model.result import Warning as StepWarning
from diskbench.model.run import AskedRun, Run
from diskbench.model.verdict import Verdict
from diskbench.parallel import grouped
from diskbench.plugin import known_plugin
from diskbench.report.assemble.view import View
from diskbench.results.history import by_subject, key_of
from diskbench.results.trial_figures import Fields
from diskbench.results.trial_figures import words as words_of

Doubt = TypeVar("Doubt", Reason, StepWarning)
LEFT_OUT = "left out"
_KEPT = frozenset({
    "provider", "profile", "job", "region", "instance_type", "disk", "size", "count", "filesystem",
    "iops", "throughput_mib_per_s",
})  # fmt: skip
"""Fields of a subject that say what was measured and do not identify its owner."""
_KEPT_OWN = frozenset({"cache", "time_scale"})
"""Provider options of that kind: `lab.time_scale`."""
_NEVER = access_fields() | {"endpoint", "ca_file", "image", "snapshot"}
_OF_RUN = (
    "address", "hostname", "target_path", "target_device", "target_identity", "evidence_url",
    "machine_lease",
)  # fmt: skip
_LEAST = 2
"""Minimum length of a secret: a name of one character is not one."""


def numbered(rows: Iterable[AskedRun]) -> dict[str, str]:
    """Machine → `machine 1`, in the order of their first run; `rows` are newest first."""
    names = dict.fromkeys(row.run.place for row in reversed(list(rows)) if row.run.place)
    return {name: f"machine {number}" for number, name in enumerate(names, 1)}


def secrets_of(rows: Iterable[AskedRun], *, anonymous: bool) -> tuple[str, ...]:
    """Names in runs that no text may contain, longest first."""
    names = {name for row in rows for name in _names(row, anonymous=anonymous)}
    secrets = (name for name in names if len(name) >= _LEAST)
    return tuple(sorted(secrets, key=lambda name: (-len(name), name)))


def _names(row: AskedRun, *, anonymous: bool) -> list[str]:
    rented = list(_texts(row.rent or {}))
    scope = list(_texts(row.scope or {}))
    names = [value for name, value in (*rented, *scope) if name in _NEVER]
    if anonymous:
        names += [value for name in _OF_RUN if (value := getattr(row.run, name))]
        names += [value for name, value in rented if not _is_kept(name)]
        names.append((row.run.address or "").rpartition("@")[2])
        if _names_are_private(row.run.provider):
            names.append(row.run.zone or "")
    return names


def _is_kept(name: str) -> bool:
    """Whether a field says what was measured; a provider's option is named `group.option`."""
    group, _, own = name.rpartition(".")
    return own in _KEPT_OWN if group and group != "set" else name in _KEPT


def _names_are_private(provider: str) -> bool:
    """Whether the owner chooses the names of regions and zones; assumed for a provider that is not
    installed."""
    plugin = known_plugin(provider)
    return plugin is None or plugin.names_are_private


def scrubbed(text: str, secrets: Sequence[str]) -> str:
    """The text with each of these names replaced where it is a whole word."""
    if not secrets:
        return text
    pattern = "|".join(map(re.escape, secrets))
    return re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", LEFT_OUT, text)


def private_fields(
    fields: Sequence[tuple[str, str]], machines: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """The fields of a subject that say what was measured, with its machine as a number."""
    provider = dict(fields)["provider"]
    hidden = {"region"} if _names_are_private(provider) else set()
    return tuple(
        (name, machines.get(value, LEFT_OUT) if name == "machine" else value)
        for name, value in fields
        if name == "machine" or (_is_kept(name) and name not in hidden)
    )


def scrubbed_trial(
    trial: View, *, errors: Mapping[str, str], places: Mapping[str, str], secrets: Sequence[str]
) -> View:
    """A trial's report without names that a site always hides. By the id of the run, `errors` are
    the kinds of error that they ended with (empty: none), `places` where readers find their
    evidence."""

    def scrub(text: str) -> str:
        return scrubbed(text, secrets)

    def scrubbed_doubt(doubt: Doubt) -> Doubt:
        texts = {"message": scrub(doubt.message), "advice": scrub(doubt.advice)}
        return doubt.model_copy(update=texts)

    def scrubbed_verdict(verdict: Verdict) -> Verdict:
        reasons = tuple(map(scrubbed_doubt, verdict.reasons))
        sentence = scrub(verdict.sentence)
        return verdict.model_copy(update={"reasons": reasons, "sentence": sentence})

    subject = trial.subject
    names = ("offer", "promise", "machine", "disk", "target")
    shown: dict[str, Any] = {name: scrub(getattr(subject, name)) for name in names}
    runs = []
    for run in trial.runs:
        error, place = errors[run.run_id], places[run.run_id]
        runs.append(replace(run, error=error, advice="", evidence=place, audit=scrub(run.audit)))
    return replace(
        trial,
        subject=replace(subject, **shown, target_flags="", trial_flags=""),
        runs=tuple(runs),
        warnings=tuple(map(scrubbed_doubt, trial.warnings)),
        verdicts=tuple(map(scrubbed_verdict, trial.verdicts)),
        notes=tuple(map(scrub, trial.notes)),
        place=scrub(trial.place),
        job=scrub(trial.job),
        again="",
    )


def private_trial(trial: View, machine: str) -> View:
    """A report of `scrubbed_trial` without labels, notes and target; `machine` is a number."""
    subject = trial.subject
    _, _, known = subject.machine.partition(": ")
    named = ": ".join(filter(None, (machine, known))) or LEFT_OUT
    subject = replace(subject, machine=named, target="", profile_typed=subject.profile)
    return replace(trial, subject=subject, labels=(), notes=())


def _texts(rent: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Each text of a rental request by its name; nested options of a provider as `lab.user`."""
    for name, value in rent.items():
        if isinstance(value, dict):
            yield from _texts(value, f"{name}.")
        elif isinstance(value, str):
            yield prefix + name, value


@dataclass(frozen=True)
class ShownRuns:
    """The runs of a site, newest first, in groups by subject and in their `trials` by id. `keys`
    are the page names of the subjects; `fields` are the fields that the site shows of them.
    `machines` are the numbers that replace machine names on an anonymous site."""

    anonymous: bool
    groups: Mapping[Fields, Sequence[AskedRun]]
    keys: Mapping[Fields, str]
    fields: Mapping[Fields, Fields]
    trials: Mapping[str, Sequence[AskedRun]]
    machines: Mapping[str, str]
    _subjects: Mapping[str, Fields]

    def around(self, row: AskedRun) -> dict[str, str]:
        """The configuration of a run: the key of its page, and its words."""
        subject = self._subjects[row.run.run_id]
        return {"key": self.keys[subject], "words": words_of(self.fields[subject])}

    def asked(self, row: AskedRun) -> dict[str, str]:
        """The fields of a run's subject that the site shows."""
        return dict(self.fields[self._subjects[row.run.run_id]])

    def run(self, row: AskedRun) -> Run:
        """A run, reduced to what the site shows: on an anonymous one without labels and names of
        its place, with its machine as a number."""
        run = row.run
        if not self.anonymous:
            return run
        nowhere: dict[str, Any] = dict.fromkeys(_OF_RUN)
        nowhere["hostname"] = self.machines.get(run.place)
        zone = None if _names_are_private(run.provider) else run.zone
        return replace(run, **nowhere, labels={}, error=None, advice=None, zone=zone)

    def configuration(self, configuration: Configuration) -> Configuration:
        """The history of a subject, reduced to what the site shows."""
        if not self.anonymous:
            return configuration
        fields = self.fields[configuration.fields]
        by_name, words = dict(fields), words_of(fields)
        hidden = {"zone"} if _names_are_private(configuration.provider) else set()
        data = configuration.model_dump()
        for track in data["tracks"]:
            track["history"]["block"] = words
            for change in track["history"]["changes"]:
                found = change["differences"]
                change["differences"] = [one for one in found if one["fact"] not in hidden]
        changes = [one for one in data["fact_changes"] if one[1]["fact"] not in hidden]
        return Configuration.model_validate(data | {
            "key": self.keys[configuration.fields],
            "words": words,
            "fields": fields,
            "region": by_name.get("region", ""),
            "machine": by_name.get("instance_type") or by_name.get("machine", ""),
            "facts": [fact for fact in data["facts"] if fact[0] not in hidden],
            "fact_changes": changes,
        })  # fmt: skip


def shown_runs_of(rows: Sequence[AskedRun], *, anonymous: bool) -> ShownRuns:
    """What the site shows of these runs, newest first. An anonymous page is named after its oldest
    trial: a digest of the subject would let a reader verify a guessed host name."""
    groups = by_subject(rows)
    machines = numbered(rows) if anonymous else {}
    keys, fields = {}, {}
    for subject, of in groups.items():
        keys[subject] = of[-1].run.trial_id if anonymous else key_of(subject)
        fields[subject] = private_fields(subject, machines) if anonymous else subject
    return ShownRuns(
        anonymous=anonymous,
        groups=groups,
        keys=keys,
        fields=fields,
        trials=grouped(rows, lambda row: row.run.trial_id),
        machines=machines,
        _subjects={row.run.run_id: subject for subject, of in groups.items() for row in of},
    )

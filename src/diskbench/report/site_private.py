"""What `--anonymous` leaves out: machines become numbers, and whatever names a place of the
publisher's is gone. What is left is in _KEPT; a field that nobody thought of is left out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from diskbench.model.comparison import Difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from diskbench.model.configuration import Configuration
    from diskbench.model.verdict import Verdict
    from diskbench.report.subject import Subject
    from diskbench.report.trial_report import TrialReport

LEFT_OUT = "left out"
_KEPT = frozenset({
    "provider", "profile", "job", "region", "instance_type", "disk", "size", "count", "filesystem",
    "iops", "throughput_mib_per_s", "azure.cache", "lab.time_scale",
})  # fmt: skip
"""Fields of a subject that say what was measured, and not whose it is."""
_NAMED_PLACES = frozenset({"vsphere", "ssh", "local"})
"""Providers whose regions and zones are names that their owner gave."""
_OF_ROW = (
    "address", "hostname", "target_path", "target_device", "target_identity", "evidence_url",
    "machine_lease",
)  # fmt: skip
_LEAST = 4
"""Shorter names are words of everyday texts."""


def numbered(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Machine → `machine 1`, in the order of their first run; `rows` are newest first."""
    found: dict[str, str] = {}
    for row in reversed(list(rows)):
        name = row["address"] or row["hostname"]
        if name and name not in found:
            found[name] = f"machine {len(found) + 1}"
    return found


def secrets_of(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Names in these runs that no text may hold, the longest first."""
    found: set[str] = set()
    for row in rows:
        names = [row[name] for name in _OF_ROW]
        names += [value for name, value in _rented(row.get("rent") or {}) if name not in _KEPT]
        if row["provider"] in _NAMED_PLACES:
            names.append(row["zone"])
        address = row["address"] or ""
        names += [address.rpartition("@")[2], address.partition("@")[0]]
        found |= {str(name) for name in names if name and len(str(name)) >= _LEAST}
    return tuple(sorted(found, key=lambda name: (-len(name), name)))


def scrubbed(text: str, secrets: Sequence[str]) -> str:
    """The text without any of these names."""
    if not secrets:
        return text
    return re.sub("|".join(map(re.escape, secrets)), LEFT_OUT, text)


def private_row(row: Mapping[str, Any], machines: Mapping[str, str]) -> dict[str, Any]:
    """A run's row without what names its place, its machine as a number, its labels gone."""
    name = row["address"] or row["hostname"]
    found = dict(row) | dict.fromkeys(_OF_ROW)
    found |= {"hostname": machines.get(name), "labels": {}, "error": None, "advice": None}
    if row["provider"] in _NAMED_PLACES:
        found["zone"] = None
    return found


def private_fields(
    fields: Sequence[tuple[str, str]], machines: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """The fields of a subject that say what was measured; its machine as a number."""
    provider = dict(fields)["provider"]
    found = []
    for name, value in fields:
        if name == "machine":
            found.append((name, machines.get(value, LEFT_OUT)))
        elif name == "region" and provider in _NAMED_PLACES:
            continue
        elif name in _KEPT:
            found.append((name, value))
    return tuple(found)


def private_configuration(
    one: Configuration, fields: tuple[tuple[str, str], ...], words: str, key: str
) -> Configuration:
    """A configuration under the fields, words and key that may be told of it."""
    told = dict(fields)
    hidden = one.provider in _NAMED_PLACES
    facts = tuple((name, values) for name, values in one.facts if not (hidden and name == "zone"))
    tracks = tuple(
        track.model_copy(
            update={
                "history": track.history.model_copy(
                    update={
                        "block": words,
                        "changes": tuple(
                            change.model_copy(
                                update={"differences": _differences(change.differences, hidden)}
                            )
                            for change in track.history.changes
                        ),
                    }
                )
            }
        )
        for track in one.tracks
    )
    return one.model_copy(
        update={
            "key": key,
            "words": words,
            "fields": fields,
            "region": told.get("region", ""),
            "machine": told.get("instance_type") or told.get("machine", ""),
            "facts": facts,
            "fact_changes": tuple(
                change for change in one.fact_changes if not (hidden and change.fact == "zone")
            ),
            "tracks": tracks,
        }
    )


def private_subject(subject: Subject, machine: str, secrets: Sequence[str]) -> Subject:
    """The words of a run's page without what names its place."""
    known = subject.machine.partition(": ")[2] or subject.machine
    promised = subject.promised
    if promised is not None:
        promised = replace(
            promised,
            offer=scrubbed(promised.offer, secrets),
            promise=scrubbed(promised.promise, secrets),
        )
    return replace(
        subject,
        machine=scrubbed(f"{machine}: {known}" if machine else known, secrets),
        disk=scrubbed(subject.disk, secrets),
        target="",
        target_flags="",
        trial_flags="",
        profile_typed=subject.profile,
        promised=promised,
    )


def private_trial(trial: TrialReport, machine: str, secrets: Sequence[str]) -> TrialReport:
    """A run's report without what names its place; `machine` is its machine as a number."""

    def scrub(text: str) -> str:
        return scrubbed(text, secrets)

    return replace(
        trial,
        subject=private_subject(trial.subject, machine, secrets),
        runs=tuple(replace(note, error="", advice="", evidence="") for note in trial.runs),
        warnings=tuple(
            one.model_copy(update={"message": scrub(one.message), "advice": scrub(one.advice)})
            for one in trial.warnings
        ),
        verdicts=tuple(_private_verdict(one, scrub) for one in trial.verdicts),
        labels=(),
        notes=(),
        place=scrub(trial.place),
        job=scrub(trial.job),
        again="",
    )


def _private_verdict(verdict: Verdict, scrub: Callable[[str], str]) -> Verdict:
    reasons = tuple(
        one.model_copy(update={"message": scrub(one.message), "advice": scrub(one.advice)})
        for one in verdict.reasons
    )
    return verdict.model_copy(update={"reasons": reasons, "sentence": scrub(verdict.sentence)})


def _differences(found: Iterable[Difference], hidden: bool) -> tuple[Difference, ...]:
    return tuple(one for one in found if not (hidden and one.fact == "zone"))


def _rented(rent: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, object]]:
    """Each text of what was to be rented, by its name; defaults of one provider as `lab.user`."""
    for name, value in rent.items():
        if isinstance(value, dict):
            yield from _rented(value, f"{name}.")
        elif isinstance(value, str):
            yield prefix + name, value

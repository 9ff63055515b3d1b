"""What of the runs is told on a site: everything but secrets, or with `--anonymous` no names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from diskbench.engine.publish import by_subject, key_of
from diskbench.engine.trial_figures import words
from diskbench.report.site_private import (
    numbered,
    private_configuration,
    private_fields,
    private_row,
    secrets_of,
)
from diskbench.report.site_run import Around

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from diskbench.engine.trial_figures import Fields
    from diskbench.model.configuration import Configuration

Row = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """The runs of a site (rows with `rent`, newest first), by what was asked for in them.

    `keys` name the page of each subject; `fields` are what is told of it. `machines` are numbers of
    theirs where names are left out.
    """

    rows: Sequence[Row]
    anonymous: bool
    groups: Mapping[Fields, Sequence[Row]]
    keys: Mapping[Fields, str]
    fields: Mapping[Fields, Fields]
    machines: Mapping[str, str] = field(default_factory=dict)
    _subjects: Mapping[str, Fields] = field(default_factory=dict)
    _trials: Mapping[str, Sequence[Row]] = field(default_factory=dict)

    def around(self, row: Row) -> Around:
        """What the page of a run leads to."""
        subject = self._subjects[row["run_id"]]
        return Around(
            key=self.keys[subject],
            words=words(self.fields[subject]),
            others=tuple(
                (one["run_id"], f"run {one['run_index'] + 1}: {one['run_id']}, {one['state']}")
                for one in sorted(self._trials[row["trial_id"]], key=lambda one: one["run_index"])
                if one["run_id"] != row["run_id"]
            ),
        )

    def asked(self, row: Row) -> dict[str, str]:
        """The fields of a run's subject that are told."""
        return dict(self.fields[self._subjects[row["run_id"]]])

    def secrets(self, row: Row) -> tuple[str, ...]:
        """What no text about a run may hold."""
        return secrets_of(row, anonymous=self.anonymous)

    def row(self, row: Row) -> Row:
        """The row of a run, with what is told of it."""
        return private_row(row, self.machines) if self.anonymous else row

    def configuration(self, one: Configuration) -> Configuration:
        """The history of a subject, with what is told of it."""
        if not self.anonymous:
            return one
        fields = self.fields[one.fields]
        return private_configuration(one, fields, words(fields), self.keys[one.fields])


def told_of(rows: Sequence[Row], *, anonymous: bool) -> Told:
    """What is told of these runs, newest first.

    An anonymous page is named by its oldest trial: the digest of a subject would tell whoever
    guesses a host's name that the guess is right.
    """
    groups = by_subject(rows)
    machines = numbered(rows) if anonymous else {}
    trials: dict[str, list[Row]] = {}
    for row in rows:
        trials.setdefault(row["trial_id"], []).append(row)
    return Told(
        rows=rows,
        anonymous=anonymous,
        groups=groups,
        keys={
            subject: of[-1]["trial_id"] if anonymous else key_of(subject)
            for subject, of in groups.items()
        },
        fields={
            subject: private_fields(subject, machines) if anonymous else subject
            for subject in groups
        },
        machines=machines,
        _subjects={row["run_id"]: subject for subject, of in groups.items() for row in of},
        _trials=trials,
    )

"""What a site shows of the runs: everything but secrets; with `--anonymous` also no names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diskbench.report.site.in_site import Around
from diskbench.report.site.private import (
    numbered,
    private_configuration,
    private_fields,
    private_run,
    secrets_of,
)
from diskbench.results.site_subjects import by_subject, key_of
from diskbench.results.trial_figures import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from diskbench.model.history import Configuration
    from diskbench.model.run import AskedRun, Run
    from diskbench.results.trial_figures import Fields


@dataclass(frozen=True)
class ShownRuns:
    """The runs of a site, newest first; in groups by subject, and in their `trials` by id.

    `keys` are the page names of the subjects; `fields` are the fields that the site shows of them.
    `machines` are the numbers that replace machine names on an anonymous site.
    """

    rows: Sequence[AskedRun]
    anonymous: bool
    groups: Mapping[Fields, Sequence[AskedRun]]
    keys: Mapping[Fields, str]
    fields: Mapping[Fields, Fields]
    trials: Mapping[str, Sequence[AskedRun]]
    machines: Mapping[str, str] = field(default_factory=dict)
    _subjects: Mapping[str, Fields] = field(default_factory=dict)

    def around(self, row: AskedRun) -> Around:
        """The links of the page of a run's trial."""
        subject = self._subjects[row.run.run_id]
        return Around(key=self.keys[subject], words=words(self.fields[subject]))

    def asked(self, row: AskedRun) -> dict[str, str]:
        """The fields of a run's subject that the site shows."""
        return dict(self.fields[self._subjects[row.run.run_id]])

    def secrets(self, rows: Iterable[AskedRun]) -> tuple[str, ...]:
        """The strings that no text about these runs may contain."""
        return secrets_of(rows, anonymous=self.anonymous)

    def run(self, row: AskedRun) -> Run:
        """A run, reduced to what the site shows."""
        return private_run(row.run, self.machines) if self.anonymous else row.run

    def configuration(self, configuration: Configuration) -> Configuration:
        """The history of a subject, reduced to what the site shows."""
        if not self.anonymous:
            return configuration
        fields = self.fields[configuration.fields]
        return private_configuration(
            configuration, fields, words(fields), self.keys[configuration.fields]
        )


def shown_runs_of(rows: Sequence[AskedRun], *, anonymous: bool) -> ShownRuns:
    """What the site shows of these runs, newest first.

    An anonymous page is named after its oldest trial: a digest of the subject would let a reader
    verify a guessed host name.
    """
    groups = by_subject(rows)
    machines = numbered(rows) if anonymous else {}
    trials: dict[str, list[AskedRun]] = {}
    for row in rows:
        trials.setdefault(row.run.trial_id, []).append(row)
    return ShownRuns(
        rows=rows,
        anonymous=anonymous,
        groups=groups,
        keys={
            subject: of[-1].run.trial_id if anonymous else key_of(subject)
            for subject, of in groups.items()
        },
        fields={
            subject: private_fields(subject, machines) if anonymous else subject
            for subject in groups
        },
        trials=trials,
        machines=machines,
        _subjects={row.run.run_id: subject for subject, of in groups.items() for row in of},
    )
